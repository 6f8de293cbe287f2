"""Drivers with a Ray of their own, and drivers that joined one: what they print, and what stays when they are gone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from heads import OURS, ROOT, below, head

from events.log.file_log import FileLog
from events.log.store import create_store, open_store
from events.log.verify import verify
from memory_actors.memory import Memory

GONE_SECONDS = 30.0

DRIVER = """
import sys
from memory_actors.memory import Memory

memory = Memory(sys.argv[1], ray=sys.argv[2], embedder="none")
ack = memory.user("ann").record("user", "I live in Porto.", id=sys.argv[3])
print(ack.seq, flush=True)
if sys.argv[4] == "stay":
    sys.stdin.read()
memory.close()
"""

pytestmark = pytest.mark.ray


def driver(store: Path, ray: str, name: str, what: str = "go", **environment: str) -> subprocess.Popen[str]:
    """A process that records a turn and prints its seq; with "stay" it then waits."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(store), ray, name, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=store.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": "/tmp", **environment},
        start_new_session=True,
    )


def running(pids: set[int]) -> set[int]:
    """Those that are there and no zombies."""
    return {pid for pid in pids if _state(pid) not in ("Z", "X", "")}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def wait_until_gone(pids: set[int]) -> None:
    """Polls, for at most GONE_SECONDS."""
    ends = time.monotonic() + GONE_SECONDS
    while running(pids) and time.monotonic() < ends:
        time.sleep(0.1)
    assert running(pids) == set()


def test_a_killed_driver_leaves_no_process_and_a_sound_store(tmp_path: Path) -> None:
    """Its Ray ends with it, and the store opens at once."""
    store = tmp_path / "store"
    process = driver(store, "local", "m1", "stay")
    assert process.stdout.readline() == "1\n"
    ours = below(process.pid)
    assert len(ours) > 2

    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=GONE_SECONDS)

    with Memory(store, embedder="none") as memory:
        assert ["TurnRecorded"] == [event.type for event in memory.user("ann").events()][:1]
        assert memory.user("ann").record("user", "I live in Porto.", id="m1").duplicate
        assert verify(memory.log).ok
    wait_until_gone(ours)


def test_stdout_is_the_drivers_own_and_a_strangers_cluster_is_left_alone(tmp_path: Path) -> None:
    """Ray says nothing there, nor on stderr; "local" does not look at RAY_ADDRESS, and nothing is left after close."""
    process = driver(tmp_path / "store", "local", "m1", "stay", RAY_ADDRESS="127.0.0.1:1")
    first = process.stdout.readline()
    ours = below(process.pid)

    rest, noise = process.communicate("", timeout=60)

    assert ("1\n", "", "", 0) == (first, rest, noise, process.returncode)
    wait_until_gone(ours)


@pytest.mark.slow
def test_drivers_that_joined_a_cluster_share_actors_that_outlive_them(tmp_path: Path) -> None:
    """Two processes write one user in turn and at once, through one actor; the cluster is not ended by their going."""
    store = tmp_path / "store"
    create_store(store)
    with head(tmp_path) as cluster:
        staying = driver(store, cluster.gcs, "m1", "stay", **OURS)
        assert staying.stdout.readline() == "1\n"

        other = driver(store, cluster.gcs, "m2", **OURS)
        assert other.communicate(timeout=60)[0] != ""
        staying.send_signal(signal.SIGKILL)
        staying.communicate()
        third = driver(store, cluster.gcs, "m3", **OURS)
        _, noise = third.communicate(timeout=60)

    assert (0, "") == (third.returncode, noise)
    log = FileLog(open_store(store))
    turns = [event.data.turn_id for event in log.read(log.streams()[0]).events if event.type == "TurnRecorded"]
    assert ["m1", "m2", "m3"] == turns
    assert verify(log).ok
