"""The UserActor as Ray runs it.

Ray may run two instances of one named actor at once, and may lose a call or its reply: both are safe, because the fence
is in storage and every command has an id. So Ray's own retries are off.
"""

import os
import pickle
import threading
from collections.abc import Sequence

import msgspec
import ray

from events.ambient import SystemClock
from events.commands import Command
from events.errors import MemoryActorsError, StoreNotHere
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import open_store
from events.policy import Policy
from memory_actors.actors.user_actor import Reply, UserActor

PENDING_CALLS = 256
IDLE_SECONDS = 600.0
"""After at most twice this time without a call, an actor ends."""
PART_BYTES = 64_000
"""Ray keeps arguments of 100 KB and more in its object store, and smaller ones, up to 10 MB a call, in the call."""
CALL_BYTES = 8_000_000


class Hosted(msgspec.Struct, frozen=True):
    """What an actor is told when it is made: values only."""

    path: str
    store_id: str
    policy: bytes
    streams: int
    idle: float = IDLE_SECONDS


class HostedUserActor:
    """The UserActor as Ray runs it. Making it touches nothing, for a raise there is final death; the first call opens.

    An actor that has been idle ends itself; a call that arrives at that moment fails, and its client asks anew.
    """

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._actor: UserActor | None = None
        self._used = threading.Event()
        self._working = threading.Lock()
        threading.Thread(target=self._end_when_idle, daemon=True).start()

    def hello(self) -> Hosted:
        """What this actor was made with: `get_if_exists` ignores arguments."""
        return self._hosted

    def pid(self) -> int:
        """The process that it lives in."""
        return os.getpid()

    def execute(self, stream: StreamId, *parts: bytes) -> list[Reply] | MemoryActorsError:
        """Carry out packed commands; an error of the whole comes back as a value, so that it keeps its type."""
        self._used.set()
        commands: list[Command] = pickle.loads(b"".join(parts))  # noqa: S301 - Ray would have done the same
        with self._working:
            try:
                return self._opened().execute(stream, commands)
            except MemoryActorsError as error:
                return error
            finally:
                self._used.set()

    def _opened(self) -> UserActor:
        if self._actor is None:
            store = open_store(self._hosted.path)
            if store.description.store_id != self._hosted.store_id:
                raise StoreNotHere(f"another store than the caller's is at {store.path} on this machine")
            policy = msgspec.json.decode(self._hosted.policy, type=Policy)
            self._actor = UserActor(FileLog(store), SystemClock(), lambda _: policy, self._hosted.streams)
        return self._actor

    def _end_when_idle(self) -> None:
        while True:
            while self._used.wait(self._hosted.idle):
                self._used.clear()
            with self._working:
                if not self._used.is_set():
                    ray.kill(ray.get_runtime_context().current_actor)
                    return


USER_ACTOR = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0, max_pending_calls=PENDING_CALLS)(HostedUserActor)


def packed(commands: Sequence[Command]) -> list[bytes]:
    """Commands in order, in as few calls as fit."""
    body = pickle.dumps(list(commands))
    if len(body) <= CALL_BYTES or len(commands) == 1:
        return [body]
    half = len(commands) // 2
    return packed(commands[:half]) + packed(commands[half:])


def parts(body: bytes) -> list[bytes]:
    """Small enough that Ray sends each within the call: what is recorded never enters its object store, where no erasure would find it."""
    return [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)]
