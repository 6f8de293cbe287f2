"""How fast a stream is read, verified and folded: from files, from memory, and by a peer."""

from pathlib import Path

import pytest
from builders import ANN, BOB
from measure import interleaved, report, seconds
from peers import Peer

from events.ambient import SystemClock, new_id
from events.commands import RecordTurn
from events.deciding.state import State, evolve
from events.envelope import Envelope
from events.ids import StreamId
from events.log import Log
from events.log.file_log import FileLog
from events.log.memory_log import MemoryLog
from events.log.store import create_store
from events.policy import Policy
from memory_actors.actors.user_actor import UserActor
from projections.view import StreamView

EVENTS, ONE_BY_ONE, ROUNDS = 20_000, 500, 7
CONTENT = "I moved to Lisbon in March, and I am still vegetarian. Please keep answers short, and use metric units."

pytestmark = pytest.mark.benchmark


def turns(log: Log, stream: StreamId, events: int, at_once: int) -> None:
    """That many events (turns, and the episodes that they close), in calls of `at_once` turns."""
    policy = Policy()
    actor = UserActor(log, SystemClock(), lambda _: policy)
    number = 0
    while (missing := events - actor.state(stream).seq) > 0:
        batch = range(number, number + min(at_once, missing))
        actor.execute(stream, [RecordTurn(id=new_id(), turn_id=f"t{one}", role="user", content=f"{one}: {CONTENT}") for one in batch])
        number += len(batch)


def folded(events: list[Envelope]) -> State:
    state = State()
    for event in events:
        evolve(state, event)
    return state


def test_replay(tmp_path: Path) -> None:
    """Events a second, of streams of the same length."""
    files, memory, peer = FileLog(create_store(tmp_path / "store")), MemoryLog(), Peer(tmp_path)
    turns(files, ANN, EVENTS, EVENTS)
    turns(files, BOB, ONE_BY_ONE, 1)
    turns(memory, ANN, EVENTS, EVENTS)
    peer.record_all([CONTENT] * EVENTS)
    events = files.read(ANN).events
    steps = {
        "files: read and verify the chain": lambda _: files.read(ANN),
        "files: and decode the payloads": lambda _: files.read(ANN).events,
        "files: and fold the writer's state": lambda _: folded(files.read(ANN).events),
        "files: and fold a reader's view (no index)": lambda _: StreamView(ANN, index=False, vectors=False).catch_up(files),
        "memory: read, decode, fold the state": lambda _: folded(memory.read(ANN).events),
        "fold of the state alone": lambda _: folded(events),
        "eventsourcing, SQLite: read and fold": lambda _: peer.replay(),
    }
    taken = interleaved(ROUNDS, steps, warm=1)
    one_by_one = interleaved(ROUNDS, {"": lambda _: folded(files.read(BOB).events)}, warm=1)[""]
    peer.close()
    speeds = {name: len(events) / value for name, value in taken.items()}
    theirs = speeds["eventsourcing, SQLite: read and fold"]
    rows = [(name, seconds(value), f"{speeds[name]:,.0f}", f"{speeds[name] / theirs:.2f}") for name, value in taken.items()]
    few = len(files.read(BOB).rows)
    live = (
        f"files of one turn each, {few} events: and fold the state",
        seconds(one_by_one),
        f"{few / one_by_one:,.0f}",
        f"{few / one_by_one / theirs:.2f}",
    )
    report(
        f"a stream of {len(events):,} events in commits of 512",
        __file__,
        ("replay", "median", "events/s", "x eventsourcing"),
        [*rows, live],
    )
