"""The turns of a stream as columns, with their neighbours, as of any moment.

A turn has an ordinal (from 0, in the order of the seqs). Its neighbours are the turns before and after it in the same
conversation, unless more than a pause lies between; a sitting is a run of neighbours of at most `SITTING_TURNS` turns.
Who precedes a turn, and its sitting, are fixed when it enters; who follows is known once that turn is visible.
Withdrawn turns are there but not alive: they count in nothing, and their neighbours do not become each other's.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from projections.index.embedding_text import PAUSE
from projections.index.growable import Growable

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SITTING_TURNS = 40
NOBODY: Final = -1
NEVER: Final = 2**63 - 1
"""The seq at which a turn was withdrawn that never was."""

COLUMNS: Final = (
    "seq", "left", "conversation", "role", "speaker", "occurred", "marks", "words", "previous", "following", "sitting",
)  # fmt: skip


class Names:
    """Numbers for names, in the order of their first use."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, name: str | None) -> int:
        """The name's number, new if need be; NOBODY for None."""
        if name is None:
            return NOBODY
        number = self._numbers.setdefault(name, len(self.known))
        if number == len(self.known):
            self.known.append(name)
        return number

    def numbers(self, names: frozenset[str]) -> frozenset[int]:
        """Numbers of those of the names that are known."""
        return frozenset(self._numbers[name] for name in names if name in self._numbers)


class TurnTable:
    """Columns of all turns, int64. Speakers, roles and conversations are numbered."""

    def __init__(self) -> None:
        self.conversations, self.roles, self.speakers = Names(), Names(), Names()
        self._columns = {name: Growable(np.int64) for name in COLUMNS}
        self._last: dict[int, int] = {}
        self._sitting_sizes: list[int] = []
        self._ordinals: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ordinals)

    def ordinal(self, seq: int) -> int | None:
        """The ordinal of the turn at `seq`, or None if there is none."""
        return self._ordinals.get(seq)

    def add(self, seq: int, conversation: str, role: str, speaker: str | None, occurred_at: int, marks: int, words: int) -> int:
        """Enters a turn (above all before it) and gives its ordinal."""
        ordinal = len(self)
        of = self.conversations.number(conversation)
        previous = self._neighbour(of, occurred_at)
        row = (
            seq, NEVER, of, self.roles.number(role), self.speakers.number(speaker), occurred_at, marks, words,
            previous, NOBODY, self._sitting(previous),
        )  # fmt: skip
        for name, value in zip(COLUMNS, row, strict=True):
            self._columns[name].append(value)
        if previous != NOBODY:
            self._columns["following"].put(previous, ordinal)
        self._last[of] = self._ordinals[seq] = ordinal
        return ordinal

    def withdraw(self, event_seq: int, ordinal: int) -> None:
        """From `event_seq` on the turn is not alive. Only the first withdrawal counts."""
        left = self._columns["left"]
        left.put(ordinal, min(left.get(ordinal), event_seq))

    def at(self, seq: int) -> "TurnView":
        """The turns as they were at `seq`."""
        entered = int(np.searchsorted(self._columns["seq"].all(), seq, side="right"))
        columns = {name: column.first(entered) for name, column in self._columns.items()}
        return TurnView(self, columns, columns["left"] > seq)

    def _neighbour(self, conversation: int, occurred_at: int) -> int:
        last = self._last.get(conversation, NOBODY)
        if last == NOBODY or abs(occurred_at - self._columns["occurred"].get(last)) > PAUSE:
            return NOBODY
        return last

    def _sitting(self, previous: int) -> int:
        if previous != NOBODY:
            sitting = self._columns["sitting"].get(previous)
            if self._sitting_sizes[sitting] < SITTING_TURNS:
                self._sitting_sizes[sitting] += 1
                return sitting
        self._sitting_sizes.append(1)
        return len(self._sitting_sizes) - 1


@dataclass(frozen=True, eq=False)
class TurnView:
    """The turns that have entered by a moment, int64 [n] a column; `alive` is False for those withdrawn by then.

    The column `following` may name turns that have not entered yet: read the property.
    """

    table: TurnTable
    columns: dict[str, Ints]
    alive: Mask

    def __len__(self) -> int:
        return len(self.alive)

    @cached_property
    def following(self) -> Ints:
        """The ordinal of the turn after each, NOBODY where none has entered yet."""
        after = self.columns["following"]
        return np.where(after < len(self), after, NOBODY)

    @cached_property
    def sittings(self) -> int:
        """How many sittings have begun."""
        return int(self.columns["sitting"].max()) + 1 if len(self) else 0

    @cached_property
    def speakers(self) -> dict[int, str]:
        """Number and name of everyone who speaks in a turn that is alive."""
        spoken = np.bincount(self.columns["speaker"] + 1, self.alive)
        return {number - 1: self.table.speakers.known[number - 1] for number in np.flatnonzero(spoken).tolist() if number}

    def neighbours(self, ordinals: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """For each ordinal the turn before, two before, after and two after, NOBODY where there is none."""
        before, after = self.columns["previous"][ordinals], self.following[ordinals]
        return before, _step(self.columns["previous"], before), after, _step(self.following, after)

    @cached_property
    def after_next(self) -> Ints:
        """The ordinal of the second turn after each, NOBODY where there is none."""
        return _step(self.following, self.following)


def is_among(column: Ints, numbers: frozenset[int]) -> Mask:
    """Which elements are among the numbers; as `np.isin`, but in one look-up a turn."""
    chosen = np.zeros(int(max(column.max(initial=NOBODY), *numbers, NOBODY)) + 2, np.bool_)
    chosen[[number + 1 for number in numbers]] = True
    return chosen[column + 1]


def _step(towards: Ints, ordinals: Ints) -> Ints:
    return np.where(ordinals == NOBODY, NOBODY, towards[ordinals])
