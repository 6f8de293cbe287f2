"""This process's connection to Ray: quiet, and gone when nobody needs it."""

import logging
import os
import subprocess
import threading
import warnings
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from events.errors import ClusterUnavailable
from memory_actors.actors.placement import check_address

OBJECT_STORE_BYTES = 80_000_000


class Connection:
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


CONNECTION = Connection()
start, stop = CONNECTION.join, CONNECTION.leave


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
