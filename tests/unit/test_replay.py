"""The same observations under another policy: the same policy gives the same memory, and the store is not touched."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders import erase
from clocks import TickingClock
from embedders import HashedStems
from histories import BACKFILLS, DAY, QUERIES, SMALL, STEPS, Life, Step, demo_store, open_memory, tell
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.deciding.fact_slots import FactRules
from events.errors import InvalidInput
from events.policy import EpisodeRules, Policy, RecallRules, SessionRules, TopicRules
from memory_actors import demo
from memory_actors.actors.enricher import is_due
from memory_actors.extraction import PatternExtractor
from memory_actors.memory import Memory
from memory_actors.reads.reading import Reader
from memory_actors.replay import Replay, Replayed, folded, reader, replay
from memory_actors.user import Reads
from projections.basis import Basis
from projections.index.weights import WEIGHTS


def shown(reads: Reader, recorded: Mapping[int, int]) -> dict[str, Any]:
    """All that a reader shows, ids of its own log aside. `recorded`: what the log that was replayed calls its turns."""
    rows = reads.facts(everything=True)
    return {
        "facts": sorted(
            (f.subject, f.category, f.key, f.value, f.confidence, f.importance, f.status, str((f.valid_from, f.valid_to))) for f in rows
        ),
        "episodes": [(e.conversation, e.turn_start, e.turn_end, e.title, e.summary, e.topics, e.closed_at) for e in reads.episodes()],
        "topics": [
            (t.title, t.priority, t.half_life_days, t.accesses, t.importance, t.last_active, t.forgotten, [recorded[n] for n in t.turns])
            for t in reads.topics(everything=True)
        ],
        "session": [turn.turn_id for turn in reads.session()[1]],
        "pending": reads.view.pending(reads.basis.seq),
        "recalled": [recalled(reads, query, recorded) for query in QUERIES],
    }


def recalled(reads: Reader, query: str, recorded: Mapping[int, int]) -> tuple[Any, ...]:
    """What is recalled, to the bit."""
    found = reads.recall(query)
    hits = [(recorded[hit.seq], hit.score, hit.legs) for hit in found.hits]
    facts = sorted((hit.fact.key, hit.fact.value, hit.score) for hit in found.facts)
    return hits, facts, [(hit.episode.title, hit.episode.turn_end, hit.score) for hit in found.episodes], found.missing


def lived(folder: str, backfill: list[tuple[str, int]], steps: list[Step]) -> Memory:
    clock = TickingClock()
    memory = open_memory(Path(folder) / "s", policy=SMALL, clock=clock)
    life = Life(memory, clock)
    life.backfill(backfill)
    for step in [("say", "main", ("user", None), "I live in Porto.", None), *steps] if not backfill else steps:
        life.step(step)
    return memory


@settings(max_examples=25, deadline=None)
@given(backfill=BACKFILLS, steps=STEPS, part=st.floats(0, 1))
@example(
    backfill=(), steps=[("say", "main", ("user", None), "My name is Alex.", None), ("enrich",), ("correct", "Maya"), ("enrich",)], part=1
)
@example(backfill=(), steps=[("say", "main", ("user", None), "I am vegetarian.", None), ("forget", "where I live"), ("enrich",)], part=1)
def test_an_unchanged_policy_gives_the_same_memory(backfill: list[tuple[str, int]], steps: list[Step], part: float) -> None:
    """Facts, episodes, topics with their priorities, and what is recalled by what scores: of generated lives, at any moment.

    Background work ran when it ran, and may be pending.
    """
    with tempfile.TemporaryDirectory() as folder:
        memory = lived(folder, backfill, steps)
        stream = memory.user("ann").stream
        events = memory.log.read(stream).events
        at = events[int(part * (len(events) - 1))].recorded_at
        events = [event for event in events if event.recorded_at <= at]
        live, again = folded(stream, events), Replay(events, stream, SMALL, PatternExtractor(), HashedStems())
        again.run(finish=not is_due(live, SMALL))

        same = {turn: turn for turn in again.recorded.values()}
        now = at + 3 * DAY
        assert shown(reader(live, SMALL, now, HashedStems()), same) == shown(reader(again.view, SMALL, now, HashedStems()), again.recorded)
        basis = Basis(len(events), now, final=False)
        assert not replay(events, stream, SMALL, SMALL, basis=basis, queries=QUERIES, embedder=HashedStems())


@settings(max_examples=8, deadline=None)
@given(steps=STEPS)
def test_a_handle_replays_what_it_reads(steps: list[Step]) -> None:
    """Now and as of a moment."""
    with tempfile.TemporaryDirectory() as folder:
        memory = lived(folder, [], steps)
        for time in ("now", "@1", "2025-12-01"):
            found = memory.user("ann").as_of(time).replay(SMALL, queries=QUERIES)

            assert not found, found


@pytest.mark.model
def test_an_unchanged_policy_gives_no_difference_for_the_demo_conversation() -> None:
    """Which was backfilled with the real model; the replay calls none."""
    memory = Memory(demo_store(), embedder="none")
    found = memory.user(demo.USER).as_of("now").replay(Policy(), queries=["Where does she live?"])

    assert not found, found
    assert f"policy {Policy().hash}" == found.difference.before == found.difference.after


def told(path: Path, embedder: Any = None) -> Reads:
    memory = open_memory(path / "s", policy=SMALL, embedder=embedder)
    tell(memory, "ann", "I live in Porto.", "Call me Al.", *(f"boats {n}" for n in range(3)), *(f"database {n}" for n in range(3)))
    return memory.user("ann").as_of("now")


APART = Policy(session=SMALL.session, topics=TopicRules(limit=2, similarity=0.8), episodes=SMALL.episodes)
SUBJECTS = ("boats in the harbour", "database queries", "green tea")


def spread(path: Path) -> Memory:
    """A turn a month, each about something else and in a conversation of its own."""
    clock = TickingClock()
    memory = open_memory(path / "s", policy=APART, clock=clock)
    for content in SUBJECTS:
        tell(memory, "ann", content, conversation=content)
        clock.set(clock.now() + 30 * DAY)
    return memory


def small(**rules: Any) -> Policy:
    """The policy of the store, but for these."""
    return Policy(**{"session": SMALL.session, "topics": SMALL.topics, "episodes": SMALL.episodes, **rules})


def lists(found: Replayed) -> dict[str, bool]:
    """In which kinds there is a difference."""
    facts, episodes, topics = found.difference.facts, found.difference.episodes, found.difference.topics
    return {
        "facts": bool(facts.gained or facts.lost or facts.changed),
        "episodes": bool(episodes.gained or episodes.lost),
        "topics": bool(topics.gained or topics.lost or found.topics),
        "rankings": any(found.rankings),
    }


NOTHING = {"facts": False, "episodes": False, "topics": False, "rankings": False}

# -- windows


def test_another_window_gives_other_episodes(tmp_path: Path) -> None:
    reads = told(tmp_path)
    before = [event.digest for event in reads.events()]
    found = reads.replay(small(session=SessionRules(window=6, keep=2)))

    assert NOTHING | {"episodes": True} == lists(found)
    assert ["main, turns 1-4"] == [row["id"] for row in found.difference.episodes.gained]
    assert ["main, turns 1-2", "main, turns 3-4"] == [row["id"] for row in found.difference.episodes.lost]
    assert all(row["title"] for row in found.difference.episodes.gained)
    assert before == [event.digest for event in reads.events()]


def test_a_policy_without_summaries_ends(tmp_path: Path) -> None:
    """There is nothing due that is switched off; where they are switched on, all are made."""
    assert not told(tmp_path).replay(small(episodes=EpisodeRules(enabled=False)))
    off = small(episodes=EpisodeRules(enabled=False))
    memory = open_memory(tmp_path / "off", policy=off)
    tell(memory, "ann", *(f"boats {n}" for n in range(7)))
    stream = memory.user("ann").stream
    again = Replay(memory.log.read(stream).events, stream, SMALL, PatternExtractor())

    assert ["", ""] == [row.title for row in memory.user("ann").episodes()]
    assert all(row.title for row in again.run(finish=True).episodes.view(10**9))


# -- thresholds


def test_a_higher_threshold_loses_facts(tmp_path: Path) -> None:
    found = told(tmp_path).replay(small(facts=FactRules(store_confidence=1.0)))

    assert NOTHING | {"facts": True} == lists(found)
    assert ["Porto"] == [row.value for row in found.difference.facts.lost]


def test_a_lower_threshold_believes_what_was_pending(tmp_path: Path) -> None:
    found = told(tmp_path).replay(small(facts=FactRules(pending=False)))

    assert ["Al"] == [row.value for row in found.difference.facts.gained]


def test_a_higher_similarity_gives_more_topics(tmp_path: Path) -> None:
    """From the vectors that were recorded, of all turns that joined nothing."""
    found = told(tmp_path).replay(small(topics=TopicRules(similarity=1.0)))

    assert NOTHING | {"topics": True} == lists(found)
    assert {"boats 1", "boats 2"} <= {row["title"] for row in found.difference.topics.gained}


# -- decay


def test_a_longer_half_life_gives_other_priorities(tmp_path: Path) -> None:
    """Of the same topics, by the formula of seed 4: importance .5, 30 days after its one turn."""
    memory = spread(tmp_path)
    policy = small(topics=TopicRules(limit=2, similarity=0.8, base_half_life_days=30.0))
    found = memory.user("ann").as_of("2025-12-30").replay(policy)
    [boats] = found.topics

    assert NOTHING | {"topics": True} == lists(found)
    assert ("boats in the harbour", 1.0, 30.0) == (boats.after.title, boats.before.half_life_days, boats.after.half_life_days)
    assert (pytest.approx(0.5**31, abs=1e-12), pytest.approx(0.25)) == (
        boats.before.priority,
        boats.after.priority,
    )


def test_a_longer_half_life_forgets_less(tmp_path: Path) -> None:
    """What was forgotten because it had faded is still there where it fades slower."""
    found = spread(tmp_path).user("ann").as_of("now").replay(small(topics=TopicRules(limit=2, similarity=0.8, base_half_life_days=30.0)))

    assert NOTHING | {"topics": True} == lists(found)
    assert list(SUBJECTS[:2]) == sorted(row["title"] for row in found.difference.topics.gained)


# -- weights


def test_other_weights_rank_otherwise(tmp_path: Path) -> None:
    """The newest first, if nothing else counts; everything else is as it was."""
    weights = dict.fromkeys(WEIGHTS, 0.0) | {"recency": 1.0}
    found = (
        spread(tmp_path)
        .user("ann")
        .as_of("now")
        .replay(small(topics=APART.topics, recall=RecallRules(weights=weights)), queries=["harbour boats", "tea"])
    )
    boats, tea = found.rankings

    assert NOTHING | {"rankings": True} == lists(found)
    assert ("harbour boats", "tea", ()) == (boats.query, tea.query, boats.missing)
    assert list(SUBJECTS[::-1]) == [turn.content for turn in boats.turns]
    assert [1, 2, 3] == [turn.after.rank for turn in boats.turns if turn.after]
    assert 1 == next(turn.before.rank for turn in boats.turns if turn.before and turn.content == SUBJECTS[0])
    assert (1, 1) == (tea.turns[0].before and tea.turns[0].before.rank, tea.turns[0].after and tea.turns[0].after.rank)


def test_a_weight_of_no_signal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'fame'"):
        told(tmp_path).replay(small(recall=RecallRules(weights={"fame": 1.0})))


def test_events_without_their_vectors_are_refused(tmp_path: Path) -> None:
    """Else all topics would seem to be lost."""
    reads = told(tmp_path)
    events = [msgspec.structs.replace(event, vector=None) for event in reads.events()]
    with pytest.raises(ValueError, match="vectors"):
        replay(events, reads.stream, SMALL, SMALL, basis=Basis(len(events), 0, final=False))


def test_fewer_turns_recalled_are_lost_turns(tmp_path: Path) -> None:
    """Turns are named by their seqs in the log."""
    reads = told(tmp_path)
    [found] = reads.replay(small(recall=RecallRules(k=2)), queries=["boats"]).rankings
    lost = [turn for turn in found.turns if turn.after is None]

    assert found
    assert 6 == len(lost)
    assert all(turn.content == reads.reader().view.turns.get(turn.turn).content for turn in found.turns)


def test_without_queries_no_model_is_called(tmp_path: Path) -> None:
    """With queries, each is embedded once, and summaries that were never made before."""
    embedder = HashedStems()
    reads = told(tmp_path, embedder)
    embedder.calls.clear()
    reads.replay(small(session=SessionRules(window=6, keep=2)))

    assert [] == embedder.calls
    reads.replay(SMALL, queries=["boats", "Porto"])

    assert [1, 1] == embedder.calls


def test_without_an_embedder_the_dense_leg_is_missing(tmp_path: Path) -> None:
    told(tmp_path)
    memory = open_memory(tmp_path / "s", policy=SMALL, embedder="none")
    [found] = memory.user("ann").as_of("now").replay(SMALL, queries=["boats"]).rankings

    assert ("dense",) == found.missing
    assert not found
    assert found.turns


# -- moments


def test_replay_of_the_past_is_of_what_was_known_then(tmp_path: Path) -> None:
    """What was pending then stays pending."""
    memory = told(tmp_path)._memory
    early = memory.user("ann").as_of("@1").replay(small(facts=FactRules(store_confidence=1.0)))
    [enriched, *_] = [event.seq for event in memory.user("ann").events() if event.type == "TurnsEnriched"]
    late = memory.user("ann").as_of(f"@{enriched}").replay(small(facts=FactRules(store_confidence=1.0)))

    assert not early
    assert (1, 1) == (early.basis.seq, len(late.difference.facts.lost))
    assert (True, False) == (early.basis.final, memory.user("ann").as_of("now").replay(SMALL).basis.final)


def test_what_was_erased_is_not_replayed(tmp_path: Path) -> None:
    """The events begin at the floor; what came after it is the same on both sides."""
    memory = open_memory(tmp_path / "s", policy=SMALL)
    tell(memory, "ann", "I live in Porto.", "Call me Al.")
    erase(memory.log, memory.user("ann").stream)
    again = open_memory(tmp_path / "s", policy=SMALL)
    tell(again, "ann", "I live in Lisbon.", "boats")
    reads = again.user("ann").as_of("now")

    assert ["Lisbon"] == [row.value for row in reads.facts()]
    assert not reads.replay(SMALL, queries=QUERIES)
    assert ["Lisbon"] == [row.value for row in reads.replay(small(facts=FactRules(store_confidence=1.0))).difference.facts.lost]
