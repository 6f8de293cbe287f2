"""Load on a memory, from this process and from another: turns recorded through the public face, and what was acknowledged.

Each turn has an id of its own and is repeated with it until it is acknowledged; every acknowledgement is kept, with when it
was asked for and when it came. What is repeated for ever never comes to an end, so that a test fails by its own deadline.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from events.errors import Busy, ClusterUnavailable, OutcomeUnknown
from memory_actors.memory import Memory
from memory_actors.settings import Settings
from memory_actors.user import User

ROOT = Path(__file__).parents[2]
REPEATED = (Busy, OutcomeUnknown, ClusterUnavailable)
PACE_SECONDS = 0.05
"""Between two turns of one thread: streams stay short, for each turn is a file until it is sealed."""
PATIENCE_SECONDS = 90.0
POLL_SECONDS = 0.02
THREADS = 2
READ_EVERY = 10
"""So often a thread reads what it has just written, so that the actors that serve reads are there, too."""
Given = TypeVar("Given")


class Turn(NamedTuple):
    """An acknowledged turn: its seq, and when it was first asked for and acknowledged (seconds, monotonic)."""

    seq: int
    asked: float
    acknowledged: float


def settings(**given: object) -> Settings:
    """A memory over actors that may live on any node, and that records nothing but what it is told."""
    return Settings(**{"shared": True, "recalls": "never", "embedder": "none", "deadline": 60.0, "wait_seconds": 0.0, **given})


def wait_until(there: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Polls; an AssertionError that says what did not come about."""
    ends = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < ends, f"not within {seconds:.0f} s: {what}"
        threading.Event().wait(POLL_SECONDS)


class Load:
    """Threads that record turns of these users, and read them back, from entering to leaving. `errors`: what was answered by repeating."""

    def __init__(self, memory: Memory, users: Sequence[str], prefix: str = "", threads: int = THREADS) -> None:
        self.users = list(users)
        self.acknowledged: dict[str, dict[str, Turn]] = {user: {} for user in users}
        self.reads = 0
        self.errors: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self._memory = memory
        self._changed = threading.Condition()
        self._ending = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._busy = 0
        names = [(user, f"{prefix}{number}") for user in users for number in range(threads)]
        self._threads = [threading.Thread(target=self._run, args=given, daemon=True) for given in names]

    def _run(self, user: str, name: str) -> None:
        handle, number = self._memory.user(user), 0
        try:
            while not self._ending.wait(PACE_SECONDS):
                self._going.wait()
                with self._at_work():
                    self._record(handle, user, f"{name}-{number}")
                    if number % READ_EVERY == 0:
                        self._read_back(handle, user, f"{name}-{number}")
                number += 1
        except BaseException as error:  # a thread's error would be seen by nobody
            with self._changed:
                self.failures.append(error)
                self._changed.notify_all()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._changed:
            self._busy += 1
        try:
            yield
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Nothing is asked for meanwhile, and all that was has been answered."""
        self._going.clear()
        try:
            with self._changed:
                assert self._changed.wait_for(lambda: self._busy == 0, PATIENCE_SECONDS)
            yield
        finally:
            self._going.set()

    def _record(self, handle: User, user: str, turn: str) -> None:
        asked = time.monotonic()
        ack = self._repeated(lambda: handle.record("user", f"content of {turn}", id=turn))
        with self._changed:
            self.acknowledged[user][turn] = Turn(ack.first, asked, time.monotonic())
            self._changed.notify_all()

    def _read_back(self, handle: User, user: str, turn: str) -> None:
        """Through whichever actor serves reads now: it shows what was acknowledged before it was asked."""
        found = self._repeated(lambda: handle.recall(turn, k=1))
        assert found.basis.seq >= self.acknowledged[user][turn].seq
        self.reads += 1

    def _repeated(self, call: Callable[[], Given]) -> Given:
        while True:
            try:
                return call()
            except REPEATED as error:
                self.errors[type(error).__name__] += 1

    def wait(self, users: Sequence[str] | None = None, *, since: float = 0.0, count: int = 2) -> None:
        """Until each of these users has so many turns that were asked for after `since` and have been acknowledged."""
        wanted = self.users if users is None else users

        def behind() -> list[str]:
            return [user for user in wanted if sum(turn.asked > since for turn in self.acknowledged[user].values()) < count]

        with self._changed:
            self._changed.wait_for(lambda: self.failures or not behind(), PATIENCE_SECONDS)
            assert [] == self.failures
            assert [] == behind()

    def last(self, user: str) -> int:
        """The highest seq that was acknowledged for the user."""
        return max(turn.seq for turn in list(self.acknowledged[user].values()))

    def gap(self, user: str, since: float, until: float) -> float:
        """The longest time without an acknowledgement of the user's, among those that end between the two moments."""
        moments = sorted(turn.acknowledged for turn in list(self.acknowledged[user].values()))
        return max((later - earlier for earlier, later in pairwise(moments) if since <= later <= until), default=0.0)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS if error is None else 0.0)
        assert error is not None or not any(thread.is_alive() for thread in self._threads)


class Driver:
    """The same load from a process of its own, which can be frozen: then nobody repeats what it has asked for."""

    def __init__(self, store: Path, address: str, users: Sequence[str], prefix: str) -> None:
        arguments = [sys.executable, "-W", "ignore", str(Path(__file__)), str(store), address, prefix, *users]
        paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
        )
        self.asked: dict[str, dict[str, float]] = {user: {} for user in users}
        self.acknowledged: dict[str, dict[str, int]] = {user: {} for user in users}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            match line.split():
                case ["asks", user, turn]:
                    self.asked[user][turn] = time.monotonic()
                case ["acknowledged", user, turn, seq]:
                    self.acknowledged[user][turn] = int(seq)

    def outstanding(self, user: str) -> set[str]:
        """Turns that it has asked for, and has no answer to."""
        return set(self.asked[user]) - set(self.acknowledged[user])

    def wait(self, count: int = 1) -> None:
        """Until each user has so many acknowledged turns more than now."""
        before = {user: len(turns) for user, turns in self.acknowledged.items()}
        wait_until(
            lambda: all(len(turns) >= before[user] + count for user, turns in self.acknowledged.items()),
            "acknowledgements of the other driver",
        )

    def finish(self) -> None:
        """Let it end its turns, and read all that it says."""
        self.process.stdin.close()
        self._reader.join(PATIENCE_SECONDS)
        assert 0 == self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """SIGKILL, frozen or not."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


# -- the other driver's own process


class Told(Load):
    """A load that says what it asks for, and what was acknowledged."""

    def _record(self, handle: User, user: str, turn: str) -> None:
        say(f"asks {user} {turn}")
        super()._record(handle, user, turn)
        say(f"acknowledged {user} {turn} {self.acknowledged[user][turn].seq}")


def say(line: str) -> None:
    """One write a line: threads say these."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main(store: str, address: str, prefix: str, *users: str) -> None:
    """Record until stdin ends."""
    with Memory(store, ray=address, settings=settings()) as memory, Told(memory, users, prefix) as load:
        sys.stdin.read()
    assert [] == load.failures


if __name__ == "__main__":
    main(*sys.argv[1:])
