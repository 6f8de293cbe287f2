"""The user's actor with its enricher: it is told of what is due, until it is not; and what a role is made of."""

import threading

import pytest
from builders import ANN, BOB, turn
from clocks import TickingClock

from events.commands import Enrich
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import Store
from events.policy import Policy
from memory_actors.actors.user_actor import UserActor
from memory_actors.actors.writer import acks

PATIENCE = 20.0


@pytest.fixture
def actor(log: FileLog, clock: TickingClock) -> UserActor:
    return UserActor(log, clock, lambda _: Policy())


def test_the_enricher_is_told_until_nothing_is_due(actor: UserActor) -> None:
    """At once, and again: an enricher may have died. What was done is not told any more."""
    from memory_actors.cluster.roles import Recorder

    told: list[StreamId] = []
    often = threading.Semaphore(0)

    def tell(stream: StreamId) -> None:
        told.append(stream)
        often.release()

    recorder = Recorder(actor, tell, seconds=0.001)
    acks(recorder.execute(ANN, [turn(1)]))
    for _ in range(5):
        assert often.acquire(timeout=PATIENCE)
    acks(recorder.execute(ANN, [Enrich(id="e", start=1, upto=1, basis_seq=1)]))

    assert {ANN} == set(told)
    assert not actor.is_due(ANN)
    assert {} == recorder._due


def test_what_comes_of_a_backfill_is_left_to_its_sender(actor: UserActor) -> None:
    """A live event in the middle would end it."""
    from memory_actors.cluster.roles import Recorder

    told: list[StreamId] = []
    recorder = Recorder(actor, told.append, seconds=1000)

    acks(recorder.execute(BOB, [turn(1, backfill=True, occurred_at=1)]))

    assert [] == told
    assert actor.is_due(BOB)


def test_a_store_that_was_replaced_is_not_taken_for_the_callers(store: Store) -> None:
    """It stands at the same path."""
    from events.errors import StoreNotHere
    from memory_actors.cluster.roles import Place
    from memory_actors.cluster.spec import Spec
    from memory_actors.settings import Settings

    spec = Spec(str(store.path), "another", Settings(), None, "none")

    with pytest.raises(StoreNotHere, match="another store"):
        Place(spec, asks=None)


@pytest.mark.parametrize(
    ("memory", "expected"), [(24 << 30, 92), (1 << 20, 1), (280_000_000, 1), (560_000_000, 2)], ids=["24 GiB", "1 MiB", "280 MB", "560 MB"]
)
def test_a_quarter_of_the_memory_has_room_for_actors(memory: int, expected: int) -> None:
    """At 70 MB each; one in any case."""
    from memory_actors.cluster.machine import memory_bytes, room_for_actors

    assert expected == room_for_actors(memory)
    assert memory_bytes() > 100_000_000
