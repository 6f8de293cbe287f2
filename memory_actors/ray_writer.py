"""UserActors on Ray: a named actor a user, and the client that talks to it.

Ray may run two instances of one named actor at once, and may lose a call or its reply: both are safe, because the fence
is in storage and every command has an id. So Ray's own retries are off, and the client retries with the same ids.
What is recorded never enters Ray's object store, which may spill to disk where an erasure would not find it.
"""

import hashlib
import logging
import os
import pickle
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any
from zlib import crc32

import msgspec
import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, PendingCallsLimitExceeded, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from events.ambient import SystemClock, pause
from events.commands import Command
from events.errors import Busy, ClusterUnavailable, InvalidInput, MemoryActorsError, OutcomeUnknown, StoreNotHere
from events.file_log import FileLog
from events.ids import StreamId
from events.policy import Policy
from events.store import Store, open_store
from memory_actors.placement import check_address
from memory_actors.settings import Settings
from memory_actors.user_actor import Reply, UserActor

PENDING_CALLS = 256
PER_USER = 32
"""So many actors of one user each; whoever comes after them shares the pool's, for an actor costs 100 MB."""
POOL = 4
IDLE_SECONDS = 600.0
"""After at most twice this time without a call, an actor ends."""
ATTEMPTS = 10
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
PART_BYTES = 64_000
"""Ray keeps arguments of 100 KB and more in its object store, and smaller ones, up to 10 MB a call, in the call."""
CALL_BYTES = 8_000_000
OBJECT_STORE_BYTES = 80_000_000


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


class Session:
    """This process's connection to Ray: made for the first writer, ended with the last, unless it was the caller's own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writers = 0
        self._watcher: subprocess.Popen[bytes] | None = None

    def join(self, address: str) -> bool:
        """Connect, or start a Ray; whether it is ours to end. "local" never attaches to a stranger's cluster."""
        with self._lock:
            if not ray.is_initialized():
                self._end()
                check_address(_found() if address == "auto" else address)
                _connect(address)
                self._watcher = _watch() if address == "local" else None
            elif not self._writers:
                return False
            self._writers += 1
            return True

    def leave(self) -> None:
        """One writer less. The last one ends a Ray that was started here, its actors with it."""
        with self._lock:
            self._writers -= 1
            if self._writers == 0:
                self._end()

    def _end(self) -> None:
        self._writers = 0
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.communicate()
            self._watcher = None
        if ray.is_initialized():
            ray.shutdown()


SESSION = Session()
start, stop = SESSION.join, SESSION.leave


def _connect(address: str) -> None:
    new: dict[str, Any] = {"include_dashboard": False, "num_cpus": os.cpu_count(), "object_store_memory": OBJECT_STORE_BYTES}
    _hush()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **(new if address == "local" else {}))
    except (RayError, ConnectionError, ValueError, RuntimeError, OSError) as error:
        hint = "" if address == "local" else " A cluster that asks for a token needs RAY_AUTH_MODE=token."
        raise ClusterUnavailable(f"no Ray at {address!r}: {error}.{hint} `--ray local` starts one here, `--ray off` does without") from error


def _watch() -> "subprocess.Popen[bytes] | None":
    """A process that waits for the end of this one, however it ends, and then kills the agents of the Ray that was started here.

    Ray's other processes end with their driver, but when it was killed, these take a minute to report it to nobody.
    """
    raylets = [pid for pid in _children(os.getpid()) if Path(f"/proc/{pid}/comm").read_text().strip() == "raylet"]
    agents = [pid for raylet in raylets for pid in _children(raylet)]
    if not agents:
        return None
    command = ["sh", "-c", 'read -r _; sleep 2; kill -9 "$@"', "memory-actors-watch", *agents]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def _children(pid: int | str) -> list[str]:
    return [child for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]


def _found() -> str:
    """What Ray will take for "auto": it may be the address of a cluster that is no more."""
    try:
        return ray._private.services.canonicalize_bootstrap_address("auto") or "local"  # noqa: SLF001 - there is no public way
    except (ConnectionError, ValueError) as error:
        raise ClusterUnavailable(f"no Ray here to join: {error} `--ray local` starts one") from error


def _hush() -> None:
    """Ray prints to stdout that a worker died, whatever `log_to_driver` says; here it is a log record. Callers get it as an error."""
    worker = ray._private.worker  # noqa: SLF001 - there is no public way
    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda data, **_: logging.getLogger(__name__).info("%s", "\n".join(data["lines"]))


class Hosting:
    """An actor that was asked for, and what it should have been made with."""

    def __init__(self, name: str, actor: Any, hosted: Hosted) -> None:
        self.name, self.actor, self._hosted = name, actor, hosted
        self._greeted = False

    def greet(self, seconds: float) -> None:
        """Raises InvalidInput for an actor that decides by another policy than the caller's."""
        if not self._greeted:
            found: Hosted = ray.get(self.actor.hello.remote(), timeout=seconds)
            if found.policy != self._hosted.policy:
                raise InvalidInput(
                    f"the actor {self.name} was made with another policy; use that one, or wait {found.idle:.0f} s until it has ended"
                )
            self._greeted = True


class RayWriter:
    """Sends commands to the user's actor, made on demand on this node, where the store's folder is.

    A call returns, or raises, at most `deadline` seconds later. Actors on a cluster that was joined outlive this process
    and end when idle; others end with it, or when the writer is closed.
    """

    placement = "per-user"

    def __init__(self, address: str, store: Store, policy: Callable[[str], Policy], settings: Settings, *, idle: float = IDLE_SECONDS) -> None:
        self._ours = start(address)
        self._joined = address != "local"
        self._node = ray.get_runtime_context().get_node_id()
        self._namespace = namespace(store, self._node)
        self._policy = policy
        self._settings = settings
        self._store = store
        self._idle = idle
        self._making = threading.Lock()
        self._actors: dict[str, Hosting] = {}

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """Carry out commands in order; one reply each. What got no answer is asked again, with the same command ids."""
        return [reply for body in packed(commands) for reply in self._delivered(stream, body)]

    def _delivered(self, stream: StreamId, body: bytes) -> list[Reply]:
        ends = monotonic() + self._settings.deadline
        delays = waits(body)
        while True:
            try:
                return self._ask(stream, body, ends)
            except (Busy, OutcomeUnknown) as error:
                wait = next(delays, None)
                if wait is None or monotonic() + max(wait, getattr(error, "retry_after", 0.0)) > ends:
                    raise
            pause(wait)

    def _ask(self, stream: StreamId, body: bytes, ends: float) -> list[Reply]:
        if not ray.is_initialized():
            raise ClusterUnavailable("Ray has been shut down since this memory was opened; open it again")
        hosting = self._hosting(self._name(stream), self._policy(stream.space))
        try:
            hosting.greet(self._settings.deadline)
            answer = ray.get(hosting.actor.execute.remote(stream, *parts(body)), timeout=max(ends - monotonic(), 0.0))
        except RayTaskError:
            raise  # an error that is no MemoryActorsError is a defect: it is an instance of its own type too
        except RayError as error:
            if isinstance(error, ActorDiedError):
                self._forget(hosting)
            raise self._translated(stream, error) from error
        if isinstance(answer, MemoryActorsError):
            raise answer
        replies: list[Reply] = answer
        return replies

    def _translated(self, stream: StreamId, error: RayError) -> MemoryActorsError:
        """What an error of Ray's means for the caller."""
        if isinstance(error, PendingCallsLimitExceeded):
            return Busy(f"{stream} has {PENDING_CALLS} calls waiting")
        if isinstance(error, GetTimeoutError):
            return OutcomeUnknown(f"no reply for {stream} within {self._settings.deadline:.0f} s; repeat with the same id")
        if isinstance(error, RayActorError):
            return OutcomeUnknown(f"the actor of {stream} died, more than once; repeat with the same id")
        return ClusterUnavailable(f"Ray failed, and what was sent for {stream} may be durable or not; repeat with the same id ({error})")

    def actor(self, stream: StreamId) -> Any:
        """The handle of the actor that hosts the user; it may have died since."""
        return self._hosting(self._name(stream), self._policy(stream.space)).actor

    def _name(self, stream: StreamId) -> str:
        """The user's own actor, or, where there are many, one of the pool's of its policy."""
        name = f"user:{stream.folder}"
        if name in self._actors or len(self._actors) < PER_USER:
            return name
        return f"pool:{self._policy(stream.space).hash}:{crc32(stream.folder.encode()) % POOL}"

    def _hosting(self, name: str, policy: Policy) -> "Hosting":
        """One handle an actor: an actor that is not detached dies with the handle that made it."""
        with self._making:
            if name not in self._actors:
                self._actors[name] = self._made(name, policy)
            return self._actors[name]

    def _made(self, name: str, policy: Policy) -> "Hosting":
        hosted = Hosted(str(self._store.path), self._store.description.store_id, canonical(policy), self._settings.streams, self._idle)
        actor = USER_ACTOR.options(
            name=name,
            namespace=self._namespace,
            get_if_exists=True,
            lifetime="detached" if self._joined else None,
            scheduling_strategy=NodeAffinitySchedulingStrategy(self._node, soft=False),
        ).remote(hosted)
        return Hosting(name, actor, hosted)

    def _forget(self, hosting: "Hosting") -> None:
        with self._making:
            if self._actors.get(hosting.name) is hosting:
                del self._actors[hosting.name]

    def close(self) -> None:
        """End what would outlive this writer for nothing: its actors, unless they are detached, and a Ray that was started for it."""
        with self._making:
            ended, self._actors = list(self._actors.values()), {}
        for hosting in ended if ray.is_initialized() and not self._joined else ():
            ray.kill(hosting.actor)
        if self._ours:
            self._ours = False
            stop()


USER_ACTOR = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0, max_pending_calls=PENDING_CALLS)(HostedUserActor)


def namespace(store: Store, node: str) -> str:
    """Of this store at this place: a copied store never reaches the original's actors, nor does a folder of the same name elsewhere."""
    name = f"{store.description.store_id}\0{store.path}\0{node}".encode()
    return "memory-actors-" + hashlib.blake2b(name, digest_size=8).hexdigest()


def canonical(policy: Policy) -> bytes:
    """Equal for equal policies."""
    return msgspec.json.encode(policy, order="deterministic")


def packed(commands: Sequence[Command]) -> list[bytes]:
    """Commands in order, in as few calls as fit."""
    body = pickle.dumps(list(commands))
    if len(body) <= CALL_BYTES or len(commands) == 1:
        return [body]
    half = len(commands) // 2
    return packed(commands[:half]) + packed(commands[half:])


def parts(body: bytes) -> list[bytes]:
    """Small enough that Ray sends each within the call."""
    return [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)]


def waits(body: bytes) -> Iterator[float]:
    """Seconds before each further attempt, growing; scattered by what is sent, so that callers do not return in step."""
    for attempt in range(ATTEMPTS - 1):
        scatter = 0.5 + crc32(body, attempt) / 2**32
        yield min(FIRST_WAIT * 2**attempt, LONGEST_WAIT) * scatter
