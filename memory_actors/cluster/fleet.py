"""The actors of one store on one Ray: made on demand, asked with a deadline, and asked again when they have died.

They are detached, for whoever makes one need not be the last who uses it: on a Ray of our own they end with it, on one
that was joined when they have been idle. What is asked may be repeated: commands have ids, and the rest only reads.
"""

import threading
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import Any
from zlib import crc32

import ray
from ray.exceptions import ActorDiedError, ActorUnschedulableError, GetTimeoutError, PendingCallsLimitExceeded, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from events.errors import Busy, ClusterUnavailable, InvalidInput, MemoryActorsError, OutcomeUnknown
from events.ids import StreamId
from memory_actors.cluster.connection import alive, made, using
from memory_actors.cluster.directory import handle
from memory_actors.cluster.machine import memory_bytes, room_for_actors
from memory_actors.cluster.packing import in_parts, unpacked
from memory_actors.cluster.roles import THREADS
from memory_actors.cluster.spec import PREFIX, Home, Role, Sent, Spec

OVERFLOW_POOL = 4
"""The users who find no room for an actor of their own share so many."""
PENDING_CALLS = 256
ATTEMPTS = 30
HOSTINGS = 4096
"""So many handles are kept; an actor lives on without."""
FULL_SECONDS = 5.0
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
FETCHED_AT_ONCE = 128
"""Parts in one reply: Ray takes 10 MB of them into it."""
DEAD = ActorDiedError, ActorUnschedulableError
"""For good: the next call makes another."""
_JITTERED = wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)


class Hosting:
    """An actor that was asked for. One handle an actor; a handle of one that died for good is forgotten."""

    def __init__(self, name: str, actor: Any) -> None:
        self.name, self.actor = name, actor
        self.greeted = False


class Fleet:
    """Reaches the actor of a role that has a stream; see `memory_actors.cluster.remote.Asks`."""

    def __init__(self, spec: Spec, sent: Sent, home: Home, host: Any, deadline: float) -> None:
        self._spec, self._sent, self._home, self._host, self._deadline = spec, sent, home, host, deadline
        self._full_until = 0.0
        self._making = threading.Lock()
        self._hostings: OrderedDict[str, Hosting] = OrderedDict()
        self.made = made()
        self._closed = False

    # -- asking

    def ask(self, role: Role, stream: StreamId, method: str, *arguments: Any, within: float | None = None) -> Any:
        """What the method gives. Raises what it raises; Busy, OutcomeUnknown and ClusterUnavailable after so many seconds."""
        seconds = self._deadline if within is None else within
        attempts = Retrying(
            retry=retry_if_exception_type((Busy, OutcomeUnknown)),
            wait=_wait,
            stop=stop_after_attempt(ATTEMPTS) | stop_before_delay(seconds),
            reraise=True,
        )
        return attempts(self._asked, role, stream, method, in_parts(*arguments), monotonic() + seconds)

    def tell(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """The same without waiting; it may be lost."""
        with suppress(RayError, MemoryActorsError), using(self.made):
            self._told(self._hosting(role, stream), method, *arguments)

    def hint(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """As `tell`, where the actor is there already."""
        with suppress(RayError, MemoryActorsError), using(self.made):
            name = self._name(role, stream)
            hosting = self._hostings.get(name)
            if hosting is None and (found := handle(name, self._home.namespace)) is not None:
                hosting = Hosting(name, found)
            if hosting is not None:
                self._told(hosting, method, *arguments)

    def _told(self, hosting: Hosting, method: str, *arguments: Any) -> None:
        """That the actor is dead for good shows in the reply only."""

        def look(reply: Future[Any]) -> None:
            if isinstance(reply.exception(), DEAD):
                self._forget(hosting)

        hosting.actor.call.remote(method, *in_parts(*arguments)).future().add_done_callback(look)

    def _asked(self, role: Role, stream: StreamId, method: str, arguments: list[bytes], ends: float) -> Any:
        hosting = None
        try:
            with using(self.made):
                hosting = self._hosting(role, stream)
                self._greet(role, hosting, _left(ends))
                reply = ray.get(hosting.actor.call.remote(method, *arguments), timeout=_left(ends))
                answer = unpacked([reply] if isinstance(reply, bytes) else self._fetched(hosting, reply, ends))
        except RayTaskError:
            raise  # an error that is no MemoryActorsError is a defect: it is an instance of its own type too
        except RayError as error:
            if hosting is not None and isinstance(error, DEAD):
                self._forget(hosting)
            raise self._translated(role, stream, error) from error
        except SystemExit as error:  # what Ray gives to who waits while the connection is let go
            raise ClusterUnavailable(f"the connection to Ray was lost while {stream} was asked; repeat with the same id") from error
        if isinstance(answer, MemoryActorsError):
            raise answer
        return answer

    def _fetched(self, hosting: Hosting, held: Any, ends: float) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < held.count:
            count = min(FETCHED_AT_ONCE, held.count - len(found))
            references = hosting.actor.fetch.options(num_returns=count).remote(held, len(found), count)
            found += ray.get(references if count > 1 else [references], timeout=_left(ends))
        return found

    def _greet(self, role: Role, hosting: Hosting, seconds: float) -> None:
        """Raises InvalidInput for an actor of the user's that decides by another policy, or embeds by another model, than the caller's."""
        if hosting.greeted or role != "user":
            return
        if ray.get(hosting.actor.hello.remote(), timeout=seconds) != self._sent.greeting:
            raise InvalidInput(
                f"the actor {hosting.name} was made with another policy, another embedder, or for other use of enrichers; use these, `memory-actors stop` it,"
                f" or wait {self._spec.settings.idle_seconds:.0f} s until it has ended"
            )
        hosting.greeted = True

    def _translated(self, role: Role, stream: StreamId, error: RayError) -> MemoryActorsError:
        """What an error of Ray's means for the caller."""
        if isinstance(error, PendingCallsLimitExceeded):
            return Busy(f"{stream} has {PENDING_CALLS} calls waiting")
        if self.made != made() or not alive():
            return ClusterUnavailable(f"the cluster is gone, and what was sent for {stream} may be durable or not; repeat with the same id")
        if role != "user":
            return Busy(f"no answer for {stream} from its {role} actor in time ({type(error).__name__}); ask again")
        if isinstance(error, GetTimeoutError):
            return OutcomeUnknown(f"no reply for {stream} in time; repeat with the same id")
        return OutcomeUnknown(f"the actor of {stream} was lost, more than once; repeat with the same id ({type(error).__name__})")

    # -- the actors

    def actor(self, role: Role, stream: StreamId) -> Any:
        """The handle of the actor that has the stream; it may have died since."""
        return self._hosting(role, stream).actor

    def _hosting(self, role: Role, stream: StreamId) -> Hosting:
        with self._making:
            if self._closed:
                raise InvalidInput("this memory is closed; what was not acknowledged may be durable or not, and the same id settles it")
            name = self._name(role, stream)
            hosting = self._hostings.pop(name, None) or Hosting(name, self._made(role, name))
            self._hostings[name] = hosting
            while len(self._hostings) > HOSTINGS:
                self._hostings.popitem(last=False)
            return hosting

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
        """Let go of the handles, and make no more; the actors stay. Who waits for one that ends is told that this is closed."""
        with self._making:
            self._closed = True
            self._hostings.clear()


def _share(stream: StreamId, count: int) -> int:
    return crc32(stream.folder.encode()) % count


def _left(ends: float) -> float:
    return max(ends - monotonic(), 0.0)


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: growing, jittered, and not before a busy actor has said."""
    error = state.outcome.exception() if state.outcome is not None else None
    return max(_JITTERED(state), getattr(error, "retry_after", 0.0))
