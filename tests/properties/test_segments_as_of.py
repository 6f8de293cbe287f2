"""The law of as-of reads where graphs are asked: what comes later changes nothing, to the bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turn_histories import DAY, DIMENSIONS, MINUTE, POOL, WEIGHTS, WORDS, Event, events, feed, queries

from projections.index.dense import quantised
from projections.index.ranking import TurnFilter, TurnIndex
from projections.index.segments import Segmentation

SIZES = (8, 16)
NOW = 10**15 + 3 * DAY
FILTERS = (
    TurnFilter(),
    TurnFilter(roles=frozenset({"user"})),
    TurnFilter(speakers=frozenset({"Anna"})),
    TurnFilter(conversations=frozenset({"one"}), excluded=frozenset({1, 5, 9})),
)
LONG, TURNS = 1200, 500
"""Events of the long history, and how many vectors it draws from."""


def _cut(size: int) -> Segmentation:
    """Small segments, always asked by their graphs, for few rows, and hardly a turn that is sure without."""
    return Segmentation(rows=size, crossover=0, nearest=3, sure=1)


def _vectors() -> np.ndarray:
    """Vectors in clusters, as those of texts are."""
    rng = np.random.default_rng(3)
    return quantised(rng.normal(size=(20, DIMENSIONS))[rng.integers(0, 20, TURNS)] + 0.5 * rng.normal(size=(TURNS, DIMENSIONS)))


def _long_history() -> list[Event]:
    """Turns, their vectors a little later, and now and then a withdrawal."""
    rng = np.random.default_rng(17)
    history: list[Event] = []
    while len(history) < LONG:
        who = (("user", "Anna"), ("assistant", "Ben"))[int(rng.integers(2))]
        pause = MINUTE if rng.integers(6) else 5 * DAY
        history.append(("add", ("one", "two")[int(rng.integers(2))], who, " ".join(rng.choice(WORDS, 6)), pause))
        history.append(("embed", int(rng.integers(10**6)), rng.integers(0, TURNS, int(rng.integers(1, 4))).tolist()))
        if not rng.integers(12):
            history.append(("withdraw", int(rng.integers(10**6))))
    return history


def _answer(index: TurnIndex, query: str, vector: np.ndarray, seq: int, allowed: TurnFilter, k: int | None) -> str:
    """Ids, scores, legs, and whether they are exact, as text."""
    found = index.search(query, vector, seq=seq, now=NOW, weights=WEIGHTS, allowed=allowed, k=k)
    return repr((found, index.is_exact(vector, seq=seq, allowed=allowed)))


@pytest.mark.parametrize("size", SIZES)
@settings(max_examples=40, deadline=None)
@given(
    st.lists(events, min_size=40, max_size=120),
    st.integers(0, 1000),
    queries,
    st.integers(0, 11),
    st.sampled_from(FILTERS),
)
def test_search_in_the_past_equals_search_then(
    size: int, history: list[Event], moment: int, query: str, vector: int, allowed: TurnFilter
) -> None:
    """Fed everything and asked at `s`, or fed up to `s`: one answer, also where vectors repeat and turns have many or none."""
    seq = moment % (len(history) + 1)
    past, whole = feed(history, seq, _cut(size)), feed(history, len(history), _cut(size))

    for k in (1, 5, None):
        expected = _answer(past, query, POOL[vector], seq, allowed, k)
        actual = _answer(whole, query, POOL[vector], seq, allowed, k)

        assert expected == actual


@pytest.mark.parametrize("size", SIZES)
def test_the_law_in_a_long_history(size: int) -> None:
    """At every 67th seq, over some hundred segments at the end; and graphs, not exact products, made most of the answers."""
    history, vectors = _long_history(), _vectors()
    whole = feed(history, len(history), _cut(size), vectors)
    exact = feed(history, len(history), Segmentation(), vectors)
    asked, approximate, differing = 0, 0, 0

    for at, seq in enumerate(range(1, len(history) + 1, 67)):
        past = feed(history, seq, _cut(size), vectors)
        query, vector, allowed = ("When did Anna get the three dogs?", "green tea")[at % 2], vectors[at], FILTERS[at % len(FILTERS)]
        expected = _answer(past, query, vector, seq, allowed, 10)
        actual = _answer(whole, query, vector, seq, allowed, 10)

        assert expected == actual

        asked += 1
        approximate += not whole.is_exact(vector, seq=seq, allowed=allowed)
        differing += expected != _answer(exact, query, vector, seq, allowed, 10)

    assert approximate > asked / 4
    assert differing > asked / 4


@pytest.mark.parametrize("size", SIZES)
def test_when_a_graph_is_built_does_not_matter(size: int) -> None:
    """Asked early and often, late and once, backwards, or in a copy that was pickled: the same answers."""
    history, vectors = _long_history(), _vectors()
    moments = list(range(100, len(history) + 1, 200))
    often, late = (feed(history, len(history), _cut(size), vectors) for _ in range(2))

    def answers(indexes: list[TurnIndex], seqs: list[int]) -> list[str]:
        pairs = zip(indexes, seqs, strict=True)
        return [_answer(index, "green tea", vectors[seq % TURNS], seq, TurnFilter(), 10) for index, seq in pairs]

    forwards = answers([often] * len(moments), moments)
    backwards = answers([late] * len(moments), moments[::-1])
    copied = answers([pickle.loads(pickle.dumps(late)) for _ in moments], moments)

    assert forwards == backwards[::-1]
    assert forwards == copied
