"""Backfills that were interrupted anywhere, and background work where nobody does it but the caller."""

from pathlib import Path
from typing import Any

import pytest
from histories import SMALL, line, open_memory

from events.commands import Command
from events.envelope import Envelope
from events.errors import InvalidInput
from events.ids import StreamId
from events.log import Reading
from events.vocabulary import FactAsserted, TurnEmbedded, TurnRecorded
from memory_actors.ingest import carry_out, check, enrich, ingest, nothing
from memory_actors.memory import Memory

SAID = ("I live in Porto.", "I am vegetarian.", "yes", "My name is Alex.", "I work as a nurse.", "no", "I have a cat.")
LINES = [line(text, number, occurred_at=10**15 + number * 10**9) for number, text in enumerate(SAID)]


class Killed(BaseException):
    """The end of a process."""


class Dying:
    """A writer whose process ends when it has carried out so many commands."""

    def __init__(self, memory: Memory, after: int) -> None:
        self._writer, self._left = memory.writer, after

    def execute(self, stream: StreamId, commands: list[Command]) -> list[Any]:
        done, self._left = commands[: self._left], self._left - len(commands)
        replies = self._writer.execute(stream, done) if done else []
        if self._left < 0:
            raise Killed
        return replies

    def close(self) -> None:
        self._writer.close()


def opened(path: Path, **given: Any) -> Memory:
    return open_memory(path, policy=SMALL, **given)


def meant(events: list[Envelope]) -> tuple[list[Any], list[Any]]:
    """The facts and the vectors, by the words that they were made of."""
    turns = {event.seq: event.data.content for event in events if isinstance(event.data, TurnRecorded)}
    facts = [
        (event.data.value, [turns[source.seq] for source in event.sources], event.recorded_at)
        for event in events
        if isinstance(event.data, FactAsserted)
    ]
    vectors = [
        (turns[event.data.turn_seq], event.data.kinds, event.vector.tolist(), event.recorded_at)
        for event in events
        if isinstance(event.data, TurnEmbedded) and event.vector is not None
    ]
    return facts, vectors


def whole(memory: Memory, stream: StreamId) -> list[Envelope]:
    return list(memory.log.read(stream).events)


def backfilled(path: Path, after: int | None = None) -> list[Envelope]:
    """What a task leaves that is tried again after its process ended when so many commands had been carried out."""
    memory = opened(path)
    [fresh] = check(memory, LINES, as_recorded=True)
    if after is not None:
        dying = opened(path)
        dying.writer = Dying(dying, after)
        with pytest.raises(Killed):
            carry_out(dying, fresh, as_recorded=True, wait=True)
    carry_out(memory, fresh, as_recorded=True, wait=True)
    return whole(memory, fresh.stream)


@pytest.mark.parametrize("after", range(1, 2 * len(SAID)))
def test_a_backfill_that_ended_anywhere_and_is_tried_again_gives_what_one_run_gives(tmp_path: Path, after: int) -> None:
    """Every fact and every vector, of the words of its own turn, at its time. Also between a turn and its work."""
    expected = backfilled(tmp_path / "one")
    actual = backfilled(tmp_path / "other", after)

    assert len(SAID) == len(meant(expected)[1])
    assert meant(expected) == meant(actual)
    assert [True] == list({event.imported_at is not None for event in actual})


def test_a_second_try_that_finds_all_done_adds_nothing(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    [fresh] = check(memory, LINES, as_recorded=True)
    carry_out(memory, fresh, as_recorded=True, wait=False)
    before = memory.log.read(fresh.stream).tail
    carry_out(memory, fresh, as_recorded=True, wait=False)

    assert before == memory.log.read(fresh.stream).tail


class Nobody:
    """Background work on a Ray that has no enrichers."""

    def drain(self, stream: StreamId) -> None:
        raise InvalidInput("nobody is there to do it")

    def wrote(self, stream: StreamId) -> None:
        """Nothing."""

    def close(self, *, finish: bool = True) -> None:
        """Nothing."""


def test_without_enrichers_an_ingest_does_the_work_itself(tmp_path: Path) -> None:
    """With its own embedder and the same writer; and so does `enrich`."""
    memory = opened(tmp_path, enrichers=0)
    memory.ray, memory.background = "auto", Nobody()
    told: list[tuple[str, int]] = []
    ingest(memory, LINES[:2], progress=lambda *done: told.append(done))

    assert [("recorded", 2), ("enriched", 2)] == [one for one in told if one[1]]
    ingest(memory, LINES, wait=False)
    enrich(memory, memory.user("ann").stream)
    assert len(SAID) == len(meant(whole(memory, memory.user("ann").stream))[1])


def test_to_learn_that_nothing_is_due_no_vectors_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An actor is asked only where something is due."""
    memory = opened(tmp_path)
    ingest(memory, LINES)
    memory.ray, memory.background = "auto", Nobody()
    read, asked = memory.log.read, []

    def reading(*given: Any, vectors: bool = True) -> Reading:
        asked.append(vectors)
        return read(*given, vectors=vectors)

    monkeypatch.setattr(memory.log, "read", reading)
    enrich(memory, memory.user("ann").stream, nothing)

    assert [False] == asked
