"""Any role's plain class as Ray runs it.

Ray may run two instances of one named actor at once, and may lose a call or its reply: both are safe, because the fence
is in storage, every command has an id, and a read may be repeated. So Ray's own retries are off.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import ray

from events import ambient
from events.errors import Busy, MemoryActorsError
from memory_actors.cluster.fleet import Fleet
from memory_actors.cluster.packing import PART_BYTES, packed, parts, unpacked
from memory_actors.cluster.roles import MADE, Place
from memory_actors.cluster.spec import Home, Role, Sent

HELD_BYTES = 100_000_000
NESTED = 0.5
"""What an actor asks of another takes at most this part of its client's deadline: so the inner one gives up first."""


class Held(msgspec.Struct, frozen=True):
    """An answer too large for one reply: it is fetched in `count` parts."""

    key: str
    count: int


class Host:
    """Hosts one role's class. Making it touches nothing, for a raise there is final death; the first call opens the store.

    An actor that has been idle ends itself; a call that arrives at that moment fails, and its client asks anew.
    """

    def __init__(self, role: Role, sent: Sent, home: Home) -> None:
        self._role, self._sent, self._home = role, sent, home
        self._made: Any = None
        self._opening, self._counting = threading.Lock(), threading.Lock()
        self._held: OrderedDict[str, list[bytes]] = OrderedDict()
        self._calls = 0
        self._used = threading.Event()
        threading.Thread(target=self._end_when_idle, daemon=True).start()

    def hello(self) -> str:
        """By what it works, which `get_if_exists` ignores."""
        return self._sent.greeting

    def pid(self) -> int:
        """The process that it lives in."""
        return os.getpid()

    def call(self, method: str, *arguments: bytes) -> bytes | Held:
        """Call the role's method with packed arguments; what it gives, packed. An error of ours comes back as a value, so that it keeps its type."""
        with self._in_use():
            try:
                answer = getattr(self._opened(), method)(*unpacked(arguments))
            except MemoryActorsError as error:
                answer = error
            return self._reply(packed(answer))

    def fetch(self, held: Held, start: int, count: int) -> Any:
        """Parts of a held answer, as many as `num_returns` says; with the last one it is let go. Raises Busy where it has been let go before."""
        with self._in_use(), self._counting:
            found = self._held.get(held.key)
            if found is None:
                raise Busy("the answer was not fetched in time; ask again")
            if start + count >= held.count:
                del self._held[held.key]
            return found[start : start + count] if count > 1 else found[start]

    def _reply(self, body: bytes) -> bytes | Held:
        """What is held is bounded: the answer that nobody has fetched for longest goes. A key is never that of another instance."""
        if len(body) <= PART_BYTES:
            return body
        held = Held(ambient.new_id(), len(parts(body)))
        with self._counting:
            self._held[held.key] = parts(body)
            while len(self._held) > 1 and sum(map(len, self._held.values())) * PART_BYTES > HELD_BYTES:
                self._held.popitem(last=False)
        return held

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with self._counting:
            self._calls += 1
        self._used.set()
        try:
            yield
        finally:
            with self._counting:
                self._calls -= 1
            self._used.set()

    def _opened(self) -> Any:
        with self._opening:
            if self._made is None:
                spec = self._sent.spec()
                fleet = Fleet(spec, self._sent, self._home, ACTOR, spec.settings.deadline * NESTED)
                self._made = MADE[self._role](Place(spec, fleet))
            return self._made

    def _end_when_idle(self) -> None:
        while True:
            while self._used.wait(self._sent.idle_seconds):
                self._used.clear()
            resting = getattr(self._made, "resting", lambda: True)
            if not self._calls and not self._used.is_set() and resting():
                ray.kill(ray.get_runtime_context().current_actor)
                return


ACTOR = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0)(Host)
