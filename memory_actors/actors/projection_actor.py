"""The reader of streams: a plain class that holds views, and answers questions at one basis each.

It serves every read, in this process or, with Ray on, in actors that have the users divided among them. A view is
caught up with the log for every question, so what was acknowledged is seen, whoever wrote it. Of one stream one question
is answered at a time, because catching up moves the view; background work has views of its own, so it can be waited for.
"""

import difflib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Protocol, TypeVar
from zlib import crc32

import msgspec

from events import ambient
from events.commands import RecordRecall
from events.errors import Busy, MemoryActorsError, UnknownUser
from events.ids import StreamId
from events.log import Log
from events.policy import Policy
from memory_actors.actors.background import Work
from memory_actors.actors.enricher import is_due
from memory_actors.actors.snapshots import Snapshots
from memory_actors.models.embedder import Embedder
from memory_actors.reads.context import Context
from memory_actors.reads.reading import Reader, When
from memory_actors.reads.recall import Recall
from memory_actors.reads.served import served
from memory_actors.settings import Recalls
from memory_actors.times import Naive
from projections.view import StreamView
from projections.views import Behind, Views

Answer = TypeVar("Answer")
LOOK_AGAIN_SECONDS = 0.02


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of one stream: `read(reader, *arguments, **named)`, at a moment of the log.

    now           the asker's clock, in microseconds
    index         whether search is needed
    live          the asker is a user's live handle: it waits for what is due
    id            under which what is served is kept, with the next flush or, where `recalls` says so, at once; None: it is not
    wait_seconds  how long that, and `at_least`, may take
    at_least      the answer must have seen this seq
    conversation  which one the handle is of
    """

    read: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    when: When = When()
    now: int
    naive: Naive = "error"
    index: bool = False
    live: bool = False
    wait_seconds: float = 0.0
    id: str | None = None
    recalls: Recalls = "later"
    at_least: int = 0
    conversation: str | None = None


class Projections(Protocol):
    """Whoever serves reads."""

    def ask(self, stream: StreamId, question: Question) -> Any:
        """What `question.read` gives. Raises UnknownUser with near matches."""


class StreamLocks:
    """What a reader of a stream holds. A few for all streams: two that share one only wait for each other."""

    def __init__(self, count: int = 64) -> None:
        self._locks = tuple(threading.RLock() for _ in range(count))

    @contextmanager
    def of(self, stream: StreamId) -> Iterator[None]:
        """The stream's lock; the same thread may take it again."""
        with self._locks[crc32(stream.folder.encode()) % len(self._locks)]:
            yield


class ProjectionActor:
    """Holds the views of the streams it is asked about; those used longest ago are let go when they exceed the cache.

    `light`: a view without an index is made for questions that need no search, which is quicker once, for a process that
    asks one thing and ends. `work` is told of what live handles are served.
    """

    def __init__(
        self,
        log: Log,
        policy: Callable[[str], Policy],
        embedder: Embedder | None,
        megabytes: int,
        *,
        work: Work,
        snapshots: Snapshots | None = None,
        light: bool = False,
    ) -> None:
        self._log, self._policy, self._embedder, self._work = log, policy, embedder, work
        size = megabytes * 1_000_000
        self._views = Views(log, bytes=size, snapshots=snapshots, save=not light)
        self._light = Views(log, bytes=size, index=False, vectors=False) if light else self._views
        self._locks = StreamLocks()

    def ask(self, stream: StreamId, question: Question) -> Any:
        """What `question.read` gives. Raises UnknownUser with near matches, Busy where `at_least` is not there yet."""
        with self.reader(stream, question) as reader:
            answer = question.read(reader, *question.arguments, **question.named)
        if question.id is not None and isinstance(answer, Recall | Context):
            kept = served(answer, reader.policy.hash, question.conversation)
            self._work.served(stream, RecordRecall(id=question.id, served=kept), now=question.recalls == "now")
        return answer

    def warm(self, stream: StreamId) -> None:
        """A hint that the stream has something new: its view, if it is held, is caught up before somebody waits for it."""
        if stream in self._views:
            with self._locks.of(stream):
                self._views.get(stream)

    @contextmanager
    def reader(self, stream: StreamId, question: Question) -> Iterator[Reader]:
        """All reads at the question's basis, while nobody else moves the view."""
        ends = monotonic() + question.wait_seconds
        while question.at_least and not self._log.exists(stream) and monotonic() < ends:
            ambient.pause(LOOK_AGAIN_SECONDS)
        policy = self._policy(known(self._log, stream).space)
        with self._locks.of(stream):
            view = self._view(stream, question, ends)
            if not self._waits(question, view, policy):
                yield self._reader(question, view, policy)
                return
        with suppress(MemoryActorsError):  # whatever keeps it from being done: the answer says what is pending
            self._work.wait(stream, question.wait_seconds)
        with self._locks.of(stream):
            yield self._reader(question, self._view(stream, question, ends), policy)

    def _waits(self, question: Question, view: StreamView, policy: Policy) -> bool:
        """Whether the asker waits for background work first; without the lock, so that nobody waits for that."""
        return question.live and view.legs(view.tail.seq).has("turns", "episodes") and is_due(view, policy)

    def _reader(self, question: Question, view: StreamView, policy: Policy) -> Reader:
        return Reader(view, question.when.basis(view, question.now), policy, self._embedder, question.now, question.naive)

    def _view(self, stream: StreamId, question: Question, ends: float) -> StreamView:
        """The stream's view, which has seen `at_least`; without `index`, whatever is cheapest to make."""
        views = self._views if question.index or stream in self._views else self._light
        while True:
            try:
                return views.get(stream, question.at_least)
            except Behind as behind:
                if monotonic() > ends:
                    raise Busy(f"{stream} is seen up to event {behind.tail} here, not to {question.at_least} yet") from behind
                ambient.pause(LOOK_AGAIN_SECONDS)


def known(log: Log, stream: StreamId) -> StreamId:
    """The stream, if it is there. Raises UnknownUser with near matches."""
    if not log.exists(stream):
        users = [one.user for one in log.streams() if one.space == stream.space and not one.user.startswith("@")]
        raise UnknownUser(stream.user, stream.space, tuple(difflib.get_close_matches(stream.user, users, n=3, cutoff=0.5)))
    return stream
