"""Harm, what it cost, and the audit of the log afterwards: what was acknowledged against what is there."""

import signal
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from loads import Driver, Load, wait_until
from nodes import Nodes, Placed, send

from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import open_store
from events.log.verify import verify
from events.vocabulary import TurnRecorded


def user_actor(actor: Placed, user: str) -> bool:
    """Whether the actor is the user's own."""
    return actor.name.startswith("user:") and actor.name.endswith(f"user={user}")


class Fault(NamedTuple):
    """What was done to which users' actors, and how long these users were without an acknowledgement."""

    kind: str
    users: int
    gaps: tuple[float, ...]


class Chaos:
    """Does harm, waits until everybody who was harmed writes again, and keeps how long that took."""

    def __init__(self, nodes: Nodes, load: Load) -> None:
        self.faults: list[Fault] = []
        self._nodes, self._load = nodes, load

    def hosts(self) -> dict[str, Placed]:
        """Where each user's actor is, as far as Ray knows; waits until each has one."""
        found: dict[str, Placed] = {}

        def all_there() -> bool:
            actors = self._nodes.actors("user:")
            found.update((user, actor) for user in self._load.users for actor in actors if user_actor(actor, user))
            return len(found) == len(self._load.users)

        wait_until(all_there, "an actor for each user")
        return found

    def kill_actor(self, pick: int, *prefixes: str) -> None:
        """SIGKILL to the process of one of the actors that are there, of whatever kind, or of these."""
        actors = self._nodes.actors(*prefixes)
        victim = actors[pick % len(actors)]
        users = [user for user in self._load.users if user_actor(victim, user)]
        with self.measured(f"process of a {victim.name.partition(':')[0]} actor", users):
            send(victim.pid, signal.SIGKILL)

    def kill_node(self, pick: int) -> None:
        """A whole node at once, and a new one for it."""
        node = self._nodes.others[pick % len(self._nodes.others)]
        users = [user for user, actor in self.hosts().items() if actor.node == node]
        with self.measured("whole node", users):
            self._nodes.kill(node)
            self._nodes.add()

    def measured(self, kind: str, users: Sequence[str]) -> "Measured":
        """Around a fault that hits these users' actors."""
        return Measured(self, self._load, kind, users)

    def table(self) -> str:
        """What was done, how often, and how long the users whose actors it hit had no acknowledgement."""
        lines = [f"{'fault':34} {'count':>5} {'users hit':>9} {'median s':>9} {'longest s':>9}"]
        for kind in sorted({fault.kind for fault in self.faults}):
            faults = [fault for fault in self.faults if fault.kind == kind]
            gaps = [gap for fault in faults for gap in fault.gaps] or [0.0]
            hit = sum(fault.users for fault in faults)
            lines.append(f"{kind:34} {len(faults):5} {hit:9} {statistics.median(gaps):9.2f} {max(gaps):9.2f}")
        return "\n".join(lines)


class Measured:
    """Around a fault: on leaving, every user writes again, and the gaps of those who were hit are kept."""

    def __init__(self, chaos: Chaos, load: Load, kind: str, users: Sequence[str]) -> None:
        self._chaos, self._load, self._kind, self._users = chaos, load, kind, users
        self.began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._load.wait(since=self.began)
            gaps = tuple(self._load.gap(user, self.began, time.monotonic()) for user in self._users)
            self._chaos.faults.append(Fault(self._kind, len(self._users), gaps))


def turns(log: FileLog, user: str, space: str = "default") -> dict[str, list[int]]:
    """Where each turn of a user stands in the log."""
    found: dict[str, list[int]] = {}
    for event in log.read(StreamId(space, user)).events:
        if isinstance(event.data, TurnRecorded):
            found.setdefault(event.data.turn_id, []).append(event.seq)
    return found


class Audit(NamedTuple):
    """What the log says about what was acknowledged: turns that are missing, there twice, or not at the seq that was said."""

    acknowledged: int
    lost: list[str]
    doubled: list[str]
    elsewhere: list[str]
    problems: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether it is all as it was said, and every chain whole."""
        return not (self.lost or self.doubled or self.elsewhere or self.problems)


def audit(path: Path, acknowledged: Mapping[str, Mapping[str, int]]) -> Audit:
    """Compare the log, read afresh, with the seqs that were acknowledged, by user and turn."""
    log = FileLog(open_store(path))
    count, lost, doubled, elsewhere = 0, [], [], []
    for user, said in acknowledged.items():
        found = turns(log, user)
        count += len(said)
        lost += [f"{user} {turn}" for turn in said if turn not in found]
        doubled += [f"{user} {turn} {seqs}" for turn, seqs in found.items() if len(seqs) > 1]
        elsewhere += [f"{user} {turn} {seq} {found[turn]}" for turn, seq in said.items() if turn in found and seq not in found[turn]]
    return Audit(count, lost, doubled, elsewhere, tuple(str(problem) for problem in verify(log).problems))


def known(load: Load, *drivers: Driver) -> dict[str, dict[str, int]]:
    """All that was acknowledged, to whomever."""
    everything = {user: {turn: ack.seq for turn, ack in turns.items()} for user, turns in load.acknowledged.items()}
    for driver in drivers:
        for user, found in driver.acknowledged.items():
            everything[user] |= found
    return everything
