"""The session window of seeds 1 and 3: when turn 21 arrives, the oldest 10 close."""

from pathlib import Path

import pytest
from clocks import START, TickingClock
from histories import line, open_memory, tell

from events.errors import InvalidInput
from events.policy import EpisodeRules, Policy, SessionRules
from memory_actors.ingest import ingest
from memory_actors.memory import Memory

QUIET = Policy(episodes=EpisodeRules(enabled=False))


def told(folder: Path, count: int, policy: Policy = QUIET) -> Memory:
    memory = open_memory(folder / "s", policy=policy, embedder="none")
    ingest(memory, [line(f"turn {number}", number) for number in range(1, count + 1)], wait=False)
    return memory


def spans(memory: Memory) -> list[tuple[int, int]]:
    return [(row.turn_start, row.turn_end) for row in memory.user("ann").as_of("now").episodes()]


def turns(memory: Memory) -> list[int]:
    return [row.turn for row in memory.user("ann").as_of("now").session()[1]]


@pytest.mark.parametrize(("count", "episodes", "first"), [(20, 0, 1), (21, 1, 11), (30, 1, 11), (31, 2, 21), (100, 8, 81), (250, 23, 231)])
def test_the_oldest_ten_close_when_more_than_twenty_are_open(tmp_path: Path, count: int, episodes: int, first: int) -> None:
    """100 turns: 8 episodes and a session of 81 to 100; 250 turns: 23 episodes."""
    memory = told(tmp_path, count)

    assert [(10 * number + 1, 10 * number + 10) for number in range(episodes)] == spans(memory)
    assert list(range(first, count + 1)) == turns(memory)


def test_conversations_have_windows_of_their_own(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s", embedder="none")
    ingest(memory, [line("x", number, conversation=name) for number in range(15) for name in ("one", "two")], wait=False)

    assert [] == spans(memory)


def test_the_end_of_a_conversation_closes_what_is_open(tmp_path: Path) -> None:
    """Once: a second end finds nothing open; and the turns go on counting afterwards."""
    memory = told(tmp_path, 23)
    memory.user("ann").end(note="all done")
    memory.user("ann").end()

    assert ([(1, 10), (11, 23)], []) == (spans(memory), turns(memory))

    tell(memory, "ann", "hello again", enriched=False)

    assert [24] == turns(memory)


def test_an_episode_happened_when_the_turn_that_closed_it_did(tmp_path: Path) -> None:
    """Not when an old conversation was read in."""
    memory = open_memory(tmp_path / "s", embedder="none", policy=QUIET)
    ingest(memory, [line("x", number, occurred_at=START - 1000 + number) for number in range(1, 22)], wait=False)
    [episode] = memory.user("ann").as_of("now").episodes()

    assert START - 1000 + 21 == episode.closed_at


def test_a_conversation_that_is_not_there_cannot_end(tmp_path: Path) -> None:
    """The ones that are there are named, and nothing is written."""
    memory = told(tmp_path, 1)

    with pytest.raises(InvalidInput, match="no conversation 'other'; there are: main"):
        memory.user("ann").end("other")

    assert 1 == len(memory.log.read(memory.user("ann").stream).rows)


def test_a_window_that_keeps_all_closes_one_turn_at_a_time(tmp_path: Path) -> None:
    memory = told(tmp_path, 5, Policy(session=SessionRules(window=3, keep=3), episodes=EpisodeRules(enabled=False)))

    assert [(1, 1), (2, 2)] == spans(memory)


def test_a_session_as_of_the_past_is_the_session_of_the_past(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s", embedder="none", clock=TickingClock(), policy=QUIET)
    seqs = tell(memory, "ann", *(f"turn {number}" for number in range(1, 32)), enriched=False)

    assert list(range(1, 21)) == [row.turn for row in memory.user("ann").as_of(f"@{seqs[19]}").session()[1]]
