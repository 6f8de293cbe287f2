"""One user of a memory: what can be read of it, live or as of a moment, and what can be written.

A live handle reads what it wrote: its reads wait a moment for background work, then say what is pending. A recall through
it is recorded, without its text; reads of the past record nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from events import ambient
from events.commands import Command, Correct, EndConversation, RecordTurn
from events.deciding.decide import check_turn
from events.envelope import Envelope
from events.errors import InvalidInput, ModelMissing
from events.ids import StreamId
from events.policy import Policy
from memory_actors.actors.projection_actor import Question
from memory_actors.actors.user_actor import Ack
from memory_actors.actors.writer import acks
from memory_actors.inputs import Identity, TurnLine, identities
from memory_actors.reads.context import Context
from memory_actors.reads.difference import Difference
from memory_actors.reads.reading import Reader, When
from memory_actors.reads.recall import Filters, Recall
from memory_actors.reads.withdrawal import Forgotten, withdrawal
from memory_actors.replay import Replayed, replay
from projections.episodes import EpisodeRow
from projections.facts import FactRow
from projections.topics import TopicRow
from projections.transcript import ConversationRow, TurnRow

if TYPE_CHECKING:
    from memory_actors.memory import Memory

Time = str | date | datetime
P = ParamSpec("P")
R = TypeVar("R")
SEARCHES: tuple[Callable[..., Any], ...] = (Reader.recall, Reader.context)
"""The reads that need an index."""
SERVED = (*SEARCHES, Reader.overview)
"""The reads that are served to a model."""


class Reads:
    """What can be read of one user, at the tail or as of a moment. Times: see `memory_actors.times`."""

    def __init__(self, memory: Memory, stream: StreamId, conversation: str | None, when: When) -> None:
        self._memory = memory
        self.stream = stream
        self._conversation = conversation
        self._when = when

    def _question(self, read: Callable[..., Any], arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None) -> Question:
        memory = self._memory
        return Question(
            read=read,
            arguments=arguments,
            named=named or {},
            when=self._when,
            now=memory.clock.now(),
            naive=memory.naive,
            index=read in SEARCHES,
            wait_seconds=memory.settings.wait_seconds,
            recalls=memory.settings.recalls,
            conversation=self._conversation,
        )

    def _ask(self, read: Callable[Concatenate[Reader, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What `read` gives at this moment's basis, asked of whoever serves this memory's reads."""
        self._memory.check_process()
        return cast("R", self._memory.projections.ask(self.stream, self._question(read, args, kwargs)))

    def reader(self, *, index: bool = False) -> Reader:
        """All reads at this moment's basis, in this process. Without `index` there is no recall, and no context with a query."""
        self._memory.check_process()
        question = self._question(Reader.recall if index else Reader.facts)
        with self._memory.here.reader(self.stream, question) as reader:
            return reader

    @property
    def begins(self) -> int | None:
        """When the stream does, where that is later than this moment: then every answer is empty."""
        return self._ask(Reader.begins)

    def facts(self, *, valid_at: Time | None = None, all: bool = False) -> list[FactRow]:  # noqa: A002 - reads as it is said
        """The facts that count, most important first; with `all`, whatever their status."""
        return self._ask(Reader.facts, valid_at, everything=all)

    def recall(self, /, query: str, *, k: int | None = None, valid_at: Time | None = None, **filters: Any) -> Recall:
        """The `k` turns that the query is about, best first, with facts and episodes. Filters: see `Filters`."""
        return self._ask(Reader.recall, query, k, valid_at, self._filters(filters))

    def _filters(self, given: dict[str, Any]) -> Filters:
        times = {name: self._memory.occurred(given[name]) for name in ("since", "until") if name in given}
        try:
            return msgspec.convert(given | times, Filters)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"filters: {error}. There are: {', '.join(Filters.__struct_fields__)}") from error

    def context(
        self, query: str | None = None, *, budget: int | None = None, valid_at: Time | None = None, conversation: str | None = None
    ) -> Context:
        """The prompt block, at most `budget` tokens. `str()` of it is the text."""
        shown = conversation or self._conversation
        if query is None:
            return self._ask(Reader.overview, budget, valid_at, shown)
        return self._ask(Reader.context, query, budget, valid_at, shown)

    def episodes(self) -> list[EpisodeRow]:
        """Closed episodes, oldest first."""
        return self._ask(Reader.episodes)

    def topics(self, *, all: bool = False) -> list[TopicRow]:  # noqa: A002
        """Live topics, strongest first; with `all`, forgotten ones too."""
        return self._ask(Reader.topics, everything=all)

    def session(self, conversation: str | None = None) -> tuple[str | None, list[TurnRow]]:
        """The turns that are still in a conversation's session; of the latest one, if none is named."""
        return self._ask(Reader.session, conversation)

    def pending(self) -> int:
        """How many turns have not been enriched."""
        return self._ask(Reader.pending)

    def conversations(self) -> list[ConversationRow]:
        """All conversations, in order of their first turns."""
        return self._ask(Reader.conversations)

    def events(self, *, after: int = 0) -> Iterator[Envelope]:
        """The events beyond `after`, in order."""
        return iter(self._ask(Reader.events, after))

    def why(self, fact: str) -> list[Envelope]:
        """The events that made a fact what it is, oldest first."""
        return self._ask(Reader.why, fact)

    def diff(self, start: Time, end: Time = "now", *, valid_at: Time | None = None) -> Difference:
        """What is remembered differently at `end`."""
        at = Reads(self._memory, self.stream, None, self._memory.when(end))
        return at._ask(Reader.since, self._memory.when(start), valid_at)

    def replay(self, policy: Policy, *, queries: Sequence[str] = ()) -> Replayed:
        """What would be remembered under another policy, against what is, and how it would rank turns for `queries`.

        The store is not touched, and no model is called but to embed queries.
        """
        memory, live = self._memory, self.reader(index=True)  # the recorded vectors are needed
        before = memory.policy_of(self.stream.space)
        return replay(live.events(), self.stream, before, policy, basis=live.basis, queries=queries, embedder=memory.embedder)


class User(Reads):
    """One user, live: reads at the tail, and writes."""

    def __init__(self, memory: Memory, stream: StreamId, conversation: str | None) -> None:
        super().__init__(memory, stream, conversation, When())
        self._last = 0

    def _question(self, read: Callable[..., Any], arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None) -> Question:
        """One that waits for what is due, sees what this handle wrote, and whose answer is kept where it is served to a model."""
        question = super()._question(read, arguments, named)
        kept = ambient.new_id() if read in SERVED and self._memory.settings.recalls != "never" else None
        return msgspec.structs.replace(question, live=True, at_least=self._last, id=kept)

    def as_of(self, time: Time) -> Reads:
        """The same user as of a moment: the same reads, and nothing is written, not even at "now"."""
        return Reads(self._memory, self.stream, None, self._memory.when(time))

    def record(
        self,
        role: str,
        content: str,
        *,
        id: str | None = None,  # noqa: A002 - the word that callers have for it
        conversation: str | None = None,
        occurred_at: str | datetime | int | None = None,
        speaker: str | None = None,
        channel: str | None = None,
        agent: str | None = None,
        importance: float | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Ack:
        """Keep one turn; returns when it is durable. The same `id` again is found, not written twice.

        `occurred_at` is an aware datetime, ISO text, or microseconds since the epoch; None: now.
        """
        line = TurnLine(
            user=self.stream.user,
            space=self.stream.space,
            role=role,  # type: ignore[arg-type]  # decide refuses any other
            content=content,
            conversation=conversation or self._conversation or "main",
            occurred_at=self._memory.occurred(occurred_at),
            turn_id=id,
            speaker=speaker,
            channel=channel,
            agent=agent,
            importance=importance,
            meta=meta,
            origin="record",
            line=1,
        )
        command = turn_command(line, identity_of(line, self._memory.store.secret))
        check_turn(command)
        return self._execute(command)

    def end(self, conversation: str | None = None, note: str | None = None, *, id: str | None = None) -> Ack:  # noqa: A002
        """Close a conversation's session; what is open becomes an episode. The same `id` again is done once."""
        self._memory.known(self.stream)
        name = conversation or self._conversation or "main"
        return self._execute(EndConversation(id=id or ambient.new_id(), conversation=name, note=note))

    def forget(self, text: str, *, id: str | None = None) -> Forgotten:  # noqa: A002
        """Withdraw the facts that `text` means, and the turns that said so, from now on. The past stays explainable.

        What is due is enriched first; where that cannot be done (a model is missing), what is known is withdrawn, and
        `pending` says how many turns have not been read for facts: what they are found to say later is not believed.
        """
        with suppress(ModelMissing):
            self._memory.background.drain(self._memory.known(self.stream))
        found = self._ask(withdrawal, text)
        if found.found:
            self._execute(found.command(id or ambient.new_id()))
        return found

    def correct(self, fact: str, value: str, *, id: str | None = None) -> Ack:  # noqa: A002
        """Put a fact right: the old value was never so, the new one is. The same `id` again is done once."""
        self._memory.known(self.stream)
        return self._execute(Correct(id=id or ambient.new_id(), fact=fact, value=value))

    def _execute(self, command: Command) -> Ack:
        self._memory.check_open()
        [ack] = acks(self._memory.writer.execute(self.stream, [command]))
        self._memory.background.wrote(self.stream)
        self._last = max(self._last, ack.seq)
        return ack


def identity_of(line: TurnLine, secret: bytes) -> Identity:
    """Of a turn that comes alone: with an id of its client's the one that an ingested line would get, else a new one."""
    if line.turn_id is None:
        fresh = ambient.new_id()
        return Identity(command_id=fresh, turn_id=fresh)
    [identity] = identities([line], secret)
    return identity


def turn_command(line: TurnLine, identity: Identity, *, backfill: bool = False) -> RecordTurn:
    """The command that records a turn."""
    return RecordTurn(
        id=identity.command_id,
        backfill=backfill,
        turn_id=identity.turn_id,
        role=line.role,
        content=line.content,
        conversation=line.conversation,
        speaker=line.speaker,
        channel=line.channel,
        agent=line.agent,
        importance=line.importance,
        meta=line.meta,
        occurred_at=line.occurred_at,
    )
