"""This process's connection to Ray: quiet, and gone when nobody needs it."""

import logging
import os
import socket
import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from events.errors import ClusterUnavailable, InvalidInput
from memory_actors.cluster.address import check_address

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OBJECT_STORE_BYTES = 80_000_000
ANSWER_SECONDS = 2.0
LOOK_SECONDS = 5.0
LET_GO_SECONDS = 5.0
"""Calls to actors that are gone fail in two; what waits for one to be made would wait for ever."""


class Owner:
    """A hold on the connection: as long as there is one, it is kept, and made anew when it is lost."""


class Connection:
    """This process's connection to Ray: made for its first owner, ended with the last, unless it was the caller's own.

    It is watched: Ray kills a process whose cluster has been gone for a minute, and without a connection it would make one by
    itself, to wherever it likes. So whoever asks Ray anything does so in `using`, and a lost connection is let go at once.
    `made` counts connections: handles of an earlier one are of no use.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._quiet = threading.Condition(self._lock)
        self._using = 0
        self._owners: set[Owner] = set()
        self._where = ""
        self._agents: subprocess.Popen[bytes] | None = None
        self._gone = threading.Event()
        self.made = 0

    def join(self, address: str) -> Owner | None:
        """Connect, or start a Ray; None where the caller has one already. "local" never attaches to a stranger's cluster.

        Raises InvalidInput for another address than the one that this process is connected to: Ray takes one at a time.
        """
        with self._lock:
            if not self._owners and ray.is_initialized():
                return None
            if self._owners and address not in (self._where, "local" if self._where == "local" else "auto"):
                raise InvalidInput(
                    f"this process is on the Ray at {self._where!r} already, and can be on one only; close its memories first"
                )
            if not ray.is_initialized():
                self._begin(address)
            owner = Owner()
            self._owners.add(owner)
            return owner

    @contextmanager
    def using(self, made: int | None = None) -> Iterator[None]:
        """While Ray is asked something. Raises ClusterUnavailable without a connection, or with another than the one meant."""
        with self._lock:
            if not ray.is_initialized():
                raise ClusterUnavailable("Ray has been shut down since this memory was opened; open it again")
            if made not in (None, self.made):
                raise ClusterUnavailable("the connection to Ray was lost and made anew meanwhile")
            self._using += 1
        try:
            yield
        finally:
            with self._lock:
                self._using -= 1
                self._quiet.notify_all()

    def alive(self) -> bool:
        """Whether the node and the head through which this process is connected still answer."""
        node = ray._private.worker._global_node  # noqa: SLF001 - there is no public way
        if not ray.is_initialized() or node is None:
            return False
        return _raylet_answers(node.raylet_socket_name) and _head_answers(str(node.gcs_address))

    def rejoin(self, address: str) -> None:
        """Connect again, unless somebody in this process already has."""
        with self._lock:
            if not self.alive() and self._let_go():
                self._begin(address)

    def leave(self, owner: Owner) -> None:
        """One owner less. The last one ends a Ray that was started here, its actors with it."""
        with self._lock:
            self._owners.discard(owner)
            if not self._owners and self._let_go():
                self._where = ""

    def _begin(self, address: str) -> None:
        where = found() if address == "auto" else address
        check_address(where)
        with _on_loopback(where == "local" or where.rpartition(":")[0] in LOOPBACK):
            _connect(address)
        self._where, self.made = where, self.made + 1
        self._agents = _watch() if address == "local" else None
        self._gone = threading.Event()
        threading.Thread(target=self._look, args=(self._gone,), name="memory-actors-connection", daemon=True).start()

    def _look(self, gone: threading.Event) -> None:
        """Let go of a connection that is lost."""
        while not gone.wait(LOOK_SECONDS):
            if not self.alive():
                with self._lock:
                    if not gone.is_set() and not self.alive():
                        self._let_go()

    def _let_go(self) -> bool:
        """End the connection once nobody is using it: those who are get an error within seconds. False if another was made meanwhile."""
        seen = self.made
        self._quiet.wait_for(lambda: not self._using or self.made != seen, LET_GO_SECONDS)
        if self.made != seen:
            return False
        self._gone.set()
        if self._agents is not None:
            self._agents.kill()
            self._agents.communicate()
            self._agents = None
        if ray.is_initialized():
            ray.shutdown()
        return True


def _raylet_answers(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as raylet:
            raylet.settimeout(ANSWER_SECONDS)
            raylet.connect(path)
    except OSError:
        return False
    return True


def _head_answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


CONNECTION = Connection()
start, stop, alive, rejoin, using = CONNECTION.join, CONNECTION.leave, CONNECTION.alive, CONNECTION.rejoin, CONNECTION.using


def made() -> int:
    """How many connections this process has made: which one it is on."""
    return CONNECTION.made


@contextmanager
def joined(address: str) -> Iterator[None]:
    """For as long as it takes."""
    owner = start(address)
    try:
        yield
    finally:
        if owner is not None:
            stop(owner)


def node_id() -> str:
    """The node that this process is on."""
    found: str = ray.get_runtime_context().get_node_id()
    return found


def _connect(address: str) -> None:
    new: dict[str, Any] = {
        "include_dashboard": False,
        "num_cpus": os.cpu_count(),
        "object_store_memory": OBJECT_STORE_BYTES,
        "_system_config": {"enable_metrics_collection": False},  # nobody reads them, and a Ray that is dead waits ten seconds to send them
    }
    _hush()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **(new if address == "local" else {}))
    except (RayError, ConnectionError, ValueError, RuntimeError, OSError) as error:
        hint = "" if address == "local" else " A cluster that asks for a token needs RAY_AUTH_MODE=token."
        raise ClusterUnavailable(
            f"no Ray at {address!r}: {error}.{hint} `--ray local` starts one here, `--ray off` does without"
        ) from error


@contextmanager
def _on_loopback(wanted: bool) -> Iterator[None]:
    """Ray of its own accord replaces 127.0.0.1 by an address that other machines reach, and listens on all."""
    constants = ray._private.ray_constants  # noqa: SLF001 - the environment variable for it is read when Ray is imported
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = before and not wanted
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


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


def found() -> str:
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
