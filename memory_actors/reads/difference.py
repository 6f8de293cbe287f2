"""What is remembered differently: between two moments, or under two policies. Pure, over what the views show."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memory_actors.reads.recall import Hit, Recall
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
    return Listed(_beyond(other, one), _beyond(one, other))


def _beyond(rows: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> tuple[dict[str, str], ...]:
    """The rows whose like there are not as many of among the others."""
    left = Counter(key for key, _ in others)
    found = []
    for key, title in rows:
        left[key] -= 1
        if left[key] < 0:
            found.append({"id": key, "title": title})
    return tuple(found)


# -- two policies over the same turns


class TopicChange(msgspec.Struct, frozen=True):
    """A topic that the same turn started, seen differently."""

    before: TopicRow
    after: TopicRow


def topic_changes(one: Sequence[TopicRow], other: Sequence[TopicRow], recorded: Mapping[int, int]) -> tuple[TopicChange, ...]:
    """Topics that are live on both sides, with another priority, half-life, or number of turns.

    `recorded`: what `one` calls the turns of `other`.
    """
    started = {row.turns[0]: row for row in one}
    pairs = [(started.get(recorded[row.turns[0]]), row) for row in other]
    return tuple(TopicChange(before, after) for before, after in pairs if before is not None and _decay(before) != _decay(after))


def _decay(row: TopicRow) -> tuple[float, float, int, int]:
    return row.priority, row.half_life_days, row.accesses, row.messages


class Place(msgspec.Struct, frozen=True):
    """Where a turn was ranked, from 1, and by what score."""

    rank: int
    score: float


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A recalled turn, and its places on both sides; None where it was not recalled. `turn`: its seq in the log."""

    turn: int
    role: str
    speaker: str | None
    content: str
    before: Place | None
    after: Place | None


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The turns that a query recalled on either side: by their places after, then those that were recalled only before."""

    query: str
    turns: tuple[Placed, ...]
    missing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether any place or score differs."""
        return any(turn.before != turn.after for turn in self.turns)


def ranking(one: Recall, other: Recall, recorded: Mapping[int, int]) -> Ranking:
    """The same query on both sides. `recorded`: what `one` calls the turns of `other`."""
    before = {hit.seq: (Place(rank, hit.score), hit) for rank, hit in enumerate(one.hits, 1)}
    after = {recorded[hit.seq]: (Place(rank, hit.score), hit) for rank, hit in enumerate(other.hits, 1)}
    lost = [_placed(turn, hit, place, None) for turn, (place, hit) in before.items() if turn not in after]
    kept = [_placed(turn, hit, before[turn][0] if turn in before else None, place) for turn, (place, hit) in after.items()]
    return Ranking(query=one.query, turns=(*kept, *lost), missing=one.missing)


def _placed(turn: int, hit: Hit, before: Place | None, after: Place | None) -> Placed:
    return Placed(turn=turn, role=hit.role, speaker=hit.speaker, content=hit.content, before=before, after=after)
