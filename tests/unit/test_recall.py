"""Recall through a memory: turns, facts and episodes for a query; filters; what is missing or pending is said."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from clocks import START
from embedders import HashedStems
from histories import DAY, SMALL, line, open_memory, tell

from events.errors import InvalidInput, ModelMissing
from events.policy import Policy, RecallRules
from memory_actors.ingest import ingest
from memory_actors.memory import Memory
from memory_actors.models.embedder import SentenceTransformerEmbedder
from memory_actors.user import Reads


def told(path: Path, **given: object) -> Memory:
    memory = open_memory(path / "s", **given)
    tell(memory, "ann", "I live in Porto.", "The boats left the harbour.", "We chose a database for the turbines.")
    tell(memory, "ann", "Good, the database is fast.", role="assistant")
    tell(memory, "ann", "My database is old", conversation="work", speaker="Ben")
    return memory


def asked(memory: Memory) -> Reads:
    return memory.user("ann").as_of("now")


def test_the_turn_that_the_query_is_about_comes_first(tmp_path: Path) -> None:
    found = asked(told(tmp_path)).recall("boats in the harbour", k=2)

    assert ("The boats left the harbour.", 2, 2) == (found.hits[0].content, found.hits[0].turn, len(found))
    assert found.hits[0].score > found.hits[1].score
    assert found.hits[0].legs
    assert [hit.seq for hit in found] == [hit.seq for hit in found.hits]


def test_facts_that_the_query_names_are_found(tmp_path: Path) -> None:
    """By their key's other names, too."""
    found = asked(told(tmp_path)).recall("what is my city?")

    assert ["Porto"] == [hit.fact.value for hit in found.facts]


def test_episodes_whose_summaries_resemble_the_query_are_found(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s", policy=SMALL)
    tell(memory, "ann", *(f"The boats left the harbour, number {n}" for n in range(4)), *(f"database turbine {n}" for n in range(4)))

    assert "boats" in asked(memory).recall("boats harbour").episodes[0].episode.summary


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"conversation": "work"}, {"My database is old"}),
        ({"role": "assistant"}, {"Good, the database is fast."}),
        ({"speaker": "Ben"}, {"My database is old"}),
        ({"channel": "none"}, set()),
        ({"since": "2200-01-01"}, set()),
        ({"until": datetime(2020, 1, 1, tzinfo=UTC)}, set()),
        ({"role": "user", "conversation": "main", "speaker": "Ben"}, set()),
    ],
)
def test_filters_bound_what_may_be_recalled(tmp_path: Path, filters: dict, expected: set[str]) -> None:
    assert expected == {hit.content for hit in asked(told(tmp_path)).recall("database", **filters).hits}


def test_times_of_filters_are_half_open(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s")
    ingest(memory, [line(f"database {n}", n, occurred_at=START + n * DAY) for n in range(4)])
    found = asked(memory).recall("database", since=START + DAY, until=START + 3 * DAY)

    assert {"database 1", "database 2"} == {hit.content for hit in found.hits}


@pytest.mark.parametrize("filters", [{"nonsense": 1}, {"role": 3}, {"since": "soon"}, {"since": datetime(2026, 1, 1)}])  # noqa: DTZ001
def test_a_filter_that_is_none_is_an_error_that_says_so(tmp_path: Path, filters: dict) -> None:
    with pytest.raises(InvalidInput):
        asked(told(tmp_path)).recall("database", **filters)


@pytest.mark.parametrize("query", ["", "  \n", "half \udc00"])
def test_a_query_must_be_text(tmp_path: Path, query: str) -> None:
    with pytest.raises(InvalidInput):
        asked(told(tmp_path)).recall(query)


@pytest.mark.parametrize("k", [0, -1, 1001])
def test_k_has_bounds(tmp_path: Path, k: int) -> None:
    with pytest.raises(InvalidInput, match="k is 1 to 1000"):
        asked(told(tmp_path)).recall("database", k=k)


def test_a_weight_of_no_signal_is_an_error_that_names_it(tmp_path: Path) -> None:
    memory = told(tmp_path, policy=Policy(recall=RecallRules(weights={"nonsense": 1.0})))

    with pytest.raises(InvalidInput, match="nonsense"):
        asked(memory).recall("database")


def test_more_hits_than_turns_are_all_turns(tmp_path: Path) -> None:
    assert 5 == len(asked(told(tmp_path)).recall("database", k=1000))


def test_without_an_embedder_the_dense_leg_is_said_to_be_missing(tmp_path: Path) -> None:
    """And the rest is served."""
    found = asked(told(tmp_path, embedder="none")).recall("boats")

    assert (("dense",), "The boats left the harbour.") == (found.missing, found.hits[0].content)
    assert not any("cosine" in leg or "dense" in leg for hit in found.hits for leg in hit.legs)


def test_with_vectors_no_leg_is_missing_and_the_answer_is_exact(tmp_path: Path) -> None:
    found = asked(told(tmp_path)).recall("boats")

    assert ((), True, 0) == (found.missing, found.exact, found.pending)


@pytest.mark.parametrize("other", [HashedStems(model="another"), HashedStems(model="another", dimensions=16), HashedStems(dimensions=16)])
def test_vectors_of_another_model_are_not_compared(tmp_path: Path, other: HashedStems) -> None:
    """Nor do they spoil the stream: it reads as before, and the old model finds what it found."""
    memory = told(tmp_path)
    before = asked(memory).recall("boats").hits
    changed = open_memory(tmp_path / "s", embedder=other)
    tell(changed, "ann", "More boats, of another model")
    memory = open_memory(tmp_path / "s")

    assert "The boats left the harbour." in {hit.content for hit in asked(changed).recall("boats").hits}
    assert before[0].seq in {hit.seq for hit in asked(memory).recall("boats").hits}
    assert other.model == memory.embedder.model or ("dense",) == asked(changed).recall("boats").missing


def test_turns_that_are_not_enriched_are_found_and_counted_as_pending(tmp_path: Path) -> None:
    memory = told(tmp_path)
    tell(memory, "ann", "A new boat", "and one more", enriched=False)
    found = asked(memory).recall("boat")

    assert (2, True) == (found.pending, "A new boat" in {hit.content for hit in found.hits})


def test_a_model_that_is_not_there_is_an_error_where_it_is_needed(tmp_path: Path) -> None:
    told(tmp_path)
    memory = open_memory(tmp_path / "s", embedder=_missing())

    assert ["Porto"] == [fact.value for fact in asked(memory).facts()]
    with pytest.raises(ModelMissing, match="/nonexistent"):
        asked(memory).recall("boats")


def _missing() -> SentenceTransformerEmbedder:
    missing = SentenceTransformerEmbedder("/nonexistent")
    missing.__class__ = type("Renamed", (SentenceTransformerEmbedder,), {"model": HashedStems().model})
    return missing
