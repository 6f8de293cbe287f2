"""Real processes, killed at any moment: what was acknowledged is there exactly once, and nothing has to be cleared up."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from clocks import TickingClock
from faults import ScriptedFiles

from events.commands import RecordTurn
from events.envelope import Envelope
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import Store
from events.log.verify import verify
from events.policy import Policy
from events.vocabulary import EpisodeClosed, TurnRecorded
from memory_actors.actors.user_actor import UserActor

WRITER = Path(__file__).with_name("writer.py")
ROOT = WRITER.parents[2]
STREAM = StreamId("home", "ann")
KILLS = 50
STOPS = [
    "fsync:before:{}",
    "link_new:before:{}",
    "link_new:after:{}",
    "exists:before:{}",
    "fsync_folder:before:{}",
    "fsync_folder:after:{}",
    "_link:before:{}",
    "_link:after:{}",
]


class Child:
    """A running writer. `acknowledged` maps each turn that it printed to its seq."""

    def __init__(self, store: Store, prefix: str, first: int, count: int, temporaries: str = "", stop: str = "") -> None:
        arguments = [sys.executable, str(WRITER), str(store.path), prefix, str(first), str(count), temporaries, stop]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
        self.acknowledged: dict[str, int] = {}
        self.duplicates: set[str] = set()
        self.finished = False
        self.stopped = False

    def lines(self) -> Iterator[str]:
        """Its lines, as they come; each is noted before it is handed on."""
        for line in self.process.stdout:
            self._note(line)
            yield line

    def _note(self, line: str) -> None:
        match line.split():
            case ["stopped"]:
                self.stopped = True
            case ["done"]:
                self.finished = True
            case [name, seq, duplicate] if line.endswith("\n"):
                self.acknowledged[name] = int(seq)
                self.duplicates |= {name} if duplicate == "1" else set()

    def kill(self) -> None:
        """SIGKILL, to this process alone; what it had printed before is still read."""
        self.process.send_signal(signal.SIGKILL)
        for _ in self.lines():
            pass
        self.process.stdout.close()
        self.process.wait()

    def finish(self) -> int:
        """Let it run to its end."""
        for _ in self.lines():
            pass
        self.process.stdout.close()
        return self.process.wait()


def spin(seconds: float) -> None:
    """Burn a moment: too short to sleep."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def turns(log: FileLog) -> dict[str, list[int]]:
    """Where each turn stands in the log."""
    found: dict[str, list[int]] = {}
    for event in log.read(STREAM).events:
        if isinstance(event.data, TurnRecorded):
            found.setdefault(event.data.turn_id, []).append(event.seq)
    return found


def check_history(events: list[Envelope]) -> None:
    """What every history shows, however it came about: places in the conversation, and episodes where they are due."""
    recorded = [event for event in events if isinstance(event.data, TurnRecorded)]
    closed = [event.data for event in events if isinstance(event.data, EpisodeClosed)]

    assert list(range(1, len(recorded) + 1)) == [event.data.turn for event in recorded]
    assert [(start, start + 9) for start in range(1, len(recorded) - 19, 10)] == [(data.turn_start, data.turn_end) for data in closed]
    assert [f"content of {event.data.turn_id}" for event in recorded] == [event.data.content for event in recorded]


def test_killed_at_fifty_moments(store: Store, log: FileLog) -> None:
    """Within the start, between turns and inside commits; each restart repeats the turn whose reply it never saw."""
    seed = 20261121
    print("seed", seed)
    rng = random.Random(seed)
    acknowledged: dict[str, int] = {}
    moments: Counter[str] = Counter()
    for round_ in range(KILLS):
        stop = rng.choice(STOPS).format(rng.randint(1, 12)) if round_ % 3 == 2 else ""
        child = Child(store, "t", len(acknowledged), 10_000, "named" if round_ % 2 else "", stop)
        wanted = rng.choice([0, 1, 2, 5, 10, 20])
        if wanted == 0 and not stop:
            spin(rng.uniform(0.0, 0.3))
        else:
            for _ in child.lines():
                if child.stopped if stop else len(child.acknowledged) >= wanted:
                    break
            spin(rng.uniform(0.0, 0.005))
        child.kill()
        moments["at a step" if child.stopped else "in turns" if child.acknowledged else "in the start"] += 1
        moments["repeats found"] += len(child.duplicates)
        assert not set(acknowledged) & set(child.acknowledged)
        acknowledged |= child.acknowledged
    print(dict(moments), len(acknowledged), "turns acknowledged")

    found = turns(log)
    assert {name: [seq] for name, seq in acknowledged.items()} == {name: found.get(name) for name in acknowledged}
    assert {1} == {len(seqs) for seqs in found.values()}
    assert len(found) - len(acknowledged) in (0, 1)
    check_history(log.read(STREAM).events)
    assert verify(log).ok
    assert min(moments[moment] for moment in ("in the start", "in turns", "at a step", "repeats found")) >= 2
    assert_next_start_is_free(store, len(acknowledged))


def assert_next_start_is_free(store: Store, acknowledged: int) -> None:
    """No lock is left, nobody is waited for, and no file is read twice; leftovers are temporaries, which nobody reads."""
    files, pauses = ScriptedFiles(), []
    log = FileLog(store, files, pause=pauses.append)
    small = sorted(log.folder(STREAM).glob("*.parquet"))
    leftovers = [path.name for path in log.folder(STREAM).iterdir() if path not in small]

    [repeat, new] = UserActor(log, TickingClock(), lambda _: Policy()).execute(STREAM, [turn("t0"), turn("last")])

    assert (True, False) == (repeat.duplicate, new.duplicate)
    assert ([], 2) == (pauses, files.counts()["names"])
    assert [str(path) for path in small] == [path for path in files.paths("read") if path.endswith(".parquet")]
    assert all(name.startswith(".tmp-") for name in leftovers)
    assert len(leftovers) <= KILLS
    assert len(turns(log)) > acknowledged


def turn(name: str) -> RecordTurn:
    return RecordTurn(id=f"id-{name}", turn_id=name, role="user", content=f"content of {name}")


def test_two_processes_in_turn(store: Store, log: FileLog) -> None:
    """The second goes on where the first was killed, the first's successor where the second was, and so on."""
    acknowledged: dict[str, int] = {}
    for round_, prefix in enumerate("abababab"):
        first = sum(name.startswith(prefix) for name in acknowledged)
        child = Child(store, prefix, first, 10_000)
        for _ in child.lines():
            if len(child.acknowledged) >= 5 + round_:
                break
        child.kill()
        acknowledged |= child.acknowledged

    found = turns(log)
    assert {name: [seq] for name, seq in acknowledged.items()} == {name: found.get(name) for name in acknowledged}
    assert {1} == {len(seqs) for seqs in found.values()}
    check_history(log.read(STREAM).events)
    assert verify(log).ok


@pytest.mark.parametrize("temporaries", ["", "named"])
def test_two_processes_at_once(store: Store, log: FileLog, temporaries: str) -> None:
    """Each loses to the other now and then; there is one history, with every turn of both in it once."""
    children = [Child(store, prefix, 0, 40, temporaries) for prefix in "ab"]
    codes = [child.finish() for child in children]

    found = turns(log)
    acknowledged = children[0].acknowledged | children[1].acknowledged
    assert ([0, 0], 80) == (codes, len(acknowledged))
    assert {name: [seq] for name, seq in acknowledged.items()} == found
    assert [set(), set()] == [child.duplicates for child in children]
    check_history(log.read(STREAM).events)
    assert verify(log).ok


def test_one_of_two_is_killed(store: Store, log: FileLog) -> None:
    """The other neither waits nor loses anything."""
    rng = random.Random(7)
    survivor, victim = Child(store, "a", 0, 40), Child(store, "b", 0, 10_000)
    for _ in victim.lines():
        if len(victim.acknowledged) >= 10:
            break
    spin(rng.uniform(0.0, 0.005))
    victim.kill()
    code = survivor.finish()

    found = turns(log)
    assert (0, 40, True) == (code, len(survivor.acknowledged), survivor.finished)
    acknowledged = survivor.acknowledged | victim.acknowledged
    assert {name: [seq] for name, seq in acknowledged.items()} == {name: found.get(name) for name in acknowledged}
    assert {1} == {len(seqs) for seqs in found.values()}
    check_history(log.read(STREAM).events)
    assert verify(log).ok
