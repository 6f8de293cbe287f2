"""The process of a UserActor is killed while turns are recorded through it: nothing acknowledged is lost, nothing is there twice."""

import os
import random
import signal
import threading
from collections.abc import Iterator

import pytest
from builders import ANN, turn
from remote import Writing, client

from events.log.file_log import FileLog
from events.log.store import Store
from events.log.verify import verify
from memory_actors.actors.writer import acks

TURNS = 60
KILLS = 3

pytestmark = pytest.mark.ray


@pytest.fixture
def writer(store: Store) -> Iterator[Writing]:
    """A writer on a Ray of our own."""
    writer = Writing(client(store, deadline=40, enrichers=0))
    yield writer
    writer.close()


def test_every_acknowledged_turn_survives_its_actor(
    writer: Writing,
    log: FileLog,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Three kills at seeded moments, from another thread, so that they fall within calls as well as between them."""
    seed = 20261121
    with capfd.disabled():
        print("seed", seed)
    points = sorted(random.Random(seed).sample(range(1, TURNS), KILLS))
    killed: list[int] = []
    acknowledged = {}

    for number in range(TURNS):
        if number in points:
            killed.append(pid_of(writer))
            killer = threading.Thread(target=os.kill, args=(killed[-1], signal.SIGKILL))
            killer.start()
        command = turn(number)
        [acknowledged[command.turn_id]] = acks(writer.execute(ANN, [command]))
        if number in points:
            killer.join()

    events = [event for event in log.read(ANN).events if event.type == "TurnRecorded"]
    assert list(acknowledged) == [event.data.turn_id for event in events]
    assert [ack.first for ack in acknowledged.values()] == [event.seq for event in events]
    assert KILLS == len(set(killed))
    assert pid_of(writer) not in killed
    assert verify(log).ok
    assert "" == capfd.readouterr().out


def pid_of(writer: Writing) -> int:
    """The process of the actor that is there now, or will be in a moment."""
    import ray
    from ray.exceptions import RayActorError

    while True:
        try:
            return ray.get(writer.client.actor("user", ANN).pid.remote(), timeout=40)
        except RayActorError:
            continue
