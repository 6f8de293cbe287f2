"""The face of the library: a memory, its users, and their pasts.

    with Memory("./memory") as memory:
        alice = memory.user("alice")
        alice.record("user", "I moved to Lisbon in March.", id="msg-17")
        print(alice.context("where shall we eat?", budget=800))
        alice.as_of("2026-03-01").facts()

Who writes, reads and works for it is made when it is opened: in this process, or on Ray.
"""

from __future__ import annotations

import os
from datetime import datetime
from types import TracebackType
from typing import Self

from events.ambient import Clock, SystemClock
from events.errors import InvalidInput
from events.ids import StreamId, stream_id
from events.log.file_log import FileLog
from events.log.store import create_store, open_store
from events.policy import Policy
from memory_actors.actors.background import Work
from memory_actors.actors.placement import Actors, inline
from memory_actors.actors.projection_actor import Projections, known
from memory_actors.actors.writer import Writer
from memory_actors.models.embedder import Embedder
from memory_actors.policies import Policies
from memory_actors.reads.reading import When
from memory_actors.settings import Settings
from memory_actors.times import Naive, parse_time
from memory_actors.user import Time, User


class Memory:
    """A store, opened for reading and writing; made if there is none.

    path    the store's folder
    ray     None: in this process. "local": actors on a Ray of our own. "auto" or an address: actors on that cluster
    policy  what is remembered, in place of the store's (`memory-actors policy`)
    embedder  a model's name or folder, "none", or an object with `embed`
    clock   what "now" is, and by which this process stamps; actors stamp by their machine's
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
        self.clock = clock or SystemClock()
        self.naive: Naive = naive
        self._closed, self._process = False, os.getpid()
        self.store = (create_store if create else open_store)(path or self.settings.store)
        self.log = FileLog(self.store)
        self._policies = Policies(self.log, policy)
        self.given = policy
        self.chosen = self.settings.embedder if embedder is None else embedder
        self.ray = ray or self.settings.ray
        actors = self._actors()
        self.writer: Writer = actors.writer
        self.background: Work = actors.work
        self.embedder = actors.embedder
        self.enricher = actors.enricher
        self.projections: Projections = actors.projections
        self.here = actors.here

    def _actors(self) -> Actors:
        """Here, or on Ray: which takes a second to import, and is often off."""
        if self.ray == "off":
            return inline(self.log, self.clock, self._policies.of, self.chosen, self.settings)
        from memory_actors.cluster.placement import on_ray  # noqa: PLC0415

        return on_ray(self.ray, self.log, self._policies.of, self.given, self.chosen, self.settings)

    @property
    def policy(self) -> Policy:
        """What is remembered of this memory's space."""
        return self.policy_of(self.space)

    def policy_of(self, space: str) -> Policy:
        """What is remembered of a space: this memory's own policy where it was given one, else the one that is set."""
        return self._policies.of(space)

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

    def known(self, stream: StreamId) -> StreamId:
        """The stream, if it is there. Raises UnknownUser with near matches."""
        return known(self.log, stream)

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
        if self._process != os.getpid():
            return  # everything that there is to close is the parent's
        try:
            self.background.close(finish=finish)
        finally:
            self.writer.close()

    def check_open(self) -> None:
        """Raises InvalidInput after `close`, or in a forked child: what was recorded then would wait for ever."""
        if self._closed:
            raise InvalidInput("this memory is closed; open it again")
        self.check_process()

    def check_process(self) -> None:
        """Raises InvalidInput in a forked child: locks may be held there by threads that it does not have."""
        if self._process != os.getpid():
            raise InvalidInput("this memory was opened before the process forked; open it in the child, too")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(finish=error is None)
