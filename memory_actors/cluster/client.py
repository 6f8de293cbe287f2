"""A memory's way to its actors: it starts or joins Ray, joins again after the cluster was restarted, and lets go in the end."""

import threading
from collections import Counter
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from events.errors import ClusterUnavailable
from events.ids import StreamId
from events.log.store import Store
from memory_actors.cluster.connection import alive, node_id, rejoin, start, stop
from memory_actors.cluster.directory import end_all, homes
from memory_actors.cluster.fleet import Fleet
from memory_actors.cluster.host import ACTOR
from memory_actors.cluster.spec import Home, Role, Sent, Spec

_CLIENTS: Counter[str] = Counter()
"""How many clients of this process use each namespace."""
LONGEST_WAIT = 2.0


class Client:
    """See `memory_actors.cluster.remote.Asks`. On a Ray that was started for it, its actors end with the last client of their store."""

    def __init__(self, address: str, spec: Spec) -> None:
        self._address, self._spec, self._sent = address, spec, Sent.of(spec)
        self._joining, self._closed = threading.Lock(), False
        self._ours = start(address)
        self._fleet = self._found()
        _CLIENTS[self._home.namespace] += 1

    def _found(self) -> Fleet:
        self._home = Home.of(self._spec.store_id, self._spec.path, "" if self._spec.settings.shared else node_id())
        return Fleet(self._spec, self._sent, self._home, ACTOR)

    def ask(self, role: Role, stream: StreamId, method: str, *arguments: Any, endless: bool = False) -> Any:
        """What the method gives, asked again where the cluster was restarted meanwhile."""
        fleet = self._fleet
        try:
            return fleet.ask(role, stream, method, *arguments, endless=endless)
        except ClusterUnavailable:
            if not self._ours or alive():
                raise
            return self._again(fleet).ask(role, stream, method, *arguments, endless=endless)

    def tell(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """The same without waiting; it may be lost."""
        self._fleet.tell(role, stream, method, *arguments)

    def hint(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """As `tell`, where the actor is there already."""
        self._fleet.hint(role, stream, method, *arguments)

    def actor(self, role: Role, stream: StreamId) -> Any:
        """The handle of the actor that has the stream."""
        return self._fleet.actor(role, stream)

    def _again(self, gone: Fleet) -> Fleet:
        """The fleet on the cluster that is there now; one caller joins for all. Tries until the deadline."""
        with self._joining:
            if self._fleet is gone:
                attempts = Retrying(
                    retry=retry_if_exception_type(ClusterUnavailable),
                    wait=wait_random_exponential(max=LONGEST_WAIT),
                    stop=stop_after_delay(self._spec.settings.deadline),
                    reraise=True,
                )
                attempts(rejoin, self._address)
                before = self._home.namespace
                self._fleet = self._found()
                _CLIENTS[before] -= 1
                _CLIENTS[self._home.namespace] += 1
            return self._fleet

    def close(self, *, finish: bool = True) -> None:
        """Let go. On a Ray of our own the actors end with the last client of their store; elsewhere when they have been idle."""
        if self._closed:
            return
        self._closed = True
        _CLIENTS[self._home.namespace] -= 1
        if self._address == "local" and self._ours and not _CLIENTS[self._home.namespace] and alive():
            end_all(self._home, finish=finish)
        self._fleet.close()
        if self._ours:
            stop()


def end_actors(address: str, store: Store | None, *, finish: bool) -> list[str]:
    """End the actors of a store (of every store, if None) on the cluster at `address`; the names of those that were there."""
    ours = start(address)
    try:
        found = homes() if store is None else homes(store.description.store_id, str(store.path))
        return [name for home in found for name in end_all(home, finish=finish)]
    finally:
        if ours:
            stop()
