"""A cluster on one machine, under load, while actors, workers and whole nodes are killed, and machines are paused and woken.

Nothing that was acknowledged is lost, nothing is there twice, no stream forks; how long users waited is printed.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import Chaos, audit, known, turns
from loads import POLL_SECONDS, Driver, Load, settings, wait_until
from nodes import Nodes, is_there

from events.log.file_log import FileLog
from memory_actors.memory import Memory

SEED = 20261122
USERS = 3
NODE_EVERY = 5
"""Each fifth kill is a whole node's."""

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """Three of them, for all tests here."""
    with Nodes(3) as nodes:
        yield nodes


@pytest.fixture
def memory(nodes: Nodes, tmp_path: Path) -> Iterator[Memory]:
    """A memory on that cluster, whose actors may live on any node; they end with it."""
    memory = Memory(tmp_path / "store", ray=nodes.address, settings=settings())
    yield memory
    memory.close()
    nodes.end_actors()


def users(round_: int) -> list[str]:
    """New ones for each round, so that streams stay short."""
    return [f"u{round_}{number}" for number in range(USERS)]


def kills(nodes: Nodes, memory: Memory, count: int, capfd: pytest.CaptureFixture[str], round_: int = 0) -> list[str]:
    """So many faults at seeded moments under load; then the audit."""
    rng = random.Random(SEED + round_)
    with Load(memory, users(round_)) as load:
        load.wait()
        chaos = Chaos(nodes, load)
        for number in range(count):
            harm = chaos.kill_node if number % NODE_EVERY == NODE_EVERY - 2 else chaos.kill_actor
            harm(rng.randrange(1000))
    result = audit(memory.store.path, known(load))

    with capfd.disabled():
        print(f"\nseed {SEED + round_}, {result.acknowledged} turns acknowledged, {load.reads} reads, repeated after {dict(load.errors)}")
        print(chaos.table())
    assert result.clean, result
    assert count == len(chaos.faults)
    return [fault.kind for fault in chaos.faults]


def test_nothing_acknowledged_is_lost_or_doubled_by_kills(nodes: Nodes, memory: Memory, capfd: pytest.CaptureFixture[str]) -> None:
    """Four processes of actors and a whole node with all that is on it."""
    kinds = kills(nodes, memory, 5, capfd)

    assert 1 == kinds.count("whole node")


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(1, 6))
def test_nothing_is_lost_in_fifty_kills(nodes: Nodes, memory: Memory, capfd: pytest.CaptureFixture[str], round_: int) -> None:
    """Five rounds of ten: eight processes and two nodes each."""
    kinds = kills(nodes, memory, 10, capfd, round_)

    assert 2 == kinds.count("whole node")


class Paused:
    """One machine is paused, as a virtual one is: its raylet and its actors freeze, with calls of another driver in them.

    Its actors are made elsewhere and write. Then the old ones wake, before their raylet does: they carry out what they
    have been asked for, on a state that has been overtaken. Nobody else does, for the other driver is frozen meanwhile.
    With `race` the new ones are written to at the same time, and the old ones may never get a turn; else these do, for certain.
    """

    def __init__(self, nodes: Nodes, load: Load, driver: Driver, chaos: Chaos, log: FileLog, *, race: bool) -> None:
        self.race = race
        self.nodes, self.load, self.driver, self.chaos, self.log = nodes, load, driver, chaos, log
        self.node, self.victims = self._victims()
        self.asked: dict[str, set[str]] = {}
        self.overtaken: dict[str, int] = {}
        self.written = 0

    def _victims(self) -> tuple[str, dict[str, int]]:
        """The node with most users' actors, the drivers' own apart, and the processes of these."""
        while True:
            hosts = self.chaos.hosts()
            by_node = {node: {user: at.pid for user, at in hosts.items() if at.node == node} for node in self.nodes.others}
            node = max(by_node, key=lambda one: len(by_node[one]))
            if by_node[node]:
                return node, by_node[node]
            self.chaos.kill_actor(0, "user:")

    def run(self) -> None:
        """The whole story of one pause."""
        with self.chaos.measured("paused machine", list(self.victims)):
            self._pause()
        assert all(is_there(pid) for pid in self.victims.values())
        if self.race:
            self._wake_the_old()
            self.load.wait(since=time.monotonic(), count=5)
        else:
            with self.load.resting():
                self._wake_the_old()
                wait_until(lambda: all(self.late(user) for user in self.victims), "turns that only an old instance can write")
        self.written = sum(len(self.late(user)) for user in self.victims)
        self.nodes.thaw(self.driver.process.pid)
        self._wake_the_raylet()
        wait_until(self._is_answered, "answers to the other driver")
        self.nodes.kill(self.node)
        self.nodes.add()

    def _is_answered(self) -> bool:
        return not any(self.asked[user] & self.driver.outstanding(user) for user in self.victims)

    def _pause(self) -> None:
        for pid in self.victims.values():
            self.nodes.freeze(pid)
        self.nodes.freeze(self.nodes.raylet(self.node))
        frozen = time.monotonic()
        wait_until(lambda: all(self._has_sent(user, frozen) for user in self.victims), "calls of the other driver to the old actors")
        self.nodes.freeze(self.driver.process.pid)
        self.asked = {user: self.driver.outstanding(user) for user in self.victims}

    def _has_sent(self, user: str, frozen: float) -> bool:
        """Whether a turn that was asked for has had the time to reach the actor's process, which does not answer."""
        waited = [time.monotonic() - self.driver.asked[user][turn] for turn in self.driver.outstanding(user)]
        return bool(waited) and min(waited) > 10 * POLL_SECONDS and time.monotonic() > frozen + 10 * POLL_SECONDS

    def _wake_the_old(self) -> None:
        self.overtaken = {user: self.load.last(user) for user in self.victims}
        for pid in self.victims.values():
            self.nodes.thaw(pid)

    def late(self, user: str) -> list[str]:
        """Turns of the frozen driver's that came after what the new instance has acknowledged: the old one has written these."""
        found = turns(self.log, user)
        return [turn for turn in self.asked[user] if max(found.get(turn, [0])) > self.overtaken[user]]

    def _wake_the_raylet(self) -> None:
        """Both instances live on, and everybody writes."""
        self.nodes.thaw(self.nodes.raylet(self.node))
        self.load.wait(since=time.monotonic(), count=3)
        self.driver.wait()


def pauses(nodes: Nodes, memory: Memory, count: int, capfd: pytest.CaptureFixture[str], round_: int = 0) -> None:
    """So many pauses, one after another; then the audit."""
    driver = Driver(memory.store.path, nodes.address, users(round_), "other-")
    try:
        with Load(memory, users(round_)) as load:
            load.wait()
            driver.wait()
            chaos, written = Chaos(nodes, load), 0
            for number in range(count):
                paused = Paused(nodes, load, driver, chaos, memory.log, race=number % 2 == 1)
                paused.run()
                written += paused.written
        driver.finish()
    finally:
        driver.kill()
    result = audit(memory.store.path, known(load, driver))

    with capfd.disabled():
        print(f"\n{count} pauses, {result.acknowledged} turns acknowledged, {written} written by an instance that had been replaced")
        print(f"repeated after {dict(load.errors)}\n{chaos.table()}")
    assert result.clean, result
    assert written >= (count + 1) // 2


def test_two_live_instances_of_one_actor_never_fork_a_stream(nodes: Nodes, memory: Memory, capfd: pytest.CaptureFixture[str]) -> None:
    """A machine is paused until its actors have been made elsewhere, and woken."""
    pauses(nodes, memory, 1, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(1, 5))
def test_two_live_instances_never_fork_in_twenty_pauses(
    nodes: Nodes, memory: Memory, capfd: pytest.CaptureFixture[str], round_: int
) -> None:
    """Four rounds of five."""
    pauses(nodes, memory, 5, capfd, round_)
