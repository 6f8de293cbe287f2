"""The same observations under another policy: what would have been remembered instead. The store is not touched.

What was said and what the user asked (turns, ends of conversations, what was forgotten or put right) is decided anew in a log
in memory, and background work is done again where it was done, so that the policy is all that differs: under an unchanged
one nothing does. Vectors are those that were recorded, so no model is called, unless queries are ranked.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from events.commands import PAST_TURNS, Command, Correct, EndConversation, Enrich, RecordTurn, TurnWork
from events.deciding.held_facts import slot_key
from events.deciding.state import State, evolve
from events.envelope import Envelope, Vectors
from events.ids import StreamId
from events.log.memory_log import MemoryLog
from events.policy import Policy
from events.vocabulary import (
    ConversationEnded,
    EpisodeSummarised,
    FactAsserted,
    FactCorrected,
    MemoryForgotten,
    TurnEmbedded,
    TurnRecorded,
    TurnsEnriched,
)
from memory_actors.actors.enricher import Enricher, is_due, work_off
from memory_actors.actors.user_actor import Ack, UserActor
from memory_actors.actors.writer import InlineWriter, acks
from memory_actors.extraction import Extractor, PatternExtractor
from memory_actors.models.embedder import Embedder
from memory_actors.reads.difference import Difference, Ranking, TopicChange, difference, ranking, topic_changes
from memory_actors.reads.reading import Reader
from memory_actors.reads.recall import check_weights
from memory_actors.reads.withdrawal import withdrawal
from projections.basis import Basis
from projections.transcript import TurnRow
from projections.view import StreamView

NOWHERE = np.zeros((1, 1), np.int16)
"""In place of a vector that was not recorded: of a dimension that nothing is compared in."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What another policy would have made of the same observations, as of `basis`.

    topics    topics that are live under both, with another priority, half-life, or number of turns
    rankings  for each query, the turns that are recalled under either
    """

    basis: Basis
    difference: Difference
    topics: tuple[TopicChange, ...]
    rankings: tuple[Ranking, ...]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.difference or self.topics or any(self.rankings))


def replay(
    events: Iterable[Envelope],
    stream: StreamId,
    before: Policy,
    after: Policy,
    *,
    basis: Basis,
    queries: Sequence[str] = (),
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
) -> Replayed:
    """From what these events made be remembered, seen under `before`, to what `after` would have made of them.

    The events are all that is visible at `basis`, with their vectors; both sides are seen at its `now`. Queries are ranked under both, embedded by `embedder`; without one there is no dense leg.
    """
    check_weights(after.recall.weights)
    events = list(events)
    live = folded(stream, events)
    again = Replay(events, stream, after, extractor or PatternExtractor(), embedder if queries else None)
    again.run(finish=not is_due(live, before))
    chosen = again.vectors if embedder is not None and queries else None
    one, other = Reader(live, basis, before, chosen, basis.now), reader(again.view, after, basis.now, chosen)
    was, would = one.remembered(), other.remembered()
    return Replayed(
        basis=basis,
        difference=difference(f"policy {before.hash}", was, f"policy {after.hash}", would),
        topics=topic_changes(was.topics, would.topics, again.recorded),
        rankings=tuple(ranking(one.recall(query), other.recall(query), again.recorded) for query in queries),
    )


def folded(stream: StreamId, events: Sequence[Envelope]) -> StreamView:
    """The view of events that need not begin at 1: an erasure may have raised the floor."""
    view = StreamView(stream)
    if events:
        view.start, view.recorded_at = events[0].seq, [0] * (events[0].seq - 1)
    for event in events:
        view.apply(event)
    return view


def reader(view: StreamView, policy: Policy, now: int, embedder: Embedder | None) -> Reader:
    """The reads of a view's tail at this very moment, even if the view's last event was stamped a moment later."""
    return Reader(view, Basis(len(view.recorded_at), now, final=False), policy, embedder, now)


class RecordedClock:
    """A clock that stands at the event being replayed."""

    def __init__(self) -> None:
        self.at = 0

    def now(self) -> int:
        """The recorded time."""
        return self.at


class RecordedVectors:
    """The vectors of the log, in place of a model; `embedder`, if there is one, is asked for what was never embedded, once."""

    def __init__(self, events: Iterable[Envelope], embedder: Embedder | None) -> None:
        self.model = "recorded" if embedder is None else embedder.model
        self._embedder = embedder
        self._turns: dict[int, tuple[Vectors, TurnEmbedded]] = {}
        self._texts: dict[str, Vectors] = {}
        for event in events:
            match event.data:
                case TurnEmbedded() as data:
                    self._turns[data.turn_seq] = _there(event.vector), data
                case EpisodeSummarised() as data:
                    self._texts[f"{data.title}\n{data.summary}"] = NOWHERE if event.vector is None else event.vector
                case _:
                    pass

    def of(self, work: TurnWork, seq: int) -> TurnWork:
        """The work with the vectors that were recorded for turn `seq`."""
        if seq not in self._turns:
            return work
        vector, data = self._turns[seq]
        return msgspec.structs.replace(work, vector=vector, kinds=data.kinds, model=data.model)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors [n, d] of summaries and queries."""
        return np.concatenate([self._one(text) for text in texts])

    def _one(self, text: str) -> Vectors:
        if text not in self._texts:
            self._texts[text] = NOWHERE if self._embedder is None else self._embedder.embed([text])
        return self._texts[text]

    def count_tokens(self, text: str) -> int:
        """By the embedder's own count. Nothing is cut to pieces in a replay."""
        return len(text.split()) if self._embedder is None else self._embedder.count_tokens(text)


def _there(vector: Vectors | None) -> Vectors:
    if vector is None:
        raise ValueError("a replay needs the recorded vectors: read the events with them")
    return vector


class Replay:
    """One stream, decided again. `view` is what comes of it; `recorded` names its turns by their seqs in the log."""

    def __init__(
        self, events: Sequence[Envelope], stream: StreamId, policy: Policy, extractor: Extractor, embedder: Embedder | None = None
    ) -> None:
        self._events, self._stream, self._policy = events, stream, policy
        self.vectors = RecordedVectors(events, embedder)
        self.view = StreamView(stream)
        self.recorded: dict[int, int] = {}
        self._reached: dict[int, int] = {}
        self._was = State()
        self._asserted = {event.data.fact: event.data for event in events if isinstance(event.data, FactAsserted)}
        self._log, self._clock = MemoryLog(), RecordedClock()
        self._actor = UserActor(self._log, self._clock, lambda _: policy)
        self._writer = InlineWriter(self._actor)
        self._enricher = Enricher(self.vectors, extractor, lambda _: policy)

    def run(self, *, finish: bool) -> StreamView:
        """The view of the stream as it would be; with `finish`, with all background work done."""
        for event in self._events:
            self._clock.at = event.recorded_at
            evolve(self._was, event)
            self._again(event)
            self._reached[event.seq] = self._state.seq
        if finish:
            work_off(self._caught_up, self._enricher, self._writer)
        return self._caught_up()

    def _again(self, event: Envelope) -> None:
        match event.data:
            case TurnRecorded() as data:
                self._turn(event, data)
            case TurnsEnriched() as data:
                self._enrich(event.seq, data)
            case ConversationEnded() as data if data.conversation in self._state.conversations:
                end = EndConversation(id=f"end-{event.seq}", conversation=data.conversation, note=data.note)
                self._do(msgspec.structs.replace(end, occurred_at=event.happened_at))
            case MemoryForgotten(text=text):
                self._forget(text, event.seq)
            case FactCorrected(fact=fact, value=value):
                self._correct(fact, value, event.seq)
            case _:
                pass

    @property
    def _state(self) -> State:
        return self._actor.state(self._stream)

    def _caught_up(self) -> StreamView:
        return self.view.catch_up(self._log)

    def _do(self, command: Command) -> Ack:
        [ack] = acks(self._writer.execute(self._stream, [command]))
        return ack

    def _turn(self, event: Envelope, data: TurnRecorded) -> None:
        """When it happened is said, because here it may be recorded a moment later."""
        fields: dict[str, Any] = {name: getattr(data, name) for name in data.__struct_fields__ if name != "turn"}
        ack = self._do(RecordTurn(id=event.command_id or f"turn-{event.seq}", occurred_at=event.happened_at, **fields))
        self.recorded[ack.first] = event.seq

    def _enrich(self, seq: int, data: TurnsEnriched) -> None:
        """The turns that this piece of background work covered; the episodes closed by then, unless the log left some for later."""
        view, state = self._caught_up(), self._state
        left = any(int(episode[1:]) <= data.upto for episode in self._was.unsummarised)
        upto, basis_seq = (self._reached.get(one, 0) for one in (data.upto, data.basis_seq))
        turns = tuple(self._work(row, view) for row in view.turns.after(state.enriched_upto, upto))
        fresh = {work.seq: work.vector[0] for work in turns if work.vector is not None}
        episodes = tuple(self._enricher.episode_works(view, upto, fresh)) if state.unsummarised and not left else ()
        work = Enrich(id=f"enrich-{seq}", start=state.enriched_upto + 1, upto=upto, basis_seq=basis_seq, turns=turns, episodes=episodes)
        self._do(work)

    def _work(self, row: TurnRow, view: StreamView) -> TurnWork:
        work = self._enricher.work(row, view.turns.past(row.seq, PAST_TURNS), None)
        return self.vectors.of(work, self.recorded[row.seq])

    def _correct(self, fact: str, value: str, seq: int) -> None:
        """Of the fact that says the same here; under this policy there may be none."""
        meant = self._asserted.get(fact)
        held = self._state.facts.of(slot_key(meant.subject, meant.category, meant.key)) if meant else ()
        same = [one for one in held if one.held and meant is not None and one.says(meant.value) and one.value != value.strip()]
        if same:
            self._do(Correct(id=f"correct-{seq}", fact=same[-1].id, value=value))

    def _forget(self, text: str, seq: int) -> None:
        found = withdrawal(reader(self._caught_up(), self._policy, self._clock.at, None), text)
        self._do(found.command(f"forget-{seq}"))
