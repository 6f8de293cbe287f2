"""A memory's way to its actors: it starts or joins Ray, joins again after the cluster was restarted, and lets go in the end."""

import logging
import os
import threading
from time import monotonic
from typing import Any

from ray.exceptions import RayError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from events.errors import ClusterUnavailable, InvalidInput
from events.ids import StreamId
from events.log.store import Store
from memory_actors.cluster.connection import alive, joined, made, node_id, rejoin, start, stop, using
from memory_actors.cluster.directory import end_all, homes
from memory_actors.cluster.fleet import Fleet
from memory_actors.cluster.host import ACTOR
from memory_actors.cluster.spec import Home, Role, Sent, Spec

_LOG = logging.getLogger(__name__)
LONGEST_WAIT = 2.0
END_SECONDS = 60.0
_CLIENTS: set["Client"] = set()
"""Those of this process."""


class Client:
    """See `memory_actors.cluster.remote.Asks`. On a Ray that was started for it, its actors end with the last client of their store."""

    def __init__(self, address: str, spec: Spec) -> None:
        self._address, self._spec, self._sent = address, spec, Sent.of(spec)
        self._joining, self._closed, self._process = threading.Lock(), False, os.getpid()
        self._owner = start(address)
        try:
            self._fleet = self._found()
        except BaseException:
            self._leave()
            raise
        _CLIENTS.add(self)

    def _found(self) -> Fleet:
        with using():
            node = "" if self._spec.settings.shared else node_id()
            self._home = Home.of(self._spec.store_id, self._spec.path, node)
            return Fleet(self._spec, self._sent, self._home, ACTOR, self._spec.settings.deadline)

    def ask(self, role: Role, stream: StreamId, method: str, *arguments: Any, within: float | None = None) -> Any:
        """What the method gives, asked again where the cluster was restarted meanwhile."""
        seconds = self._spec.settings.deadline if within is None else within
        ends, fleet = monotonic() + seconds, self._current()
        try:
            return fleet.ask(role, stream, method, *arguments, within=seconds)
        except ClusterUnavailable:
            if self._owner is None or (alive() and fleet.made == made()):
                raise
        fleet = self._again(max(ends - monotonic(), 0.0))
        return fleet.ask(role, stream, method, *arguments, within=max(ends - monotonic(), 1.0))

    def tell(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """The same without waiting; it may be lost."""
        self._current().tell(role, stream, method, *arguments)

    def hint(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """As `tell`, where the actor is there already."""
        self._current().hint(role, stream, method, *arguments)

    def actor(self, role: Role, stream: StreamId) -> Any:
        """The handle of the actor that has the stream."""
        return self._current().actor(role, stream)

    def _current(self) -> Fleet:
        """The fleet on the connection that there is. Raises InvalidInput once closed, and in a forked child, which has none."""
        if self._closed:
            raise InvalidInput("this memory is closed; open it again")
        if self._process != os.getpid():
            raise InvalidInput("this memory was opened before the process forked; open it in the child, too")
        with self._joining:
            if self._fleet.made != made() and alive():
                self._fleet = self._found()
            return self._fleet

    def _again(self, seconds: float) -> Fleet:
        """The fleet on the cluster that is there now. Tries for so long."""
        attempts = Retrying(
            retry=retry_if_exception_type(ClusterUnavailable),
            wait=wait_random_exponential(max=LONGEST_WAIT),
            stop=stop_after_delay(seconds),
            reraise=True,
        )
        attempts(rejoin, self._address)
        return self._current()

    def close(self, *, finish: bool = True) -> None:
        """Let go. On a Ray of our own the actors end with the last client of their store; elsewhere when they have been idle."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        _CLIENTS.discard(self)
        self._fleet.close()
        try:
            if self._address == "local" and self._owner is not None and not self._shared() and alive():
                with using():
                    end_all(self._home, finish=finish, seconds=END_SECONDS)
        except RayError as error:  # the actors end with Ray, or when they have been idle
            _LOG.warning("the actors of %s could not be ended: %s", self._spec.path, error)
        finally:
            self._leave()

    def _shared(self) -> bool:
        """Whether another client of this process is on the same store."""
        return any(other._home == self._home for other in _CLIENTS)  # noqa: SLF001 - its like

    def _leave(self) -> None:
        if self._owner is not None:
            stop(self._owner)


def end_actors(address: str, store: Store | None, *, finish: bool) -> list[str]:
    """End the actors of a store (of every store, if None) on the cluster at `address`; the names of those that were there."""
    with joined(address):
        found = homes() if store is None else homes(store.description.store_id, str(store.path))
        return [name for home in found for name in end_all(home, finish=finish, seconds=END_SECONDS)]
