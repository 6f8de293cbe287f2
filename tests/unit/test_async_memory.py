"""The face for asyncio has the members of the other one, and several callers at once do not meet in one view."""

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from events.errors import InvalidInput, UnknownUser
from events.log.verify import verify
from memory_actors.actors.user_actor import Ack
from memory_actors.async_memory import AsyncMemory, AsyncReads, AsyncUser
from memory_actors.memory import Memory
from memory_actors.settings import Settings
from memory_actors.user import Reads, User


class Flat:
    """An embedder for which all texts mean the same."""

    model = "flat"

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts), 4), np.int16)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def members(face: type) -> set[str]:
    return {name for name in dir(face) if not name.startswith("_")}


def parameters(called: object) -> list[tuple[str, object, object]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(called).parameters.values()]


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns a thousand times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize(("sync", "other"), [(Memory, AsyncMemory), (Reads, AsyncReads), (User, AsyncUser)])
def test_both_faces_have_the_same_members(sync: type, other: type) -> None:
    """And these have the same parameters, with the same defaults."""
    assert members(sync) == members(other)
    for name in members(sync):
        one, two = getattr(sync, name), getattr(other, name)
        if not isinstance(one, property):
            assert parameters(one) == parameters(two), name
            assert two.__doc__, name


def test_both_memories_are_made_alike() -> None:
    """The constructor takes what the other one takes."""
    assert parameters(Memory) == parameters(AsyncMemory)


def test_a_turn_is_recorded_and_read_as_of_before(tmp_path: Path) -> None:
    """The same acknowledgement, the same answers; a handle on the past is had without waiting, and reads with it."""

    async def scenario() -> None:
        async with AsyncMemory(tmp_path, embedder="none") as memory:
            ann = memory.user("ann")
            assert isinstance(await ann.record("user", "I live in Porto.", id="m1"), Ack)
            assert (await ann.record("user", "I live in Porto.", id="m1")).duplicate
            assert ["Porto"] == [fact.value for fact in await ann.facts()]
            await ann.record("user", "I moved to Lisbon.", id="m2")
            assert ["Porto"] == [fact.value for fact in await ann.as_of("@3").facts()]
            assert type(ann.as_of("now")) is AsyncReads
            assert ["ann"] == await memory.users()
            assert await ann.begins is None
            with pytest.raises(UnknownUser, match="ann"):
                await memory.user("anm").facts()

    asyncio.run(scenario())


def test_a_memory_is_opened_by_await_too_and_errors_come_early(tmp_path: Path) -> None:
    """Not opened is said at once, and so is a moment in no known format."""

    async def scenario() -> None:
        with pytest.raises(InvalidInput, match="not open"):
            AsyncMemory(tmp_path).user("ann")
        memory = await AsyncMemory(tmp_path, embedder="none")
        with pytest.raises(InvalidInput, match="yesteryear"):
            memory.user("ann").as_of("yesteryear")
        await memory.close()

    asyncio.run(scenario())


@pytest.mark.usefixtures("often")
def test_many_at_once_over_one_user(tmp_path: Path) -> None:
    """Readers, writers and background work at once: every answer is whole, every turn is there once, the chain verifies."""

    async def write(memory: AsyncMemory, number: int) -> None:
        await memory.user("ann").record("user", f"I like tea number {number}.", id=f"m{number}")

    async def read(memory: AsyncMemory) -> None:
        ann = memory.user("ann")
        found = await ann.recall("which tea do I like?")
        assert [hit.seq for hit in found] == sorted({hit.seq for hit in found}, key=[hit.seq for hit in found].index)
        assert {row.seq for row in (await ann.session())[1]} <= {event.seq for event in await ann.events()}
        await ann.context("tea")
        await ann.diff("@1", "now")

    async def scenario() -> None:
        async with AsyncMemory(tmp_path, embedder=Flat(), settings=Settings(wait_seconds=0.01)) as memory:
            await write(memory, 0)
            await asyncio.gather(*(write(memory, number) if number % 2 else read(memory) for number in range(1, 41)))

    asyncio.run(scenario())

    with Memory(tmp_path, embedder="none") as memory:
        turns = [event.data.turn_id for event in memory.user("ann").events() if event.type == "TurnRecorded"]
        assert sorted(turns) == sorted(f"m{number}" for number in (0, *range(1, 41, 2)))
        assert not verify(memory.log).problems


def test_turns_are_recorded_in_the_order_in_which_they_were_said(tmp_path: Path) -> None:
    """Fifty at once, over two handles of one user: the threads that carry them do not scramble the conversation."""

    async def talk() -> list[str]:
        async with AsyncMemory(tmp_path / "s", embedder="none") as memory:
            handles = memory.user("ann"), memory.user("ann")
            await asyncio.gather(*(handles[n % 2].record("user", f"note {n}", id=f"n{n}") for n in range(50)))
            return [event.data.content async for event in _each(await memory.user("ann").events()) if event.type == "TurnRecorded"]

    assert [f"note {n}" for n in range(50)] == asyncio.run(talk())


async def _each(events: Iterator[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event
