"""The episodic index of turns: ranked answers to a question, as of any moment.

Every visible turn is a candidate; there is no cut-off before the sum. The score is linear in the signals of
`projections.index.signals`, which are log-odds up to a factor: the weights are fitted as those of a softmax over all turns.

Where very many vectors are visible, graphs say which of them are near the question's (see `projections.index.segments`), and
the cosines of these and of the sittings that the other signals find best are exact; of the others only a mean is known, and
`is_exact` says so. A filter that leaves less than half of the turns, as withdrawals may, would leave little of what graphs
name: then every cosine is exact.

Law (a property test says so): `search(..., seq=s, now=T)` on an index of the whole history equals, in ids, scores and legs,
to the bit, that on an index that was only fed what happened up to `s`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.index.asked import read_question
from projections.index.cues import marks
from projections.index.dates import Span, named_spans, year_of
from projections.index.dense import DenseRows, Rows
from projections.index.embedding_text import KINDS
from projections.index.lexical import LexicalIndex
from projections.index.segments import CUT, Segmentation
from projections.index.signals import SIGNALS, Floats, Moment, dense_signals, plain_signals, relative
from projections.index.tokens import stems, words
from projections.index.turns import TurnTable, TurnView, is_among
from projections.index.weights import WEIGHTS

Mask = npt.NDArray[np.bool_]
Leg = tuple[str, float, Floats]
"""Its name, its weight, and the signal."""

DECIMALS = 9
"""Scores are rounded to this before ranking, so that ties are ties."""


@dataclass(frozen=True)
class TurnFilter:
    """Which turns may be candidates. None means any; times are half-open, in microseconds of `occurred_at`."""

    conversations: frozenset[str] | None = None
    roles: frozenset[str] | None = None
    speakers: frozenset[str] | None = None
    occurred_from: int | None = None
    occurred_to: int | None = None
    excluded: frozenset[int] = frozenset()
    """seqs that are no candidates, as the turn that asks."""

    def allowed(self, turns: TurnView) -> Mask:
        """The living turns that pass, bool [n]."""
        passed = turns.alive.copy()
        table = turns.table
        for column, names, wanted in (
            ("conversation", table.conversations, self.conversations),
            ("role", table.roles, self.roles),
            ("speaker", table.speakers, self.speakers),
        ):
            if wanted is not None:
                passed &= is_among(turns.columns[column], names.numbers(wanted))
        if self.occurred_from is not None:
            passed &= turns.columns["occurred"] >= self.occurred_from
        if self.occurred_to is not None:
            passed &= turns.columns["occurred"] < self.occurred_to
        if self.excluded:
            passed &= ~np.isin(turns.columns["seq"], sorted(self.excluded))
        return passed


ANY = TurnFilter()


class Ranked(NamedTuple):
    """A turn found: its seq, its score, and what each signal contributed to it (weight times signal, zeros left out)."""

    seq: int
    score: float
    legs: dict[str, float]


class SignalMatrix(NamedTuple):
    """Signals of the candidates of one question: `values` is float64 [len(names), len(seqs)]."""

    names: tuple[str, ...]
    seqs: npt.NDArray[np.int64]
    values: Floats


class TurnIndex:
    """Turns, their words and their vectors. Fed in the order of the stream's seqs."""

    def __init__(self, segmentation: Segmentation = CUT) -> None:
        self._turns = TurnTable()
        self._lexical = LexicalIndex()
        self._dense = DenseRows(segmentation)

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def graph_bytes(self) -> int:
        """About what the graphs of its vectors take."""
        return self._dense.graph_bytes

    def add(self, seq: int, *, conversation: str, turn: int, role: str, speaker: str | None, content: str, occurred_at: int) -> None:
        """Enters a turn at `seq`. `turn` is its place in its conversation, from 1; `occurred_at` in microseconds."""
        if turn < 1:
            raise ValueError(f"turns count from 1, not {turn}")
        spoken = words(content)
        self._lexical.add(seq, stems(spoken))
        self._turns.add(seq, conversation, role, speaker, occurred_at, marks(content, spoken), len(spoken))

    def embed(self, event_seq: int, turn_seq: int, rows: Rows, kinds: tuple[str, ...]) -> bool:
        """Enters the vectors of a turn, int16 [k, d] with the kind of each, recorded by the event at `event_seq`.

        False if there is no such turn (it was erased): then nothing is kept.
        """
        if len(rows) != len(kinds) or not set(kinds) <= KINDS:
            raise ValueError(f"{len(rows)} rows of kinds {kinds}")
        ordinal = self._turns.ordinal(turn_seq)
        if ordinal is None:
            return False
        self._dense.add(event_seq, ordinal, rows)
        return True

    def withdraw(self, event_seq: int, turn_seq: int) -> bool:
        """From `event_seq` on the turn is found no more, and counts in no statistic. False if there is no such turn."""
        ordinal = self._turns.ordinal(turn_seq)
        if ordinal is None:
            return False
        self._turns.withdraw(event_seq, ordinal)
        self._lexical.withdraw(event_seq, ordinal)
        return True

    def search(
        self,
        query: str,
        vector: Rows | None,
        *,
        seq: int,
        now: int,
        weights: Mapping[str, float] = WEIGHTS,
        allowed: TurnFilter = ANY,
        k: int | None = 10,
    ) -> list[Ranked]:
        """The `k` best turns (all if None) as of `seq`, best first; among equal scores the later turn first.

        `vector` is the question's, int16 [d], or None: then the dense signals abstain. `now`, in microseconds, is what
        recency and "last week" count from. An unknown name in `weights` is an error.
        """
        if unknown := set(weights) - set(SIGNALS):
            raise ValueError(f"no such signals: {sorted(unknown)}")
        moment = self._moment(query, seq, now)
        candidates = allowed.allowed(moment.turns)
        if not candidates.any():
            return []
        found = plain_signals(moment)
        parts = relative(found, candidates)
        if vector is not None:
            sure = self._sure(moment.turns, candidates, seq, _legs(found, parts, weights))
            found |= dense_signals(moment, found, self._dense.best(vector, seq, len(candidates), sure))
        legs = _legs(found, parts, weights)
        scores, seqs = _scores(legs, candidates), moment.turns.columns["seq"]
        best = _best(scores, min(int(candidates.sum()), len(scores) if k is None else k))
        return [Ranked(int(seqs[at]), float(scores[at]) + 0.0, _contributions(legs, at)) for at in best]

    def is_exact(self, vector: Rows | None, *, seq: int, allowed: TurnFilter = ANY) -> bool:
        """Whether `search` with these looks at every visible vector, and asks no graph."""
        return vector is None or not self._dense.has_graphs(seq) or self._exact(allowed.allowed(self._turns.at(seq)), seq)

    def _exact(self, candidates: Mask, seq: int) -> bool:
        return not self._dense.has_graphs(seq) or 2 * int(candidates.sum()) < len(candidates)

    def _sure(self, turns: TurnView, candidates: Mask, seq: int, plain: Sequence[Leg]) -> Mask | None:
        """The turns whose cosines have to be exact: None for all, or those of the sittings that the plain legs find best."""
        if self._exact(candidates, seq):
            return None
        sitting = turns.columns["sitting"]
        chosen = np.zeros(turns.sittings, np.bool_)
        chosen[sitting[_best(_scores(plain, candidates), self._dense.segmentation.sure)]] = True
        return chosen[sitting]

    def signals(self, query: str, vector: Rows | None, *, seq: int, now: int, allowed: TurnFilter = ANY) -> SignalMatrix:
        """The signals of all candidates as of `seq`, in the order of their seqs; what abstains is 0. For fitting weights: exact."""
        moment = self._moment(query, seq, now)
        candidates = allowed.allowed(moment.turns)
        values = np.zeros((len(SIGNALS), int(candidates.sum())))
        if candidates.any():
            found = plain_signals(moment)
            parts = relative(found, candidates)
            if vector is not None:
                found |= dense_signals(moment, found, self._dense.best(vector, seq, len(candidates)))
            for row, name in enumerate(SIGNALS):
                if name in found:
                    values[row] = found[name][candidates] / parts.get(name, 1.0)
        return SignalMatrix(SIGNALS, moment.turns.columns["seq"][candidates], values)

    def _moment(self, query: str, seq: int, now: int) -> Moment:
        turns, lexical = self._turns.at(seq), self._lexical.at(seq)
        return Moment(
            turns=turns,
            lexical=lexical,
            asked=read_question(query, lexical, turns.speakers),
            spans=_spans(query, now, turns),
            now=now,
        )


def _legs(found: Mapping[str, Floats], parts: Mapping[str, float], weights: Mapping[str, float]) -> list[Leg]:
    return [(name, weights[name] / parts.get(name, 1.0), found[name]) for name in SIGNALS if name in found and weights.get(name)]


def _scores(legs: Sequence[Leg], candidates: Mask) -> Floats:
    """The sum of the legs, rounded; nothing is below what is no candidate."""
    scores = np.zeros(len(candidates))
    for _, weight, values in legs:
        scores += weight * values
    return np.where(candidates, np.round(scores, DECIMALS), -np.inf)


def _contributions(legs: Sequence[Leg], at: int) -> dict[str, float]:
    return {name: round(weight * float(values[at]), DECIMALS) for name, weight, values in legs if values[at]}


def _spans(query: str, now: int, turns: TurnView) -> tuple[Span, ...]:
    occurred = turns.columns["occurred"][turns.alive]
    if not len(occurred):
        return ()
    return named_spans(query, now, (year_of(int(occurred.min())), year_of(int(occurred.max()))))


def _best(scores: Floats, k: int) -> list[int]:
    """Places of the `k` greatest scores, greatest first, the later place first among equals."""
    if k < 1 or not len(scores):
        return []
    places = np.arange(len(scores))
    if k < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    order = np.lexsort((-places, -scores[places]))
    return [int(place) for place in places[order[:k]]]
