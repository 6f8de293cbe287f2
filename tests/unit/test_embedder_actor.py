"""One model for many: who waits shares a batch, who fails fails alone, and a queue has an end. The model is a gate, not a clock."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from embedders import HashedStems

from events.envelope import Vectors
from events.errors import Busy
from memory_actors.actors.embedder_actor import Batches, EmbedderActor

PATIENCE = 20.0


class Gate(HashedStems):
    """A model that begins, says so, and goes on when it may. A text with "bad" in it makes the batch fail."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may = threading.Semaphore(0), threading.Semaphore(0)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.begun.release()
        assert self.may.acquire(timeout=PATIENCE)
        if any("bad" in text for text in texts):
            raise ValueError("bad text")
        return super().embed(texts)


def queued(actor: EmbedderActor, count: int) -> None:
    """Until so many calls wait."""
    while len(actor._waiting) < count:
        threading.Event().wait(0.001)


@pytest.fixture
def gate() -> Gate:
    return Gate()


def ask(threads: ThreadPoolExecutor, gate: Gate, actor: EmbedderActor, *calls: list[str]) -> list[Future[Vectors]]:
    """The first call is with the model; the others wait in order."""
    futures = [threads.submit(actor.embed, calls[0])]
    assert gate.begun.acquire(timeout=PATIENCE)
    for number, call in enumerate(calls[1:], 1):
        futures.append(threads.submit(actor.embed, call))
        queued(actor, number)
    return futures


def test_who_waits_shares_a_batch(gate: Gate) -> None:
    """Each gets the vectors of its own texts."""
    actor = EmbedderActor(gate)
    with ThreadPoolExecutor(8) as threads:
        futures = ask(threads, gate, actor, ["one"], ["two", "three"], ["four"], ["five"])
        gate.may.release(2)
        found = [future.result(PATIENCE).tolist() for future in futures]

    alone = HashedStems()
    assert [alone.embed(texts).tolist() for texts in (["one"], ["two", "three"], ["four"], ["five"])] == found
    assert Batches(calls=4, batches=2, texts=5, largest=3) == actor.batches()


def test_a_text_that_fails_fails_for_its_caller_alone(gate: Gate) -> None:
    """The others of its batch are encoded one by one."""
    actor = EmbedderActor(gate)
    with ThreadPoolExecutor(8) as threads:
        futures = ask(threads, gate, actor, ["one"], ["two"], ["bad"], ["four"])
        gate.may.release(5)
        errors = [type(future.exception(PATIENCE)) for future in futures]

    assert [type(None), type(None), ValueError, type(None)] == errors


def test_a_queue_that_is_full_refuses(gate: Gate) -> None:
    """With when to come back; a lone caller may bring more than the bound."""
    actor = EmbedderActor(gate, bound=3)
    with ThreadPoolExecutor(8) as threads:
        futures = ask(threads, gate, actor, ["one"], ["a", "b"])
        with pytest.raises(Busy, match="2 texts are waiting"):
            actor.embed(["c", "d"])
        gate.may.release(3)
        for future in futures:
            future.result(PATIENCE)
        assert (5, 384) == actor.embed(["e"] * 5).shape


def test_a_caller_who_brings_much_is_not_cut(gate: Gate) -> None:
    """And those behind it come with the next batch."""
    actor = EmbedderActor(gate)
    with ThreadPoolExecutor(8) as threads:
        futures = ask(threads, gate, actor, ["one"], ["x"] * 300, ["two"])
        gate.may.release(3)
        shapes = [future.result(PATIENCE).shape for future in futures]

    assert [(1, 384), (300, 384), (1, 384)] == shapes
    assert 3 == actor.batches().batches
