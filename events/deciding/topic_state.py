"""The write side of topics: exact centroids, and which topic a turn joins, as seed 4 has it.

A centroid is the exact integer sum of its members' vectors, so a similarity is the same in whatever order it is computed.
Creation is not an access; a user turn that joins is. Assistant turns follow the active topic.
"""

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from events.deciding.decay import priority
from events.envelope import Envelope, NewEvent, Vectors
from events.policy import TopicRules
from events.vocabulary import TopicAssigned, TopicForgotten, TopicRevived, TopicStarted, TurnEmbedded


class TopicHeld(msgspec.Struct):
    """One topic as the writer knows it. `total` is the sum of its user turns' vectors; times are microseconds."""

    importance: float
    last_active: int
    accesses: int = 0
    alive: bool = True
    total: np.ndarray | None = None

    def similarity(self, vector: Vectors) -> float:
        """Cosine similarity of a vector [d] to the centroid, rounded to 9 decimals; -1 where they cannot be compared."""
        if self.total is None or self.total.shape != vector.shape:
            return -1.0
        wide = vector.astype(np.int64)
        norms = int(wide @ wide) * int(self.total @ self.total)
        return round(int(wide @ self.total) / math.sqrt(norms), 9) if norms else -1.0


class TopicState:
    """All topics of a stream, and the active one."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicHeld] = {}
        self.active: str | None = None
        self._embedded: tuple[int, Vectors] | None = None

    def evolve(self, envelope: Envelope) -> None:
        """Fold one event; those that are not about topics change nothing."""
        match envelope.data:
            case TurnEmbedded(turn_seq=turn_seq) if envelope.vector is not None and len(envelope.vector):
                self._embedded = (turn_seq, envelope.vector[0])
            case TopicStarted() as data:
                self.topics[data.topic] = TopicHeld(data.importance, envelope.happened_at)
                self._join(data.topic, data.turn_seq, envelope.happened_at)
            case TopicAssigned() as data if data.topic in self.topics:
                if data.similarity is not None:
                    self.topics[data.topic].accesses += 1
                    self._join(data.topic, data.turn_seq, envelope.happened_at)
            case TopicForgotten(topic=topic) if topic in self.topics:
                self.topics[topic].alive = False
            case TopicRevived(topic=topic) if topic in self.topics:
                self.topics[topic].alive = True
            case _:
                pass

    def _join(self, name: str, turn_seq: int, happened_at: int) -> None:
        topic = self.topics[name]
        topic.last_active = max(topic.last_active, happened_at)
        self.active = name
        if self._embedded is not None and self._embedded[0] == turn_seq:
            vector = self._embedded[1].astype(np.int64)
            topic.total = vector if topic.total is None or topic.total.shape != vector.shape else topic.total + vector

    def nearest(self, vector: Vectors) -> tuple[str, float] | None:
        """The topic that the vector [d] resembles most, alive or forgotten; the older one of equals."""
        scored = ((topic.similarity(vector), name) for name, topic in self.topics.items())
        best = max(scored, key=lambda pair: pair[0], default=None)
        return None if best is None or best[0] < 0 else (best[1], best[0])


def decide_topic(
    state: TopicState,
    *,
    turn_seq: int,
    role: str,
    title: str,
    importance: float | None,
    vector: Vectors | None,
    happened_at: int,
    next_seq: int,
    rules: TopicRules,
) -> list[NewEvent]:
    """What a turn does to the topics: joins the most similar above the threshold, or starts one; forgets where too many."""
    if role != "user":
        return [_event(TopicAssigned(topic=state.active, turn_seq=turn_seq), turn_seq, happened_at)] if state.active else []
    if vector is None:
        return []
    found = state.nearest(vector)
    if found is not None and found[1] > rules.similarity:
        revived = [] if state.topics[found[0]].alive else [_event(TopicRevived(topic=found[0]), turn_seq, happened_at)]
        joined = _event(TopicAssigned(topic=found[0], turn_seq=turn_seq, similarity=found[1]), turn_seq, happened_at)
        return [*revived, joined]
    started = TopicStarted(
        topic=f"t{next_seq}",
        title=" ".join(title.split())[: rules.title_characters],
        importance=rules.importance if importance is None else importance,
        turn_seq=turn_seq,
    )
    return [_event(started, turn_seq, happened_at), *_forgotten(state, turn_seq, happened_at, rules)]


def _forgotten(state: TopicState, turn_seq: int, now: int, rules: TopicRules) -> Iterator[NewEvent]:
    """With the new one there are more than `limit`: those below the threshold go, weakest first. The new one is active."""
    alive = {name: topic for name, topic in state.topics.items() if topic.alive}
    if len(alive) + 1 <= rules.limit:
        return
    ranked = sorted((priority(t.importance, t.accesses, now - t.last_active, rules), name) for name, t in alive.items())
    for value, name in ranked:
        if value < rules.forget_below:
            yield _event(TopicForgotten(topic=name, priority=value), turn_seq, now)


def _event(data: TopicAssigned | TopicForgotten | TopicRevived | TopicStarted, turn_seq: int, happened_at: int) -> NewEvent:
    return NewEvent(data, occurred_at=happened_at, sources=(turn_seq,))
