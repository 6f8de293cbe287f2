"""Processes with a memory that outlives its cluster, and processes with a cluster each over one store."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from heads import ROOT, below, end, free_ports, head

from events.log.file_log import FileLog
from events.log.store import create_store, open_store
from events.log.verify import verify

DRIVER = """
import sys
from memory_actors.memory import Memory
from memory_actors.settings import Settings

memory = Memory(sys.argv[1], ray=sys.argv[2], embedder="none", settings=Settings(enrichers=0, recalls="never"))
ann = memory.user("ann")
for name in map(str.strip, sys.stdin):
    print(ann.record("user", f"note {name}", id=name).first, len(ann.session()[1]), flush=True)
memory.close()
"""

pytestmark = pytest.mark.ray


class Driver:
    """A process that records a turn for every line it is given."""

    def __init__(self, store: Path, ray: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(store), ray],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=store.parent,
            env=environment,
            start_new_session=True,
        )

    def record(self, name: str) -> tuple[int, int]:
        """The turn's seq, and how many turns the session has then."""
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        first, turns = self._process.stdout.readline().split()
        return int(first), int(turns)

    def close(self) -> int:
        """Its exit code."""
        self._process.communicate(timeout=60)
        return self._process.returncode


def test_a_driver_goes_on_after_its_cluster_was_killed_and_started_again(tmp_path: Path) -> None:
    """The same process, the same memory; the other cluster is at the same address."""
    [port] = free_ports(1)
    create_store(tmp_path / "store")

    with head(tmp_path, port) as first:
        driver = Driver(tmp_path / "store", first.gcs, first.environment)
        before = driver.record("m1")
        for pid in below(first.pid) | {first.pid}:
            end(pid)
    with head(tmp_path, port) as second:
        after, again = driver.record("m2"), driver.record("m1")
        code = driver.close()

    assert second.gcs == first.gcs
    assert ((1, 1), (2, 2), (1, 2), 0) == (before, after, again, code)


def test_two_clusters_over_one_store_never_fork_a_stream(tmp_path: Path) -> None:
    """Two drivers, each with a Ray of its own, write and read one user at once."""
    create_store(tmp_path / "store")
    drivers = [Driver(tmp_path / "store", "local", {**os.environ, "PYTHONPATH": str(ROOT)}) for _ in range(2)]
    seqs: list[list[int]] = [[], []]

    def write(number: int) -> None:
        seqs[number] = [drivers[number].record(f"d{number}-{turn}")[0] for turn in range(15)]

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [0, 0] == [driver.close() for driver in drivers]
    log = FileLog(open_store(tmp_path / "store"))
    turns = [event for event in log.read(log.streams()[0]).events if event.type == "TurnRecorded"]
    assert sorted(f"d{number}-{turn}" for number in range(2) for turn in range(15)) == sorted(event.data.turn_id for event in turns)
    assert sorted([*seqs[0], *seqs[1]]) == [event.seq for event in turns]
    assert verify(log).ok
