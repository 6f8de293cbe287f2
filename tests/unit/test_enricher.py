"""Background work: in order, once, in batches; what fails is recorded, tried three times, and then gone without."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from embedders import HashedStems
from histories import SMALL, line, open_memory, tell

from events.candidates import Candidate
from events.commands import Enrich, ReportFailure
from events.errors import ModelMissing
from events.policy import EpisodeRules, Policy, SessionRules
from memory_actors.actors.enricher import ATTEMPTS, BATCH, Enricher, is_due
from memory_actors.actors.writer import acks
from memory_actors.extraction import PatternExtractor
from memory_actors.ingest import enrich, ingest
from memory_actors.memory import Memory


class Failing:
    """The pattern extractor, which raises for turns that hold a word."""

    name = "failing-1"

    def __init__(self, word: str, times: int = -1) -> None:
        self.word, self.times, self.calls = word, times, 0

    def extract(self, text: str, **given: Any) -> list[Candidate]:
        if self.word in text and self.times != self.calls:
            self.calls += 1
            raise ValueError("no JSON in the answer \udc00")
        return PatternExtractor().extract(text, **given)


def opened(path: Path, *, extractor: Any = None, embedder: Any = None, policy: Policy = SMALL) -> Memory:
    memory = open_memory(path / "s", policy=policy, embedder=embedder)
    memory.enricher = Enricher(memory.embedder, extractor or PatternExtractor(), lambda _: policy)
    return memory


def kinds(memory: Memory, *wanted: str) -> list[str]:
    found = [event.type for event in memory.user("ann").as_of("now").events()]
    return [kind for kind in found if not wanted or kind in wanted]


def values(memory: Memory) -> list[str]:
    return sorted(fact.value for fact in memory.user("ann").as_of("now").facts())


def test_what_is_derived_stands_in_the_order_of_the_turns(tmp_path: Path) -> None:
    """Vector, topic, facts, turn by turn, and then what is covered."""
    memory = opened(tmp_path)
    tell(memory, "ann", "I live in Porto.", "My name is Alex.")

    expected = ["TurnEmbedded", "TopicStarted", "FactAsserted", "TurnEmbedded", "TopicAssigned", "FactAsserted"]
    assert ["TurnRecorded", "TurnRecorded", *expected, "TurnsEnriched"] == kinds(memory)
    assert 0 == memory.user("ann").as_of("now").reader().view.pending(99)


def test_only_turns_of_users_are_read_for_facts(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    tell(memory, "ann", "I live in Porto.", role="assistant")

    assert [] == values(memory)


def test_an_extractor_that_raises_once_leaves_one_failure_and_loses_nothing(tmp_path: Path) -> None:
    memory = opened(tmp_path, extractor=Failing("Porto", times=1))
    tell(memory, "ann", "I live in Porto.")

    assert ["EnrichmentFailed", "TurnsEnriched"] == kinds(memory, "EnrichmentFailed", "TurnsEnriched")
    assert ["Porto"] == values(memory)


def test_an_extractor_that_keeps_raising_loses_its_turn_only(tmp_path: Path) -> None:
    """Three failures stay in the log; the turn keeps its vector, the others keep everything."""
    memory = opened(tmp_path, extractor=Failing("Porto"))
    tell(memory, "ann", "My name is Alex.", "I live in Porto.", "I am vegetarian.")
    failures = [event.data for event in memory.user("ann").as_of("now").events() if event.type == "EnrichmentFailed"]

    assert [1, 2, 3] == [failure.attempt for failure in failures]
    assert all(
        "no JSON in the answer" in failure.error and (failure.start, failure.upto) == (1, 3 + n) for n, failure in enumerate(failures)
    )
    assert (["Alex", "vegetarian"], 3) == (values(memory), len(kinds(memory, "TurnEmbedded")))
    assert not is_due(memory.user("ann").as_of("now").reader().view, Policy())


def test_an_embedder_that_keeps_raising_leaves_turns_without_vectors(tmp_path: Path) -> None:
    """Facts are there all the same; once it works, later turns have vectors again."""
    embedder = HashedStems(failing=-1)
    memory = opened(tmp_path, embedder=embedder)
    tell(memory, "ann", "I live in Porto.")

    assert (["Porto"], 3, 0) == (values(memory), len(kinds(memory, "EnrichmentFailed")), len(kinds(memory, "TurnEmbedded")))

    embedder.failing = 0
    tell(memory, "ann", "My name is Alex.")

    assert 1 == len(kinds(memory, "TurnEmbedded"))


def test_summaries_that_keep_failing_do_not_cost_the_turns_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay due, and are made when the next turn comes and they can be."""
    from memory_actors.models import summariser

    memory = opened(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(summariser, "_title", lambda *_: 1 / 0)
        tell(memory, "ann", *(f"turn {n}" for n in range(5)))
        tell(memory, "ann", "I live in Porto.")

        assert [""] == [row.summary for row in memory.user("ann").as_of("now").episodes()]
        assert (["Porto"], 6) == (values(memory), len(kinds(memory, "TurnEmbedded")))

    tell(memory, "ann", "another")

    assert all(row.summary for row in memory.user("ann").as_of("now").episodes())


def test_a_missing_model_is_an_error_and_no_dead_letter(tmp_path: Path) -> None:
    """The turns stay pending until it is there."""

    class Missing(HashedStems):
        def embed(self, texts: Any) -> Any:
            raise ModelMissing("not here")

    memory = opened(tmp_path, embedder=Missing())
    tell(memory, "ann", "I live in Porto.", enriched=False)

    with pytest.raises(ModelMissing):
        enrich(memory, memory.user("ann").stream)
    assert ["TurnRecorded"] == kinds(memory)


def test_more_turns_than_a_batch_are_taken_in_order(tmp_path: Path) -> None:
    """As batches of 64, each embedded at once, with the summaries of what had closed by its last turn."""
    embedder = HashedStems()
    memory = opened(tmp_path, embedder=embedder, policy=Policy(session=SessionRules(window=20, keep=10)))
    ingest(memory, [line(f"turn {n}", n) for n in range(150)])
    covered = [event.data for event in memory.user("ann").as_of("now").events() if event.type == "TurnsEnriched"]
    turns = [event.seq for event in memory.user("ann").as_of("now").events() if event.type == "TurnRecorded"]

    assert [(turns[0], turns[BATCH - 1]), (turns[BATCH - 1] + 1, turns[2 * BATCH - 1])] == [(one.start, one.upto) for one in covered[:2]]
    assert [1, *(one.upto + 1 for one in covered[:-1])] == [one.start for one in covered]
    assert [BATCH, BATCH, 150 - 2 * BATCH] == [calls for calls in embedder.calls if calls > 1]
    assert all(row.summary for row in memory.user("ann").as_of("now").episodes())


@pytest.mark.parametrize("failing", [0, -1])
def test_long_turns_are_taken_a_few_at_a_time(tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command goes to its actor in one call, which carries a few megabytes. One turn is taken in any case, however long."""
    monkeypatch.setattr("memory_actors.actors.enricher.BATCH_BYTES", 1000)
    memory = opened(tmp_path, embedder=HashedStems(failing=failing))
    tell(memory, "ann", *("x" * length for length in (400, 400, 2000, 10, 10)))
    events = list(memory.user("ann").as_of("now").events())
    turns = [event.seq for event in events if event.type == "TurnRecorded"]
    upto = [event.data.upto for event in events if event.type == "TurnsEnriched"]

    assert [2, 1, 2] == [sum(before < seq <= end for seq in turns) for before, end in itertools.pairwise([0, *upto[:3]])]
    assert 0 == memory.user("ann").as_of("now").reader().view.pending(99)


def test_work_beyond_what_a_command_carries_is_left_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of many dimensions, summaries of many episodes: one of each in any case, and all in the end."""
    monkeypatch.setattr("memory_actors.actors.enricher.WORK_BYTES", 1000)
    memory = opened(tmp_path, embedder=HashedStems(dimensions=400))
    monkeypatch.setattr(memory.enricher, "_policy", lambda _: Policy(session=SMALL.session, episodes=EpisodeRules(enabled=False)))
    tell(memory, "ann", *(f"turn {n}" for n in range(9)))

    assert 9 == len(kinds(memory, "TurnsEnriched"))
    monkeypatch.undo()
    monkeypatch.setattr("memory_actors.actors.enricher.WORK_BYTES", 1000)
    episodes = memory.user("ann").as_of("now").episodes()
    enrich(memory, memory.user("ann").stream)

    assert 9 + len(episodes) == len(kinds(memory, "TurnsEnriched"))
    assert 1 < len(episodes)
    assert all(row.summary for row in memory.user("ann").as_of("now").episodes())


def test_work_that_does_not_begin_where_the_last_ended_is_dropped(tmp_path: Path) -> None:
    """As when two do it at once."""
    memory = opened(tmp_path)
    tell(memory, "ann", "I live in Porto.", enriched=False)
    stream = memory.user("ann").stream
    command = memory.enricher.next(memory.user("ann").as_of("now").reader().view)
    assert isinstance(command, Enrich)
    acks(memory.writer.execute(stream, [command]))
    before = kinds(memory)
    import msgspec

    [ack] = acks(memory.writer.execute(stream, [msgspec.structs.replace(command, id="again")]))

    assert (0, before) == (ack.seq, kinds(memory))


@pytest.mark.parametrize("enabled", [True, False])
def test_when_all_is_done_nothing_is_due(tmp_path: Path, enabled: bool) -> None:
    """Also where summaries are switched off: nothing is due that would never be made."""
    policy = Policy(session=SMALL.session, episodes=EpisodeRules(enabled=enabled))
    memory = opened(tmp_path, policy=policy)
    tell(memory, "ann", *(f"turn {n}" for n in range(9)))
    view = memory.user("ann").as_of("now").reader().view

    assert memory.enricher.next(view) is None
    assert not is_due(view, policy)
    assert enabled == all(row.summary for row in memory.user("ann").as_of("now").episodes())


def test_without_an_embedder_there_are_facts_and_summaries_and_no_topics(tmp_path: Path) -> None:
    memory = opened(tmp_path, embedder="none")
    tell(memory, "ann", "I live in Porto.", *(f"turn {n}" for n in range(9)))

    assert (["Porto"], [], 0) == (values(memory), memory.user("ann").as_of("now").topics(), len(kinds(memory, "TurnEmbedded")))
    assert all(row.summary for row in memory.user("ann").as_of("now").episodes())


def test_a_backfill_goes_on_where_the_embedder_fails(tmp_path: Path) -> None:
    """The failures stand in the log, and the stream can still be backfilled."""
    memory = opened(tmp_path, embedder=HashedStems(failing=-1))
    lines = [line(f"I live in {place}.", n, occurred_at=10**15 + n) for n, place in enumerate(("Porto", "Faro"))]
    ingest(memory, lines, as_recorded=True)
    events = list(memory.user("ann").as_of("now").events())

    assert (ATTEMPTS, 2) == (len(kinds(memory, "EnrichmentFailed")), len(kinds(memory, "TurnRecorded")))
    assert all(event.imported_at is not None for event in events)
    assert ["Faro"] == values(memory)


def test_attempts_are_further_and_further_apart() -> None:
    """What is down for a moment should not use them all up."""
    from memory_actors.actors.enricher import back_off

    waits = [back_off(ReportFailure(id="x", start=1, upto=1, stage="enrich", error="e", attempt=n)) for n in range(1, ATTEMPTS + 1)]

    assert 0 < waits[0]
    assert [2.0, 2.0] == [later / sooner for sooner, later in itertools.pairwise(waits)]
