"""Many users: a hundred with an actor each, and twenty thousand over a pool of two; what each costs in memory."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest
from measure import report

from events.log.verify import verify
from memory_actors.memory import Memory
from memory_actors.settings import Settings

ACTIVE = 100
MANY = int(os.environ.get("MANY_USERS", "20000"))
THREADS = 16

pytestmark = [pytest.mark.benchmark, pytest.mark.ray, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(3600)]


def own_bytes(pid: int) -> int:
    """Its proportional share of the memory it uses."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def actors(memory: Memory) -> dict[str, int]:
    """The processes of all actors, by name."""
    import ray

    from memory_actors.cluster.directory import named_actors

    found = named_actors(memory.projections._asks._home.namespace)
    return {name: ray.get(actor.pid.remote()) for name, actor in found}


def test_a_hundred_active_users(tmp_path: Path) -> None:
    """Each in an actor of its own: recorded, read back, and what an active user takes."""
    settings = Settings(user_actors=ACTIVE, recalls="never", deadline=300)
    with Memory(tmp_path / "store", ray="local", embedder="none", settings=settings) as memory, ThreadPoolExecutor(THREADS) as threads:
        begun = perf_counter()
        list(threads.map(lambda n: memory.user(f"u{n}").record("user", f"I live in Porto, number {n}.", id="m1"), range(ACTIVE)))
        active = perf_counter() - begun
        begun = perf_counter()
        list(threads.map(lambda n: memory.user(f"u{n}").record("user", f"I am vegetarian, number {n}.", id="m2"), range(ACTIVE)))
        again = perf_counter() - begun
        found = list(threads.map(lambda n: [fact.value for fact in memory.user(f"u{n}").facts()], range(ACTIVE)))
        sizes = [own_bytes(pid) for name, pid in actors(memory).items() if name.startswith("user:")]

        assert ["Porto", "vegetarian"] in [sorted(values, key=str.lower) for values in found]
        assert ACTIVE == len(sizes)
        assert verify(memory.log).ok
    rows = [
        ("activated and recorded", f"{ACTIVE / active:.0f} a second"),
        ("recorded again", f"{ACTIVE / again:.0f} a second"),
        ("an active user's actor", f"{sum(sizes) / len(sizes) / 1e6:.0f} MB (proportional set size)"),
    ]
    report(f"{ACTIVE} users, an actor each", __file__, ("", "measured"), rows, "aim: all there, each in its own actor")


def test_twenty_thousand_users_over_a_pool_of_two(tmp_path: Path) -> None:
    """Recorded and read back; what a user whose turn is over takes."""
    settings = Settings(placement="pool:2", recalls="never", enrichers=0, deadline=300, streams=MANY)
    with Memory(tmp_path / "store", ray="local", embedder="none", settings=settings) as memory, ThreadPoolExecutor(THREADS) as threads:
        for n in range(THREADS):
            memory.user(f"warm{n}").record("user", "hello")
        before = sum(own_bytes(pid) for name, pid in actors(memory).items() if name.startswith("pool:"))
        begun = perf_counter()
        acks = list(threads.map(lambda n: memory.user(f"u{n}").record("user", f"I live in Porto, number {n}.", id="m1"), range(MANY)))
        recorded = perf_counter() - begun
        held = sum(own_bytes(pid) for name, pid in actors(memory).items() if name.startswith("pool:")) - before
        begun = perf_counter()
        read = list(threads.map(lambda n: memory.user(f"u{n}").session()[1][0].content, range(MANY)))
        taken = perf_counter() - begun

        assert [1] * MANY == [ack.seq for ack in acks]
        assert [f"I live in Porto, number {n}." for n in range(MANY)] == read
    rows = [
        ("recorded", f"{MANY / recorded:.0f} a second"),
        ("read back", f"{MANY / taken:.0f} a second"),
        ("a user whose state is held", f"{held / MANY / 1e3:.1f} kB"),
    ]
    report(f"{MANY:,} users over pool:2", __file__, ("", "measured"), rows, "aim: all recorded, all read back")
