"""The same observations under another policy: the same policy gives the same memory, and the store is not touched."""

import tempfile
from pathlib import Path

import pytest
from clocks import TickingClock
from histories import BACKFILLS, SMALL, STEPS, Life, Step, demo_store, open_memory, tell
from hypothesis import example, given, settings

from events.deciding.fact_slots import FactRules
from events.policy import EpisodeRules, Policy, SessionRules, TopicRules
from memory_actors import demo
from memory_actors.memory import Memory
from memory_actors.user import Reads


def settled(steps: list[Step]) -> list[Step]:
    """Steps between which background work is done: then what was decided cannot hang on when it ran."""
    return [one for step in steps for one in (step, ("enrich",)) if one != ("enrich",) or step[0] == "say"]


@settings(max_examples=12, deadline=None)
@given(backfill=BACKFILLS, steps=STEPS)
@example(backfill=(), steps=[("say", "main", ("user", None), "My name is Alex.", None), ("enrich",), ("correct", "Maya"), ("enrich",)])
def test_an_unchanged_policy_gives_no_difference(backfill: list[tuple[str, int]], steps: list[Step]) -> None:
    """For generated histories, with what was forgotten and put right in them."""
    with tempfile.TemporaryDirectory() as folder:
        clock = TickingClock()
        memory = open_memory(Path(folder) / "s", policy=SMALL, clock=clock)
        life = Life(memory, clock)
        life.backfill(backfill)
        for step in settled([("say", "main", ("user", None), "I live in Porto.", None), *steps] if not backfill else steps):
            life.step(step)
        found = memory.user("ann").as_of("now").replay(SMALL)

        assert not found, found


@pytest.mark.model
def test_an_unchanged_policy_gives_no_difference_for_the_demo_conversation() -> None:
    """Which was backfilled with the real model; the replay calls none."""
    memory = Memory(demo_store(), embedder="none")
    found = memory.user(demo.USER).as_of("now").replay(Policy())

    assert not found, found
    assert f"policy {Policy().hash}" == found.before == found.after


def told(path: Path) -> Reads:
    memory = open_memory(path / "s", policy=SMALL)
    tell(
        memory, "ann", "I live in Porto.", "I might be vegetarian.", *(f"boats {n}" for n in range(3)), *(f"database {n}" for n in range(3))
    )
    return memory.user("ann").as_of("now")


def test_another_window_gives_other_episodes(tmp_path: Path) -> None:
    reads = told(tmp_path)
    before = [event.digest for event in reads.events()]
    found = reads.replay(Policy(session=SessionRules(window=6, keep=2), topics=SMALL.topics))

    assert found
    assert ["main, turns 1-4"] == [row["id"] for row in found.episodes.gained]
    assert ["main, turns 1-2", "main, turns 3-4"] == [row["id"] for row in found.episodes.lost]
    assert before == [event.digest for event in reads.events()]


def test_a_higher_threshold_loses_facts(tmp_path: Path) -> None:
    found = told(tmp_path).replay(Policy(session=SMALL.session, topics=SMALL.topics, facts=FactRules(store_confidence=1.0)))

    assert ["Porto"] == [row.value for row in found.facts.lost]


def test_a_higher_similarity_gives_more_topics(tmp_path: Path) -> None:
    """From the vectors that were recorded, of all turns that joined nothing."""
    found = told(tmp_path).replay(Policy(session=SMALL.session, topics=TopicRules(similarity=1.0)))

    assert {"boats 1", "boats 2"} <= {row["title"] for row in found.topics.gained}


def test_a_policy_without_summaries_ends(tmp_path: Path) -> None:
    """There is nothing due that is switched off."""
    found = told(tmp_path).replay(Policy(session=SMALL.session, topics=SMALL.topics, episodes=EpisodeRules(enabled=False)))

    assert not found


def test_replay_of_the_past_is_of_what_was_known_then(tmp_path: Path) -> None:
    reads = told(tmp_path)
    found = reads._memory.user("ann").as_of("@1").replay(SMALL)

    assert ["Porto"] == [row.value for row in found.facts.gained]
    assert () == found.episodes.gained
