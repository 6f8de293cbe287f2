"""What Ray adds: to a recorded turn, in units of an empty call to an actor of the same shape; to a batch, against one in this process."""

from pathlib import Path

import pytest
from builders import ANN, BOB
from measure import interleaved, report, seconds
from remote import Writing, client

from events.ambient import SystemClock, new_id
from events.commands import RecordTurn
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import create_store
from events.policy import Policy
from memory_actors.actors.user_actor import Ack, UserActor
from memory_actors.actors.writer import acks
from memory_actors.cluster.packing import packed, parts

CONTENT = "I moved to Lisbon in March, and I am still vegetarian. Please keep answers short, and use metric units."
ROUNDS = 200
BATCH, BATCHES = 1000, 12

pytestmark = [pytest.mark.benchmark, pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


def turn(number: int) -> RecordTurn:
    return RecordTurn(id=new_id(), turn_id=f"t{number}", role="user", content=CONTENT)


def test_a_turn_through_ray(tmp_path: Path) -> None:
    """The call less the record in process: aim at most two empty calls."""
    import ray

    reply = packed([Ack(1, 1, first=1)])

    class Empty:
        """Takes what a user's actor takes, gives what it gives, and does nothing. (Local, so that Ray sends it by value.)"""

        def call(self, method: str, *parts: bytes) -> bytes:
            return reply

    store, policy = create_store(tmp_path / "store"), Policy()
    inline = UserActor(FileLog(store), SystemClock(), lambda _: policy)
    writer = Writing(client(store, enrichers=0))
    try:
        empty = ray.remote(num_cpus=0)(Empty).remote()
        steps = {
            "empty call": lambda number: ray.get(empty.call.remote("execute", *parts(packed((ANN, [turn(number)]))))),
            "recorded in process": lambda number: inline.execute(ANN, [turn(number)]),
            "recorded through Ray": lambda number: acks(writer.execute(BOB, [turn(number)])),
        }
        taken = interleaved(ROUNDS, steps, warm=20)
    finally:
        writer.close()
    call, added = taken["empty call"], taken["recorded through Ray"] - taken["recorded in process"]
    rows = [(name, seconds(value), f"{value / call:.2f}") for name, value in taken.items()]
    report(
        f"{ROUNDS} turns of {len(CONTENT)} characters; Ray {ray.__version__}, local",
        __file__,
        ("one turn", "median", "x empty call"),
        rows,
        f"aim: Ray adds at most 2 empty calls to a recorded turn; here {added / call:.2f} ({seconds(max(added, 0.0))})",
    )


def test_a_batch_through_a_pool(tmp_path: Path) -> None:
    """A thousand turns of a new user at once, through `pool:2` and in this process."""
    store, policy = create_store(tmp_path / "store"), Policy()
    inline = UserActor(FileLog(store), SystemClock(), lambda _: policy)
    writer = Writing(client(store, placement="pool:2", enrichers=0))
    turns = [turn(number) for number in range(BATCH)]
    try:
        steps = {
            "in process": lambda number: inline.execute(StreamId("here", f"u{number}"), turns),
            "through pool:2": lambda number: acks(writer.execute(StreamId("there", f"u{number}"), turns)),
        }
        taken = interleaved(BATCHES, steps, warm=3)
    finally:
        writer.close()
    here, there = taken["in process"], taken["through pool:2"]
    rows = [(name, seconds(value), f"{BATCH / value:,.0f}", f"{value / here:.2f}") for name, value in taken.items()]
    report(
        f"{BATCHES} batches of {BATCH} turns of {len(CONTENT)} characters, each of a new user",
        __file__,
        ("a batch", "median", "turns a second", "x in process"),
        rows,
        f"Ray adds {seconds(there - here)} to a batch",
    )
