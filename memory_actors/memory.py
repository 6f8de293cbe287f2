"""The face of the library: a memory, its users, and their pasts.

    with Memory("./memory") as memory:
        alice = memory.user("alice")
        alice.record("user", "I moved to Lisbon in March.", id="msg-17")
        print(alice.context("where shall we eat?", budget=800))
        alice.as_of("2026-03-01").facts()

A handle reads what it wrote: its reads wait a moment for background work, then say what is pending. A recall through a
live handle is recorded, without its text; reads of the past record nothing.
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from zlib import crc32

import msgspec

from events import ambient
from events.ambient import Clock, SystemClock
from events.commands import Command, Correct, EndConversation, RecordTurn
from events.deciding.decide import check_turn
from events.envelope import Envelope
from events.errors import InvalidInput, ModelMissing, UnknownUser
from events.ids import StreamId, stream_id
from events.log.file_log import FileLog
from events.log.store import create_store, open_store
from events.policy import Policy
from memory_actors.actors.background import Background
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.placement import make_writer
from memory_actors.actors.user_actor import Ack
from memory_actors.actors.writer import Writer, acks
from memory_actors.extraction import PatternExtractor
from memory_actors.inputs import TurnLine, identities
from memory_actors.models.embedder import Embedder, embedder_named
from memory_actors.reads.context import Context
from memory_actors.reads.difference import Difference, difference
from memory_actors.reads.reading import Reader, When
from memory_actors.reads.recall import Filters, Recall
from memory_actors.reads.withdrawal import Forgotten, withdrawal
from memory_actors.replay import replayed
from memory_actors.settings import Settings
from memory_actors.times import Naive, parse_time
from projections.episodes import EpisodeRow
from projections.facts import FactRow
from projections.topics import TopicRow
from projections.transcript import ConversationRow, TurnRow
from projections.view import StreamView, Views

Time = str | date | datetime
Served = TypeVar("Served", Recall, Context)
Handle = TypeVar("Handle", bound="Reads")
P = ParamSpec("P")
R = TypeVar("R")
LOCKS = 64


class Memory:
    """A store, opened for reading and writing; made if there is none.

    path    the store's folder
    ray     None: in this process. "local": actors on a Ray of our own. "auto" or an address: actors on that cluster
    policy  what is remembered; `embedder`: a model's name or folder, "none", or an object with `embed`
    naive   what a time without a zone is: "utc", or an "error"
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ray: str | None = None,
        space: str | None = None,
        policy: Policy | None = None,
        embedder: str | Embedder | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        naive: Naive = "error",
        create: bool = True,
    ) -> None:
        self.settings = settings or Settings()
        self.space = space or self.settings.space
        self.policy = policy or Policy()
        self.clock = clock or SystemClock()
        self.naive: Naive = naive
        self._closed = False
        self.store = (create_store if create else open_store)(path or self.settings.store)
        self.log = FileLog(self.store)
        chosen = self.settings.embedder if embedder is None else embedder
        self.embedder = embedder_named(chosen) if isinstance(chosen, str) else chosen
        self._views = Views(self.log)
        self._light = Views(self.log, index=False, vectors=False)
        self.locks = tuple(threading.RLock() for _ in range(LOCKS))
        self.writer: Writer = make_writer(ray or self.settings.ray, self.store, self.log, self.clock, self._policy, self.settings)
        self.enricher = Enricher(self.embedder, PatternExtractor(), self._policy)
        self.background = Background(self.writer, self.log, self.enricher, self.settings)

    def _policy(self, space: str) -> Policy:  # noqa: ARG002 - one policy for all spaces until spaces have their own
        return self.policy

    def user(self, user: str, *, space: str | None = None, conversation: str | None = None) -> User:
        """A handle on one user. Nothing is read or made until it is used.

        Without `conversation` it writes to "main", and contexts show the latest one.
        """
        return User(self, stream_id(space or self.space, user), conversation)

    def users(self, space: str | None = None) -> list[str]:
        """The users of a space that have a stream."""
        return [stream.user for stream in self.streams(space) if not stream.user.startswith("@")]

    def streams(self, space: str | None = None) -> list[StreamId]:
        """The streams of a space, its own among them."""
        return [stream for stream in self.log.streams() if stream.space == (space or self.space)]

    def view(self, stream: StreamId, *, index: bool) -> StreamView:
        """The stream's projections, caught up with the log; without `index`, whatever is cheapest to make."""
        return self._views.get(stream) if index or stream in self._views else self._light.get(stream)

    def known(self, stream: StreamId) -> StreamId:
        """The stream, if it is there. Raises UnknownUser with near matches."""
        if not self.log.exists(stream):
            users = self.users(stream.space)
            raise UnknownUser(stream.user, stream.space, tuple(difflib.get_close_matches(stream.user, users, n=3, cutoff=0.5)))
        return stream

    def when(self, time: Time | None) -> When:
        """A moment as callers name it."""
        return When.parse(time, self.clock.now(), self.naive)

    def instant(self, time: Time) -> int:
        """A moment as microseconds. Raises InvalidInput for a seq, which means something else in every stream."""
        moment = self.when(time).moment
        if moment is None:
            return self.clock.now()
        if moment.at is None:
            raise InvalidInput(f"{time} is a place in one stream; name a time")
        return moment.at

    def occurred(self, time: str | datetime | int | None) -> int | None:
        """When something happened, in microseconds: from these, an aware datetime, or ISO text (a date is its first instant)."""
        if time is None or isinstance(time, int):
            return time
        return parse_time(time, now=self.clock.now(), use="valid_at", naive=self.naive).at

    def close(self, *, finish: bool = True) -> None:
        """Finish background work, record what was served, let go of actors. What was acknowledged stays in any case."""
        self._closed = True
        try:
            self.background.close(finish=finish)
        finally:
            self.writer.close()

    def check_open(self) -> None:
        """Raises InvalidInput after `close`: what was recorded then would wait for background work that never comes."""
        if self._closed:
            raise InvalidInput("this memory is closed; open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(finish=error is None)


def alone(method: Callable[Concatenate[Handle, P], R]) -> Callable[Concatenate[Handle, P], R]:
    """A method during which no other thread reads the same stream of the same memory, because reading moves its view on.

    Background work has views of its own, so it can be waited for meanwhile.
    """

    @wraps(method)
    def call(self: Handle, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._memory.locks[crc32(self.stream.folder.encode()) % LOCKS]:
            return method(self, *args, **kwargs)

    return call


class Reads:
    """What can be read of one user, at the tail or as of a moment. Times: see `memory_actors.times`."""

    def __init__(self, memory: Memory, stream: StreamId, conversation: str | None, when: When) -> None:
        self._memory = memory
        self.stream = stream
        self._conversation = conversation
        self._when = when

    @alone
    def reader(self, *, index: bool = False) -> Reader:
        """All reads at this moment's basis. Without `index` there is no recall, and no context with a query."""
        memory = self._memory
        view = memory.view(memory.known(self.stream), index=index)
        return Reader(view, self._when.basis(view, memory.clock.now()), memory.policy, memory.embedder, memory.clock.now(), memory.naive)

    @property
    @alone
    def begins(self) -> int | None:
        """When the stream does, where that is later than this moment: then every answer is empty."""
        reader = self.reader()
        return reader.view.begins(reader.basis)

    @alone
    def facts(self, *, valid_at: Time | None = None, all: bool = False) -> list[FactRow]:  # noqa: A002 - reads as it is said
        """The facts that count, most important first; with `all`, whatever their status."""
        return self.reader().facts(valid_at, everything=all)

    @alone
    def recall(self, /, query: str, *, k: int | None = None, valid_at: Time | None = None, **filters: Any) -> Recall:
        """The `k` turns that the query is about, best first, with facts and episodes. Filters: see `Filters`."""
        return self.reader(index=True).recall(query, k, valid_at, self._filters(filters))

    def _filters(self, given: dict[str, Any]) -> Filters:
        times = {name: self._memory.occurred(given[name]) for name in ("since", "until") if name in given}
        try:
            return msgspec.convert(given | times, Filters)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"filters: {error}. There are: {', '.join(Filters.__struct_fields__)}") from error

    @alone
    def context(
        self, query: str | None = None, *, budget: int | None = None, valid_at: Time | None = None, conversation: str | None = None
    ) -> Context:
        """The prompt block, at most `budget` tokens. `str()` of it is the text."""
        return self.reader(index=query is not None).context(query, budget, valid_at, conversation or self._conversation)

    @alone
    def episodes(self) -> list[EpisodeRow]:
        """Closed episodes, oldest first."""
        return self.reader().episodes()

    @alone
    def topics(self, *, all: bool = False) -> list[TopicRow]:  # noqa: A002
        """Live topics, strongest first; with `all`, forgotten ones too."""
        return self.reader().topics(everything=all)

    @alone
    def session(self, conversation: str | None = None) -> tuple[str | None, list[TurnRow]]:
        """The turns that are still in a conversation's session; of the latest one, if none is named."""
        return self.reader().session(conversation)

    @alone
    def conversations(self) -> list[ConversationRow]:
        """All conversations, in order of their first turns."""
        return self.reader().conversations()

    @alone
    def events(self, *, after: int = 0) -> Iterator[Envelope]:
        """The events beyond `after`, in order."""
        return iter(list(self.reader().events(after)))

    @alone
    def why(self, fact: str) -> list[Envelope]:
        """The events that made a fact what it is, oldest first."""
        return self.reader().why(fact)

    @alone
    def diff(self, start: Time, end: Time = "now", *, valid_at: Time | None = None) -> Difference:
        """What is remembered differently at `end`."""
        memory = self._memory
        one, other = (Reads(memory, self.stream, None, memory.when(t)).reader() for t in (start, end))
        return one.difference(other, valid_at)

    @alone
    def replay(self, policy: Policy) -> Difference:
        """What would be remembered under another policy, against what is. The store is not touched."""
        memory, live = self._memory, self.reader(index=True)  # the recorded vectors are needed
        view = replayed(live.events(), self.stream, policy, PatternExtractor())
        now = live.basis.now
        other = Reader(view, view.latest(now), policy, None, now, memory.naive)
        return difference(f"policy {memory.policy.hash}", live.remembered(), f"policy {policy.hash}", other.remembered())


class User(Reads):
    """One user, live: reads at the tail, and writes."""

    def __init__(self, memory: Memory, stream: StreamId, conversation: str | None) -> None:
        super().__init__(memory, stream, conversation, When())

    def reader(self, *, index: bool = False) -> Reader:
        """After what is due for the stream has been done, or for as long as `wait_seconds` says."""
        reader = super().reader(index=index)
        if not self._memory.enricher.is_due(reader.view):
            return reader
        self._memory.background.wait(self.stream)
        return super().reader(index=index)

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
        command = turn_command(line, self._memory.store.secret)
        check_turn(command)
        return self._execute(command)

    def end(self, conversation: str | None = None, note: str | None = None, *, id: str | None = None) -> Ack:  # noqa: A002
        """Close a conversation's session; what is open becomes an episode. The same `id` again is done once."""
        self._memory.known(self.stream)
        name = conversation or self._conversation or "main"
        return self._execute(EndConversation(id=id or ambient.new_id(), conversation=name, note=note))

    @alone
    def forget(self, text: str, *, id: str | None = None) -> Forgotten:  # noqa: A002
        """Withdraw the facts that `text` means, and the turns that said so, from now on. The past stays explainable.

        What is due is enriched first; where that cannot be done (a model is missing), what is known is withdrawn, and
        `pending` says how many turns have not been read for facts: what they are found to say later is not believed.
        """
        with suppress(ModelMissing):
            self._memory.background.drain(self._memory.known(self.stream))
        found = withdrawal(self.reader(), text)
        if found.found:
            self._execute(found.command(id or ambient.new_id()))
        return found

    def correct(self, fact: str, value: str, *, id: str | None = None) -> Ack:  # noqa: A002
        """Put a fact right: the old value was never so, the new one is. The same `id` again is done once."""
        self._memory.known(self.stream)
        return self._execute(Correct(id=id or ambient.new_id(), fact=fact, value=value))

    def recall(self, /, query: str, *, k: int | None = None, valid_at: Time | None = None, **filters: Any) -> Recall:
        """As `Reads.recall`; what was served is recorded, without its text."""
        return self._served(super().recall(query, k=k, valid_at=valid_at, **filters))

    def context(
        self, query: str | None = None, *, budget: int | None = None, valid_at: Time | None = None, conversation: str | None = None
    ) -> Context:
        """As `Reads.context`; what was served is recorded, without its text."""
        return self._served(super().context(query, budget=budget, valid_at=valid_at, conversation=conversation))

    def _served(self, served: Served) -> Served:
        self._memory.background.served(self.stream, served, self._memory.policy.hash, self._conversation)
        return served

    def _execute(self, command: Command) -> Ack:
        self._memory.check_open()
        [ack] = acks(self._memory.writer.execute(self.stream, [command]))
        self._memory.background.wrote(self.stream)
        return ack


def turn_command(line: TurnLine, secret: bytes) -> RecordTurn:
    """The command of a turn. With an id of its client's, its command id is the one that an ingested line would get."""
    if line.turn_id is None:
        command_id = turn_id = ambient.new_id()
    else:
        [identity] = identities([line], secret)
        command_id, turn_id = identity.command_id, identity.turn_id
    return RecordTurn(
        id=command_id,
        turn_id=turn_id,
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
