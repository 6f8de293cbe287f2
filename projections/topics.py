"""Topics and their decay: what is live at any moment, by the formulas of seed 4.

Which turn joined which topic, and which topic was forgotten, are events; only priority is computed, from the accesses
that were recorded by the basis and the basis's `now`.
"""

import bisect

import msgspec

from events.deciding.decay import half_life_days, priority
from events.envelope import Envelope
from events.policy import TopicRules
from events.vocabulary import TopicAssigned, TopicForgotten, TopicRevived, TopicStarted
from projections.basis import Basis


class TopicRow(msgspec.Struct, frozen=True, kw_only=True):
    """One topic as of a basis. `accesses` are user turns that joined after the first; `messages` are all turns of it."""

    id: str
    title: str
    priority: float
    half_life_days: float
    accesses: int
    messages: int
    importance: float
    last_active: int
    forgotten: bool
    turns: tuple[int, ...]


class _Topic:
    """One topic's history: parallel lists in order of seq, so that a basis is a prefix of each."""

    def __init__(self, data: TopicStarted, envelope: Envelope) -> None:
        self.id, self.title, self.importance = data.topic, data.title, data.importance
        self.messages: list[tuple[int, int]] = [(envelope.seq, data.turn_seq)]
        self.touched: list[tuple[int, int]] = [(envelope.seq, envelope.happened_at)]
        self.alive: list[tuple[int, bool]] = [(envelope.seq, True)]

    def join(self, data: TopicAssigned, envelope: Envelope) -> None:
        self.messages.append((envelope.seq, data.turn_seq))
        if data.similarity is not None:
            self.touched.append((envelope.seq, max(envelope.happened_at, self.touched[-1][1])))

    def row(self, basis: Basis, rules: TopicRules) -> TopicRow:
        touched = self.touched[: _upto(self.touched, basis.seq)]
        messages = self.messages[: _upto(self.messages, basis.seq)]
        accesses, last_active = len(touched) - 1, touched[-1][1]
        return TopicRow(
            id=self.id,
            title=self.title,
            priority=priority(self.importance, accesses, basis.now - last_active, rules),
            half_life_days=half_life_days(accesses, rules),
            accesses=accesses,
            messages=len(messages),
            importance=self.importance,
            last_active=last_active,
            forgotten=not self.alive[_upto(self.alive, basis.seq) - 1][1],
            turns=tuple(turn for _, turn in messages),
        )


def _upto(history: list[tuple[int, int]] | list[tuple[int, bool]], seq: int) -> int:
    return bisect.bisect_right(history, seq, key=lambda pair: pair[0])


class TopicDecay:
    """All topics of a stream."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""
        match envelope.data:
            case TopicStarted() as data:
                self._topics[data.topic] = _Topic(data, envelope)
            case TopicAssigned() as data if data.topic in self._topics:
                self._topics[data.topic].join(data, envelope)
            case TopicForgotten(topic=name) | TopicRevived(topic=name) if name in self._topics:
                self._topics[name].alive.append((envelope.seq, isinstance(envelope.data, TopicRevived)))
            case _:
                pass

    def view(self, basis: Basis, rules: TopicRules) -> list[TopicRow]:
        """The topics that had started by the basis, strongest first, forgotten ones too."""
        rows = [topic.row(basis, rules) for topic in self._topics.values() if topic.messages[0][0] <= basis.seq]
        return sorted(rows, key=lambda row: (row.forgotten, -row.priority, int(row.id[1:])))
