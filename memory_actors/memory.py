"""The face of the library: a memory, its users, and their pasts.

with Memory("./memory") as memory:
alice = memory.user("alice")
alice.record("user", "I moved to Lisbon in March.", id="msg-17")
print(alice.context("where shall we eat?", budget=800))
alice.as_of("2026-03-01").facts()
"""

from __future__ import annotations

import difflib
import os
from datetime import datetime
from types import TracebackType
from typing import Self

from events.ambient import Clock, SystemClock
from events.errors import InvalidInput, UnknownUser
from events.ids import StreamId, stream_id
from events.log.file_log import FileLog
from events.log.store import create_store, open_store
from events.policy import Policy
from memory_actors.actors.background import Background
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.placement import make_writer
from memory_actors.actors.writer import Writer
from memory_actors.extraction import PatternExtractor
from memory_actors.models.embedder import Embedder, embedder_named
from memory_actors.reads.reading import When
from memory_actors.settings import Settings
from memory_actors.times import Naive, parse_time
from memory_actors.user import StreamLocks, Time, User
from projections.view import StreamView, Views


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
        self._closed, self._process = False, os.getpid()
        self.store = (create_store if create else open_store)(path or self.settings.store)
        self.log = FileLog(self.store)
        chosen = self.settings.embedder if embedder is None else embedder
        self.embedder = embedder_named(chosen) if isinstance(chosen, str) else chosen
        self._views = Views(self.log)
        self._light = Views(self.log, index=False, vectors=False)
        self.locks = StreamLocks()
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
        """Raises InvalidInput after `close`, or in a forked child: what was recorded then would wait for ever."""
        if self._closed:
            raise InvalidInput("this memory is closed; open it again")
        if self._process != os.getpid():
            raise InvalidInput("this memory was opened before the process forked; open it in the child, too")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(finish=error is None)
