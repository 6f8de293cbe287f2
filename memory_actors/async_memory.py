"""The face of the library for asyncio: the same members with `await`, over the one core.

    async with AsyncMemory("./memory") as memory:          # or: memory = await AsyncMemory("./memory")
        alice = memory.user("alice")
        await alice.record("user", "I moved to Lisbon in March.")
        print(await alice.context("where shall we eat?", budget=800))
        print(await alice.as_of("2026-03-01").facts())

Each call runs the method of the same name in a thread; nothing is done twice and nothing is decided here. What is
cancelled while it waits may still happen: a turn recorded with an `id` can be recorded again to find out.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast

from events.errors import InvalidInput
from events.ids import StreamId
from events.policy import Policy
from memory_actors.memory import Memory
from memory_actors.user import Reads, Time, User

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


class Face(Protocol):
    """A handle with the object whose methods it runs."""

    @property
    def _core(self) -> Any: ...


def threaded(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[Face, P], Coroutine[Any, Any, R]]:
    """The core's method of that name, as it or a subclass has it, in a thread."""

    @wraps(method)
    async def call(self: Face, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast("R", await asyncio.to_thread(getattr(self._core, method.__name__), *args, **kwargs))

    return call


def in_turn(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate["AsyncUser", P], Coroutine[Any, Any, R]]:
    """The same, one at a time and in the order of the calls: what is said first is recorded first."""
    run = threaded(method)

    @wraps(method)
    async def call(self: "AsyncUser", /, *args: P.args, **kwargs: P.kwargs) -> R:
        async with self._turn:
            return await run(self, *args, **kwargs)

    return call


def with_signature_of(
    _: Callable[Concatenate[C, P], None],
) -> Callable[[Callable[Concatenate[Any, ...], None]], Callable[Concatenate[Any, P], None]]:
    """Gives one constructor the parameters of another."""

    def same(init: Callable[Concatenate[Any, ...], None]) -> Callable[Concatenate[Any, P], None]:
        return wraps(_)(init)

    return same


class AsyncReads:
    """What can be read of one user as of a moment; see `Reads`."""

    def __init__(self, core: Reads) -> None:
        self._core = core
        self.stream = core.stream

    @property
    def begins(self) -> Coroutine[Any, Any, int | None]:
        """When the stream does, where that is later than this moment: `await alice.begins`."""
        return asyncio.to_thread(lambda: self._core.begins)

    reader = threaded(Reads.reader)
    facts = threaded(Reads.facts)
    recall = threaded(Reads.recall)
    context = threaded(Reads.context)
    episodes = threaded(Reads.episodes)
    topics = threaded(Reads.topics)
    session = threaded(Reads.session)
    conversations = threaded(Reads.conversations)
    pending = threaded(Reads.pending)
    events = threaded(Reads.events)
    why = threaded(Reads.why)
    diff = threaded(Reads.diff)
    replay = threaded(Reads.replay)


class AsyncUser(AsyncReads):
    """One user, live; see `User`."""

    _core: User

    def __init__(self, core: User, turn: asyncio.Lock) -> None:
        super().__init__(core)
        self._turn = turn

    def as_of(self, time: Time) -> AsyncReads:
        """The same user as of a moment: the same reads, and nothing is written, not even at "now"."""
        return AsyncReads(self._core.as_of(time))

    record = in_turn(User.record)
    end = in_turn(User.end)
    forget = in_turn(User.forget)
    correct = in_turn(User.correct)


class AsyncMemory:
    """A store, opened by `async with` or `await`; see `Memory`, whose arguments it takes."""

    @with_signature_of(Memory.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._make: Callable[[], Memory] = lambda: Memory(*args, **kwargs)
        self._opened: Memory | None = None
        self._turns: defaultdict[StreamId, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def _core(self) -> Memory:
        if self._opened is None:
            raise InvalidInput("the memory is not open: `async with AsyncMemory(...) as memory`, or `memory = await AsyncMemory(...)`")
        return self._opened

    async def _open(self) -> Self:
        if self._opened is None:
            self._opened = await asyncio.to_thread(self._make)
        return self

    def user(self, user: str, *, space: str | None = None, conversation: str | None = None) -> AsyncUser:
        """A handle on one user. Nothing is read or made until it is used."""
        core = self._core.user(user, space=space, conversation=conversation)
        return AsyncUser(core, self._turns[core.stream])

    @property
    def policy(self) -> Coroutine[Any, Any, Policy]:
        """What is remembered of this memory's space: `await memory.policy`."""
        return asyncio.to_thread(lambda: self._core.policy)

    policy_of = threaded(Memory.policy_of)
    users = threaded(Memory.users)
    streams = threaded(Memory.streams)
    known = threaded(Memory.known)
    when = threaded(Memory.when)
    instant = threaded(Memory.instant)
    occurred = threaded(Memory.occurred)
    check_open = threaded(Memory.check_open)
    check_process = threaded(Memory.check_process)
    close = threaded(Memory.close)

    def __await__(self) -> Generator[Any, None, Self]:
        return self._open().__await__()

    async def __aenter__(self) -> Self:
        return await self._open()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close(finish=error is None)
