"""What Ray adds to a recorded turn, in units of an empty call to an actor with the same payload."""

import pickle
from pathlib import Path

import pytest
from builders import ANN, BOB
from measure import interleaved, report, seconds

from events.ambient import SystemClock, new_id
from events.commands import RecordTurn
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import create_store
from events.policy import Policy
from memory_actors.actors.user_actor import Ack, UserActor
from memory_actors.settings import Settings

CONTENT = "I moved to Lisbon in March, and I am still vegetarian. Please keep answers short, and use metric units."
ROUNDS = 200

pytestmark = [pytest.mark.benchmark, pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


def turn(number: int) -> RecordTurn:
    return RecordTurn(id=new_id(), turn_id=f"t{number}", role="user", content=CONTENT)


def test_a_turn_through_ray(tmp_path: Path) -> None:
    """The call less the record in process: aim at most two empty calls."""
    import ray

    from memory_actors.actors.ray_writer import RayWriter

    class Empty:
        """Takes what a UserActor's actor takes, gives what it gives, and does nothing. (Local, so that Ray sends it by value.)"""

        def execute(self, stream: StreamId, *parts: bytes) -> list[Ack]:
            return [Ack(1, 1, first=1)]

    store, policy = create_store(tmp_path / "store"), Policy()
    inline = UserActor(FileLog(store), SystemClock(), lambda _: policy)
    writer = RayWriter("local", store, lambda _: policy, Settings(store=str(store.path)))
    try:
        empty = ray.remote(num_cpus=0)(Empty).remote()
        steps = {
            "empty call": lambda number: ray.get(empty.execute.remote(ANN, pickle.dumps([turn(number)]))),
            "recorded in process": lambda number: inline.execute(ANN, [turn(number)]),
            "recorded through Ray": lambda number: writer.execute(BOB, [turn(number)]),
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
