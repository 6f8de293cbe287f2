"""The client of UserActors on Ray: a named actor a user, asked with a deadline, and again with the same command ids."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any
from zlib import crc32

import msgspec
import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, PendingCallsLimitExceeded, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay, wait_random_exponential

from events.commands import Command
from events.errors import Busy, ClusterUnavailable, InvalidInput, MemoryActorsError, OutcomeUnknown
from events.ids import StreamId
from events.log.store import Store
from events.policy import Policy
from memory_actors.actors.ray_actor import IDLE_SECONDS, PENDING_CALLS, USER_ACTOR, Hosted, packed, parts
from memory_actors.actors.ray_connection import start, stop
from memory_actors.actors.user_actor import Reply
from memory_actors.settings import Settings

PER_USER = 32
"""So many actors of one user each; whoever comes after them shares the pool's, for an actor costs 100 MB."""
POOL = 4
ATTEMPTS = 10
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
_JITTERED = wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)


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

    def __init__(
        self, address: str, store: Store, policy: Callable[[str], Policy], settings: Settings, *, idle: float = IDLE_SECONDS
    ) -> None:
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
        attempts = Retrying(
            retry=retry_if_exception_type((Busy, OutcomeUnknown)),
            wait=_wait,
            stop=stop_after_attempt(ATTEMPTS) | stop_before_delay(self._settings.deadline),
            reraise=True,
        )
        return attempts(self._ask, stream, body, ends)

    def _ask(self, stream: StreamId, body: bytes, ends: float) -> list[Reply]:
        if not ray.is_initialized():
            raise ClusterUnavailable("Ray has been shut down since this memory was opened; open it again")
        hosting = self._hosting(self._name(stream), self._policy(stream.space))
        try:
            hosting.greet(max(ends - monotonic(), 0.0))
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


def namespace(store: Store, node: str) -> str:
    """Of this store at this place: a copied store never reaches the original's actors, nor does a folder of the same name elsewhere."""
    name = f"{store.description.store_id}\0{store.path}\0{node}".encode()
    return "memory-actors-" + hashlib.blake2b(name, digest_size=8).hexdigest()


def canonical(policy: Policy) -> bytes:
    """Equal for equal policies."""
    return msgspec.json.encode(policy, order="deterministic")


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: growing, jittered, and not before a busy actor has said."""
    error = state.outcome.exception() if state.outcome is not None else None
    return max(_JITTERED(state), getattr(error, "retry_after", 0.0))
