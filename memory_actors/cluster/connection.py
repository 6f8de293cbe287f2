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

from events.errors import ClusterUnavailable
from memory_actors.cluster.address import check_address

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OBJECT_STORE_BYTES = 80_000_000
ANSWER_SECONDS = 2.0
LOOK_SECONDS = 5.0
LET_GO_SECONDS = 20.0


class Connection:
    """This process's connection to Ray: made for the first writer, ended with the last, unless it was the caller's own.

    It is watched: Ray kills a process whose cluster has been gone for a minute, and with no connection it would make one by
    itself, to wherever it likes. So whoever asks Ray anything does so in `using`, and a lost connection is let go at once.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._quiet = threading.Condition(self._lock)
        self._using = 0
        self._writers = 0
        self._agents: subprocess.Popen[bytes] | None = None
        self._gone = threading.Event()

    def join(self, address: str) -> bool:
        """Connect, or start a Ray; whether it is ours to end. "local" never attaches to a stranger's cluster."""
        with self._lock:
            if not ray.is_initialized():
                self._end()
                self._begin(address)
            elif not self._writers:
                return False
            self._writers += 1
            return True

    @contextmanager
    def using(self) -> Iterator[None]:
        """While Ray is asked something. Raises ClusterUnavailable without a connection."""
        with self._lock:
            if not ray.is_initialized():
                raise ClusterUnavailable("Ray has been shut down since this memory was opened; open it again")
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
        host, _, port = str(node.gcs_address).rpartition(":")
        return _answers(socket.AF_UNIX, node.raylet_socket_name) and _answers(socket.AF_INET, (host, int(port)))

    def rejoin(self, address: str) -> None:
        """Connect again, unless somebody in this process already has."""
        with self._lock:
            if not self.alive():
                writers = self._writers
                self._let_go()
                self._begin(address)
                self._writers = writers

    def leave(self) -> None:
        """One writer less. The last one ends a Ray that was started here, its actors with it."""
        with self._lock:
            self._writers -= 1
            if self._writers == 0:
                self._end()

    def _begin(self, address: str) -> None:
        where = _found() if address == "auto" else address
        check_address(where)
        with _on_loopback(where == "local" or where.rpartition(":")[0] in LOOPBACK):
            _connect(address)
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
                return

    def _let_go(self) -> None:
        """Once nobody is using it: those who are get an error within seconds."""
        self._quiet.wait_for(lambda: not self._using, LET_GO_SECONDS)
        self._end()

    def _end(self) -> None:
        self._writers = 0
        self._gone.set()
        if self._agents is not None:
            self._agents.kill()
            self._agents.communicate()
            self._agents = None
        if ray.is_initialized():
            ray.shutdown()


def _answers(family: int, address: Any) -> bool:
    try:
        with socket.socket(family) as other:
            other.settimeout(ANSWER_SECONDS)
            other.connect(address)
    except OSError:
        return False
    return True


CONNECTION = Connection()
start, stop, alive, rejoin, using = CONNECTION.join, CONNECTION.leave, CONNECTION.alive, CONNECTION.rejoin, CONNECTION.using


def node_id() -> str:
    """The node that this process is on."""
    found: str = ray.get_runtime_context().get_node_id()
    return found


def _connect(address: str) -> None:
    new: dict[str, Any] = {"include_dashboard": False, "num_cpus": os.cpu_count(), "object_store_memory": OBJECT_STORE_BYTES}
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
