"""What is remembered differently: between two moments, or under two policies. Pure, over what the views show."""

from collections.abc import Iterable, Sequence

import msgspec

from projections.episodes import EpisodeRow
from projections.facts import FactRow
from projections.topics import TopicRow


class FactChange(msgspec.Struct, frozen=True):
    """A one-valued slot that held another value before."""

    before: FactRow
    after: FactRow


class FactDiff(msgspec.Struct, frozen=True):
    """Facts that came, went, and changed their value."""

    gained: tuple[FactRow, ...]
    lost: tuple[FactRow, ...]
    changed: tuple[FactChange, ...]


class Listed(msgspec.Struct, frozen=True):
    """Things that came and went, by id and title."""

    gained: tuple[dict[str, str], ...]
    lost: tuple[dict[str, str], ...]


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What one side of a comparison remembers."""

    facts: Sequence[FactRow]
    episodes: Sequence[EpisodeRow]
    topics: Sequence[TopicRow]


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename={"before": "from", "after": "to"}):
    """Two sides, named by their bases or policies, and what differs."""

    before: object
    after: object
    facts: FactDiff
    episodes: Listed
    topics: Listed

    def __bool__(self) -> bool:
        """Whether anything differs."""
        lists = (self.facts.gained, self.facts.lost, self.facts.changed, self.episodes.gained, self.episodes.lost)
        return any(lists) or bool(self.topics.gained or self.topics.lost)


def difference(before: object, one: Remembered, after: object, other: Remembered) -> Difference:
    """From `one` to `other`. Facts are compared by slot and value, not by id, so that two folds can be compared."""
    return Difference(
        before=before,
        after=after,
        facts=_facts(one.facts, other.facts),
        episodes=_listed([_episode(row) for row in one.episodes], [_episode(row) for row in other.episodes]),
        topics=_listed(
            [_topic(row) for row in one.topics if not row.forgotten], [_topic(row) for row in other.topics if not row.forgotten]
        ),
    )


def _facts(one: Sequence[FactRow], other: Sequence[FactRow]) -> FactDiff:
    had = {_value(row) for row in one}
    has = {_value(row) for row in other}
    gained = [row for row in other if _value(row) not in had]
    lost = [row for row in one if _value(row) not in has]
    replaced = {_slot(row): row for row in lost if not row.many}
    changed = [FactChange(replaced[_slot(row)], row) for row in gained if not row.many and _slot(row) in replaced]
    moved = {_slot(change.after) for change in changed}
    return FactDiff(_apart(gained, moved), _apart(lost, moved), tuple(changed))


def _apart(rows: Iterable[FactRow], moved: set[tuple[str, str, str]]) -> tuple[FactRow, ...]:
    return tuple(row for row in rows if row.many or _slot(row) not in moved)


def _slot(row: FactRow) -> tuple[str, str, str]:
    return row.subject.casefold(), row.category, row.key


def _value(row: FactRow) -> tuple[str, str, str, str]:
    return *_slot(row), " ".join(row.value.casefold().split())


def _episode(row: EpisodeRow) -> tuple[str, str]:
    return f"{row.conversation}, turns {row.turn_start}-{row.turn_end}", row.title


def _topic(row: TopicRow) -> tuple[str, str]:
    return row.title, row.title


def _listed(one: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]) -> Listed:
    had, has = {key for key, _ in one}, {key for key, _ in other}
    gained = tuple({"id": key, "title": title} for key, title in other if key not in had)
    return Listed(gained, tuple({"id": key, "title": title} for key, title in one if key not in has))
