"""The actors of one store on one Ray: made on demand, asked with a deadline, and asked again when they have died.

They are detached, for whoever makes one need not be the last who uses it: on a Ray of our own they end with it, on one
that was joined when they have been idle. What is asked may be repeated: commands have ids, and the rest only reads.
"""

import threading
from contextlib import suppress
from time import monotonic
from typing import Any
from zlib import crc32

import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, PendingCallsLimitExceeded, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    stop_never,
    wait_random_exponential,
)

from events.errors import Busy, ClusterUnavailable, InvalidInput, MemoryActorsError, OutcomeUnknown
from events.ids import StreamId
from memory_actors.cluster.connection import alive, using
from memory_actors.cluster.directory import handle
from memory_actors.cluster.machine import memory_bytes, room_for_actors
from memory_actors.cluster.packing import packed, parts, unpacked
from memory_actors.cluster.roles import THREADS
from memory_actors.cluster.spec import PREFIX, Home, Role, Sent, Spec

OVERFLOW_POOL = 4
"""The users who find no room for an actor of their own share so many."""
PENDING_CALLS = 256
ATTEMPTS = 30
FULL_SECONDS = 5.0
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
FETCHED_AT_ONCE = 128
"""Parts in one reply: Ray takes 10 MB of them into it."""
_JITTERED = wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)


class Hosting:
    """An actor that was asked for. One handle an actor; a handle of one that died for good is forgotten."""

    def __init__(self, name: str, actor: Any) -> None:
        self.name, self.actor = name, actor
        self.greeted = False


class Fleet:
    """Reaches the actor of a role that has a stream; see `memory_actors.cluster.remote.Asks`."""

    def __init__(self, spec: Spec, sent: Sent, home: Home, host: Any) -> None:
        self._spec, self._sent, self._home, self._host = spec, sent, home, host
        self._full_until = 0.0
        self._making = threading.Lock()
        self._hostings: dict[str, Hosting] = {}

    # -- asking

    def ask(self, role: Role, stream: StreamId, method: str, *arguments: Any, endless: bool = False) -> Any:
        """What the method gives. Raises what it raises; Busy, OutcomeUnknown and ClusterUnavailable after the deadline."""
        ends = monotonic() + self._spec.settings.deadline
        attempts = Retrying(
            retry=retry_if_exception_type((Busy, OutcomeUnknown)),
            wait=_wait,
            stop=stop_after_attempt(ATTEMPTS) | (stop_never if endless else stop_before_delay(self._spec.settings.deadline)),
            reraise=True,
        )
        return attempts(self._asked, role, stream, method, parts(packed(arguments)), None if endless else ends)

    def tell(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """The same without waiting; it may be lost."""
        with suppress(RayError, ClusterUnavailable), using():
            self._hosting(role, stream).actor.call.remote(method, *parts(packed(arguments)))

    def hint(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """As `tell`, where the actor is there already."""
        with suppress(RayError, ClusterUnavailable), using():
            name = self._name(role, stream)
            found = self._hostings[name].actor if name in self._hostings else handle(name, self._home.namespace)
            if found is not None:
                found.call.remote(method, *parts(packed(arguments)))

    def _asked(self, role: Role, stream: StreamId, method: str, arguments: list[bytes], ends: float | None) -> Any:
        hosting = None
        try:
            with using():
                hosting = self._hosting(role, stream)
                self._greet(role, hosting, _left(ends))
                reply = ray.get(hosting.actor.call.remote(method, *arguments), timeout=_left(ends))
                answer = unpacked([reply] if isinstance(reply, bytes) else self._fetched(hosting, reply, ends))
        except RayTaskError:
            raise  # an error that is no MemoryActorsError is a defect: it is an instance of its own type too
        except RayError as error:
            if hosting is not None and isinstance(error, ActorDiedError):
                self._forget(hosting)
            raise self._translated(stream, error) from error
        if isinstance(answer, MemoryActorsError):
            raise answer
        return answer

    def _fetched(self, hosting: Hosting, held: Any, ends: float | None) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < held.count:
            count = min(FETCHED_AT_ONCE, held.count - len(found))
            references = hosting.actor.fetch.options(num_returns=count).remote(held, len(found), count)
            found += ray.get(references if count > 1 else [references], timeout=_left(ends))
        return found

    def _greet(self, role: Role, hosting: Hosting, seconds: float | None) -> None:
        """Raises InvalidInput for an actor of the user's that decides by another policy, or embeds by another model, than the caller's."""
        if hosting.greeted or role != "user":
            return
        if ray.get(hosting.actor.hello.remote(), timeout=seconds) != self._sent.greeting:
            raise InvalidInput(
                f"the actor {hosting.name} was made with another policy or embedder; use these, `memory-actors stop` it,"
                f" or wait {self._spec.settings.idle_seconds:.0f} s until it has ended"
            )
        hosting.greeted = True

    def _translated(self, stream: StreamId, error: RayError) -> MemoryActorsError:
        """What an error of Ray's means for the caller."""
        if isinstance(error, PendingCallsLimitExceeded):
            return Busy(f"{stream} has {PENDING_CALLS} calls waiting")
        if not alive():
            return ClusterUnavailable(f"the cluster is gone, and what was sent for {stream} may be durable or not; repeat with the same id")
        if isinstance(error, GetTimeoutError):
            return OutcomeUnknown(f"no reply for {stream} within {self._spec.settings.deadline:.0f} s; repeat with the same id")
        if isinstance(error, RayActorError):
            return OutcomeUnknown(f"the actor of {stream} died, more than once; repeat with the same id")
        return ClusterUnavailable(f"Ray failed, and what was sent for {stream} may be durable or not; repeat with the same id ({error})")

    # -- the actors

    def actor(self, role: Role, stream: StreamId) -> Any:
        """The handle of the actor that has the stream; it may have died since."""
        return self._hosting(role, stream).actor

    def _hosting(self, role: Role, stream: StreamId) -> Hosting:
        with self._making:
            name = self._name(role, stream)
            if name not in self._hostings:
                self._hostings[name] = Hosting(name, self._made(role, name))
            return self._hostings[name]

    def _name(self, role: Role, stream: StreamId) -> str:
        settings = self._spec.settings
        match role:
            case "user":
                return self._user_name(stream)
            case "projection":
                return f"projection:{self._sent.greeting}:{_share(stream, settings.projections)}"
            case "enricher":
                if not settings.enrichers:
                    raise InvalidInput("background work is left to `memory-actors enrich` here: the setting `enrichers` is 0")
                return f"enricher:{self._sent.greeting}:{_share(stream, settings.enrichers)}"
            case "embedder":
                return f"embedder:{self._sent.greeting}"

    def _user_name(self, stream: StreamId) -> str:
        """The user's own actor; or one of the pool's, where that is the placement, or where there is no room for another."""
        pool, own = self._spec.settings.pool, f"user:{stream.folder}"
        if pool is None and (own in self._hostings or self._has_room(own)):
            return own
        count = pool or OVERFLOW_POOL
        return f"pool:{self._sent.greeting}:{count}:{_share(stream, count)}"

    def _has_room(self, own: str) -> bool:
        """Whether the user's actor is there already, or one more may be made: counted over all stores and drivers of this cluster.

        That it is full is believed for some seconds.
        """
        if monotonic() < self._full_until:
            return False
        named = [actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True) if actor["namespace"].startswith(PREFIX)]
        if own in named:
            return True
        bound = self._spec.settings.user_actors
        if sum(name.startswith("user:") for name in named) < (room_for_actors(memory_bytes()) if bound is None else bound):
            return True
        self._full_until = monotonic() + FULL_SECONDS
        return False

    def _made(self, role: Role, name: str) -> Any:
        node = self._home.node
        return self._host.options(
            name=name,
            namespace=self._home.namespace,
            get_if_exists=True,
            lifetime="detached",
            max_concurrency=THREADS[role],
            max_pending_calls=PENDING_CALLS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False) if node else "SPREAD",
        ).remote(role, self._sent, self._home)

    def _forget(self, hosting: Hosting) -> None:
        with self._making:
            if self._hostings.get(hosting.name) is hosting:
                del self._hostings[hosting.name]

    def close(self, *, finish: bool = True) -> None:  # noqa: ARG002 - the actors go on, and so does their work
        """Let go of the handles; the actors stay."""
        with self._making:
            self._hostings = {}


def _share(stream: StreamId, count: int) -> int:
    return crc32(stream.folder.encode()) % count


def _left(ends: float | None) -> float | None:
    return None if ends is None else max(ends - monotonic(), 0.0)


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: growing, jittered, and not before a busy actor has said."""
    error = state.outcome.exception() if state.outcome is not None else None
    return max(_JITTERED(state), getattr(error, "retry_after", 0.0))
