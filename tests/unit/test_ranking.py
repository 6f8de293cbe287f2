"""The turn index: what is found, what each leg says, and what a filter or a withdrawal takes away."""

from datetime import UTC, datetime

import numpy as np
import pytest

from projections.index.dense import quantised
from projections.index.ranking import Ranked, TurnFilter, TurnIndex
from projections.index.signals import SIGNALS

MINUTE = 60_000_000
DAY = 1_440 * MINUTE
MAY_8 = int(datetime(2023, 5, 8, tzinfo=UTC).timestamp()) * 1_000_000
TALK = (
    ("Anna", "user", "I moved to Lisbon in March with my dog."),
    ("Ben", "assistant", "How do you like the food there?"),
    ("Anna", "user", "The grilled sardines are great."),
    ("Ben", "assistant", "My sister lives in Porto."),
)


def _index(*, days: int = 0) -> TurnIndex:
    """Four turns at seqs 1 to 4, `days` or else a minute apart, and the vectors of the first three at 5 to 7."""
    index = TurnIndex()
    for place, (speaker, role, content) in enumerate(TALK):
        at = MAY_8 + place * (days * DAY or MINUTE)
        index.add(place + 1, conversation="c", turn=place + 1, role=role, speaker=speaker, content=content, occurred_at=at)
    for place, row in enumerate(_vectors(3)):
        index.embed(place + 5, place + 1, row[None], ("turn",))
    return index


def _vectors(count: int) -> np.ndarray:
    return quantised(np.random.default_rng(1).normal(size=(count, 16)))


def _found(index: TurnIndex, query: str, **options: object) -> list[Ranked]:
    return index.search(query, None, **({"seq": 100, "now": MAY_8 + DAY, "k": None} | options))  # type: ignore[arg-type]


def _leg(found: list[Ranked], name: str) -> dict[int, float]:
    return {one.seq: one.legs[name] for one in found if name in one.legs}


def test_the_turn_with_the_words_comes_first() -> None:
    """Without any vector the lexical legs rank, and the dense ones are absent."""
    found = _found(_index(), "Who moved to Lisbon?")

    assert found[0].seq == 1
    assert not any("dense" in one.legs for one in found)


def test_the_nearest_vector_comes_first_when_no_word_is_shared() -> None:
    """The dense leg alone decides; a turn not yet embedded is still a candidate."""
    found = _index().search("xyzzy", _vectors(3)[2], seq=100, now=MAY_8, weights={"dense": 1.0}, k=None)

    assert found[0] == Ranked(3, found[0].score, {"dense": found[0].score})
    assert found[0].score == pytest.approx(1.0, abs=1e-3)
    assert {one.seq for one in found} == {1, 2, 3, 4}


def test_a_turn_without_a_vector_gets_the_mean_of_the_others() -> None:
    """It is neither near nor far."""
    query = _vectors(4)[3]
    expected = float(np.mean((_vectors(3).astype(np.int64) @ query.astype(np.int64)) / 4094.0**2))

    found = _index().search("xyzzy", query, seq=100, now=MAY_8, weights={"dense": 1.0}, k=None)

    assert expected == pytest.approx(_leg(found, "dense")[4], abs=1e-9)


def test_the_score_is_the_sum_of_its_legs() -> None:
    """Up to the rounding of each."""
    for one in _index().search("What did Anna say of Lisbon?", _vectors(3)[1], seq=100, now=MAY_8, k=None):
        assert one.score == pytest.approx(sum(one.legs.values()), abs=1e-7)


def test_the_named_speaker_is_preferred() -> None:
    """Anna's turns have the speaker leg, Ben's have not; a name is no word to search for."""
    found = _found(_index(), "What does Anna eat?", weights={"speaker": 1.0})

    assert _leg(found, "speaker") == {1: 1.0, 3: 1.0}


def test_in_a_question_that_says_i_the_user_is_meant() -> None:
    """No name, first person: turns of the role `user`."""
    found = _found(_index(), "Where did I move?", weights={"speaker": 1.0})

    assert _leg(found, "speaker") == {1: 1.0, 3: 1.0}


def test_a_speaker_is_known_only_once_heard() -> None:
    """At seq 1 nobody is called Ben."""
    found = _found(_index(), "What about Ben, Anna?", seq=1, weights={"speaker": 1.0})

    assert _leg(found, "speaker") == {}


def test_neighbours_lend_their_words() -> None:
    """The answer shares no word with the question, but stands beside the turns that do."""
    found = _found(_index(), "What food is there in Lisbon?", weights={"window": 1.0})

    assert {one.seq for one in found if one.score > 0} == {1, 2, 3, 4}
    assert found[0].seq == 1


def test_turns_days_apart_are_no_neighbours() -> None:
    """The window leg holds the turn alone then."""
    found = _found(_index(days=1), "Lisbon", weights={"window": 1.0})

    assert [one.seq for one in found if one.score > 0] == [1]


def test_a_neighbour_not_yet_said_lends_nothing() -> None:
    """At seq 2 the words of turn 3 are unknown."""
    found = _found(_index(), "sardines", seq=2, weights={"window": 1.0})

    assert [one.score for one in found] == [0.0, 0.0]


def test_an_answer_inherits_the_question_before_it() -> None:
    """Turn 3 follows a question about food."""
    found = _found(_index(), "Which food?", weights={"reply": 1.0})

    assert _leg(found, "reply") == {3: 1.0}


def test_a_named_date_is_near_the_turns_of_that_day() -> None:
    """1 on the day, less a week later, and no leg where no date is named."""
    found = _leg(_found(_index(days=7), "What did Anna do on 8 May 2023?", weights={"date": 1.0}), "date")

    assert found[1] == 1.0
    assert found[2] == pytest.approx(2 ** (-6 / 7), abs=1e-3)
    assert _leg(_found(_index(), "Lisbon", weights={"date": 1.0}), "date") == {}


def test_recency_halves_with_the_half_life() -> None:
    """0.5 ** (age in days / 30), at most 1."""
    found = _leg(_found(_index(days=30), "x", now=MAY_8 + 30 * DAY, weights={"recency": 1.0}), "recency")

    assert found == {1: 0.5, 2: 1.0, 3: 1.0, 4: 1.0}


def test_among_equals_the_later_turn_comes_first() -> None:
    """Nothing speaks for any turn: all scores are 0."""
    found = _found(_index(), "xyzzy", weights={"bm25": 1.0})

    assert [(one.seq, one.score) for one in found] == [(4, 0.0), (3, 0.0), (2, 0.0), (1, 0.0)]


@pytest.mark.parametrize("k", [0, 1, 3, 9])
def test_k_cuts_the_ranking(k: int) -> None:
    """The first k of the whole order."""
    expected = _found(_index(), "Lisbon food")[:k]

    actual = _found(_index(), "Lisbon food", k=k)

    assert expected == actual


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (TurnFilter(conversations=frozenset({"c"})), {1, 2, 3, 4}),
        (TurnFilter(conversations=frozenset({"elsewhere"})), set()),
        (TurnFilter(roles=frozenset({"assistant"})), {2, 4}),
        (TurnFilter(speakers=frozenset({"Anna", "nobody"})), {1, 3}),
        (TurnFilter(occurred_from=MAY_8 + MINUTE, occurred_to=MAY_8 + 3 * MINUTE), {2, 3}),
        (TurnFilter(excluded=frozenset({4, 99})), {1, 2, 3}),
        (TurnFilter(roles=frozenset({"user"}), occurred_from=MAY_8 + 1), {3}),
    ],
)
def test_only_allowed_turns_are_candidates(allowed: TurnFilter, expected: set[int]) -> None:
    """All conditions hold; times are half-open."""
    actual = {one.seq for one in _found(_index(), "Lisbon", allowed=allowed)}

    assert expected == actual


def test_a_withdrawn_turn_is_gone_from_its_seq_on() -> None:
    """Before, it is found as ever; from then on neither it nor its words for its neighbours."""
    index = _index()
    index.withdraw(20, 1)
    before, after = (_found(index, "Lisbon", seq=seq, weights={"window": 1.0, "sitting": 1.0}) for seq in (19, 20))

    assert before == _found(_index(), "Lisbon", weights={"window": 1.0, "sitting": 1.0})
    assert [(one.seq, one.score) for one in after] == [(4, 0.0), (3, 0.0), (2, 0.0)]


def test_what_is_said_of_an_erased_turn_is_dropped() -> None:
    """Its vectors and its withdrawal have nothing to go to, and say so."""
    index = _index()

    assert not index.embed(30, 99, _vectors(1), ("turn",))
    assert not index.withdraw(30, 99)


def test_an_empty_index_finds_nothing() -> None:
    """With and without a vector."""
    assert TurnIndex().search("Lisbon", _vectors(1)[0], seq=5, now=0) == []
    assert TurnIndex().signals("Lisbon", None, seq=5, now=0).values.shape == (len(SIGNALS), 0)


def test_an_unknown_weight_is_an_error() -> None:
    """A misspelt leg must not be silently off."""
    with pytest.raises(ValueError, match="denze"):
        _found(_index(), "Lisbon", weights={"denze": 1.0})


def test_the_signal_matrix_is_what_search_sums() -> None:
    """A row a signal, a column a candidate."""
    index, query, vector = _index(), "When did Anna move to Lisbon?", _vectors(3)[0]
    weights = {name: 1.0 + place / 7 for place, name in enumerate(SIGNALS)}
    matrix = index.signals(query, vector, seq=100, now=MAY_8)
    expected = dict(zip(matrix.seqs.tolist(), np.array(list(weights.values())) @ matrix.values, strict=True))

    actual = {one.seq: one.score for one in index.search(query, vector, seq=100, now=MAY_8, weights=weights, k=None)}

    assert expected == pytest.approx(actual)


def test_a_name_is_a_word_like_any_other_until_its_bearer_speaks() -> None:
    """Before Anna's first turn "Anna" is searched for; her later turn does not change that for the past."""
    index = TurnIndex()
    index.add(1, conversation="c", turn=1, role="user", speaker="Ben", content="Anna likes dogs", occurred_at=0)
    expected = _found(index, "Does Anna like tea?", seq=1)
    index.add(2, conversation="c", turn=2, role="user", speaker="Anna", content="Yes", occurred_at=0)

    actual = _found(index, "Does Anna like tea?", seq=1)

    assert expected == actual
    assert (
        _leg(_found(index, "Does Anna like tea?", weights={"coverage": 1.0}), "coverage")[1]
        != _leg(_found(index, "Does Anna like tea?", seq=1, weights={"coverage": 1.0}), "coverage")[1]
    )
