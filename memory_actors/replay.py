"""The same observations under another policy: what would have been remembered instead. The store is not touched.

What was said and what the user asked (turns, ends of conversations, what was forgotten or put right) is decided anew in a log in
memory; vectors are those that were recorded, so no model is called.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from events.commands import PAST_TURNS, Command, Correct, EndConversation, EnrichLatest, RecordTurn
from events.deciding.held_facts import slot_key
from events.envelope import Envelope
from events.ids import StreamId
from events.log.memory_log import MemoryLog
from events.policy import Policy
from events.vocabulary import ConversationEnded, FactAsserted, FactCorrected, MemoryForgotten, TurnEmbedded, TurnRecorded
from memory_actors.actors.enricher import Embedded, Enricher, work_off
from memory_actors.actors.user_actor import UserActor
from memory_actors.actors.writer import InlineWriter, acks
from memory_actors.extraction import Extractor
from memory_actors.reads.reading import Reader
from memory_actors.reads.withdrawal import withdrawal
from projections.view import StreamView


class RecordedClock:
    """A clock that stands at the event being replayed."""

    def __init__(self) -> None:
        self.at = 0

    def now(self) -> int:
        """The recorded time."""
        return self.at


class RecordedVectors:
    """The vectors of the log, in place of a model."""

    def __init__(self, events: Iterable[Envelope]) -> None:
        self.model = "recorded"
        self._turns: dict[int, Embedded] = {}
        for event in events:
            if isinstance(event.data, TurnEmbedded) and event.vector is not None:
                self._turns[event.data.turn_seq] = event.vector, event.data.kinds
                self.model = event.data.model

    def of(self, seq: int) -> Embedded | None:
        """The vectors of turn `seq`."""
        return self._turns.get(seq)


class Replay:
    """One stream, folded again."""

    def __init__(self, stream: StreamId, policy: Policy, extractor: Extractor, events: Sequence[Envelope]) -> None:
        self._stream, self._policy, self._extractor = stream, policy, extractor
        self._events = events
        self._vectors = RecordedVectors(events)
        self._asserted = {event.data.fact: event.data for event in events if isinstance(event.data, FactAsserted)}
        self._log, self._clock = MemoryLog(), RecordedClock()
        self._actor = UserActor(self._log, self._clock, lambda _: policy)
        self._writer = InlineWriter(self._actor)
        self._enricher = Enricher(None, extractor, lambda _: policy)
        self._view = StreamView(stream)

    def run(self) -> StreamView:
        """The view of the stream as it would be."""
        for event in self._events:
            self._clock.at = event.recorded_at
            match event.data:
                case TurnRecorded() as data:
                    self._turn(event, data)
                case ConversationEnded() as data:
                    self._do(EndConversation(id=f"end-{event.seq}", conversation=data.conversation, note=data.note))
                case MemoryForgotten(text=text):
                    self._forget(text, event.seq)
                case FactCorrected(fact=fact, value=value):
                    self._correct(fact, value, event.seq)
                case _:
                    pass
        return self._view.catch_up(self._log)

    def _do(self, *commands: Command) -> None:
        acks(self._writer.execute(self._stream, commands))
        work_off(lambda: self._view.catch_up(self._log), self._enricher, self._writer)

    def _turn(self, event: Envelope, data: TurnRecorded) -> None:
        fields: dict[str, Any] = {name: getattr(data, name) for name in data.__struct_fields__ if name != "turn"}
        record = RecordTurn(id=event.command_id or f"turn-{event.seq}", occurred_at=event.occurred_at, **fields)
        acks(self._writer.execute(self._stream, [record]))
        view = self._view.catch_up(self._log)
        turn = view.turns.after(0, len(view.recorded_at))[-1]
        work = self._enricher.work(turn, view.turns.past(turn.seq, PAST_TURNS), self._vectors.of(event.seq))
        self._do(EnrichLatest(id=f"enrich-{event.seq}", work=msgspec.structs.replace(work, model=self._vectors.model)))

    def _correct(self, fact: str, value: str, seq: int) -> None:
        """Of the fact that says the same here; under this policy there may be none."""
        meant = self._asserted.get(fact)
        held = self._actor.state(self._stream).facts.of(slot_key(meant.subject, meant.category, meant.key)) if meant else ()
        same = [one for one in held if one.held and meant is not None and one.says(meant.value) and not one.says(value)]
        if same:
            self._do(Correct(id=f"correct-{seq}", fact=same[-1].id, value=value))

    def _forget(self, text: str, seq: int) -> None:
        view = self._view.catch_up(self._log)
        found = withdrawal(Reader(view, view.latest(self._clock.at), self._policy, None, self._clock.at), text)
        self._do(found.command(f"forget-{seq}"))


def replayed(events: Iterator[Envelope], stream: StreamId, policy: Policy, extractor: Extractor) -> StreamView:
    """The view that these events' observations give under `policy`."""
    return Replay(stream, policy, extractor, list(events)).run()
