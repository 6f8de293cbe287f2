"""UserActors on Ray: a named actor a user, and the client that talks to it.

Ray may run two instances of one named actor at once, and may lose a call or its reply: both are safe, because the fence
is in storage and every command has an id. So Ray's own retries are off, and the client retries with the same ids.
"""

import hashlib
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import ray
import stamina
from ray.exceptions import GetTimeoutError, PendingCallsLimitExceeded, RayActorError, RayError

from events.ambient import SystemClock
from events.commands import Command
from events.errors import Busy, ClusterUnavailable, InvalidInput, MemoryActorsError, OutcomeUnknown
from events.file_log import FileLog
from events.ids import StreamId
from events.policy import Policy
from events.store import Store, open_store
from memory_actors.settings import Settings
from memory_actors.user_actor import Reply, UserActor

PENDING_CALLS = 256
ATTEMPTS = 6


class Hosted(msgspec.Struct, frozen=True):
    """What an actor is told when it is made: values only."""

    path: str
    store_id: str
    policy: bytes
    settings: Settings


class HostedUserActor:
    """The UserActor as Ray runs it. Making it touches nothing, for a raise there is final death; the first call opens."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._actor: UserActor | None = None

    def hello(self) -> Hosted:
        """What this actor was made with: `get_if_exists` ignores arguments."""
        return self._hosted

    def pid(self) -> int:
        """The process that it lives in."""
        return os.getpid()

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply] | MemoryActorsError:
        """Carry out commands; an error of the whole comes back as a value, so that it keeps its type."""
        try:
            return self._opened().execute(stream, commands)
        except MemoryActorsError as error:
            return error

    def _opened(self) -> UserActor:
        if self._actor is None:
            policy = msgspec.json.decode(self._hosted.policy, type=Policy)
            log = FileLog(open_store(self._hosted.path))
            self._actor = UserActor(log, SystemClock(), lambda _: policy, self._hosted.settings.streams)
        return self._actor


def namespace(store: Store) -> str:
    """Of this store at this place: a copied store never reaches the original's actors."""
    name = f"{store.description.store_id}\0{store.path}".encode()
    return "memory-actors-" + hashlib.blake2b(name, digest_size=8).hexdigest()


def start(address: str) -> bool:
    """Connect to Ray; whether it was started by us. "local" never attaches to a stranger's cluster."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    quiet: dict[str, Any] = {"include_dashboard": False, "num_cpus": os.cpu_count()} if address == "local" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **quiet)
    except (RayError, ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise ClusterUnavailable(f"no Ray at {address!r}: {error}. `--ray local` starts one here, `--ray off` does without") from error
    return True


class RayWriter:
    """Sends commands to the user's actor, made on demand, and waits for its reply at most `deadline` seconds."""

    placement = "per-user"

    def __init__(self, address: str, store: Store, policy: Callable[[str], Policy], settings: Settings) -> None:
        self._ours = start(address)
        self._namespace = namespace(store)
        self._policy = policy
        self._settings = settings
        self._store = store
        self._actors: dict[StreamId, Any] = {}

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """Carry out commands in order; one reply each. A dead actor is asked again, with the same command ids."""
        for attempt in stamina.retry_context(on=(RayActorError, Busy), attempts=ATTEMPTS, timeout=self._settings.deadline, wait_initial=0.1):
            with attempt:
                return self._ask(stream, commands)
        raise AssertionError("retry_context returns or raises")

    def _ask(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        try:
            answer = ray.get(self.actor(stream).execute.remote(stream, commands), timeout=self._settings.deadline)
        except GetTimeoutError as error:
            raise OutcomeUnknown(f"no reply for {stream} within {self._settings.deadline:.0f} s; repeat with the same id") from error
        except PendingCallsLimitExceeded as error:
            raise Busy(f"{stream} has {PENDING_CALLS} calls waiting") from error
        except RayActorError:
            self._actors.pop(stream, None)
            raise
        if isinstance(answer, MemoryActorsError):
            raise answer
        replies: list[Reply] = answer
        return replies

    def actor(self, stream: StreamId) -> Any:
        """The handle of the user's actor."""
        if stream not in self._actors:
            self._actors[stream] = self._made(stream)
        return self._actors[stream]

    def _made(self, stream: StreamId) -> Any:
        hosted = Hosted(str(self._store.path), self._store.description.store_id, msgspec.json.encode(self._policy(stream.space)), self._settings)
        actor_class = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0, max_pending_calls=PENDING_CALLS)(HostedUserActor)
        actor = actor_class.options(name=f"user:{stream.folder}", namespace=self._namespace, get_if_exists=True).remote(hosted)
        found: Hosted = ray.get(actor.hello.remote(), timeout=self._settings.deadline)
        if found.policy != hosted.policy:
            raise InvalidInput(f"the actor of {stream} was made with another policy; stop it, or use that policy")
        return actor

    def close(self) -> None:
        """End a Ray that we started, and its actors with it."""
        self._actors.clear()
        if self._ours and ray.is_initialized():
            ray.shutdown()
