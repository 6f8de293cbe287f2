"""Metrics and baselines, against values worked out by hand."""

import math

import numpy as np
import pytest

from memory_actors.evaluation import baselines
from memory_actors.evaluation.metrics import ndcg_at, recall_at


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (10, 1.0)],
)
def test_recall_is_the_share_of_the_relevant_among_the_first_k(k: int, expected: float) -> None:
    """Two of the items are relevant, at places 2 and 4."""
    actual = recall_at(k, ["a", "b", "c", "d"], {"b", "d"})

    assert expected == actual


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    """Relevant at places 2 and 4 of 4, where 1 and 2 would be best."""
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))

    assert expected == pytest.approx(ndcg_at(10, ["a", "b", "c", "d"], ["b", "d"]))


def test_ndcg_of_the_best_ranking_is_1_even_when_more_is_relevant_than_fits() -> None:
    """The ideal is cut at k too."""
    actual = ndcg_at(2, ["a", "b", "c"], ["a", "b", "c"])

    assert actual == 1.0


@pytest.mark.parametrize("measure", [recall_at, ndcg_at])
def test_nothing_relevant_cannot_be_measured(measure: object) -> None:
    """Such a question must be dropped by the caller, not counted as a success or a failure."""
    assert callable(measure)

    with pytest.raises(ValueError, match="nothing is relevant"):
        measure(10, ["a"], [])


def test_bm25_baseline_by_hand() -> None:
    """One term, once in the first of two documents of lengths 2 and 4."""
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = [idf * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 3)), 0.0]

    actual = baselines.bm25(["green tea", "black coffee, strong coffee"], "The teas?")

    assert expected == pytest.approx(actual.tolist())


def test_dense_baseline_is_the_integer_dot_product() -> None:
    """int16 products would overflow; they must not."""
    vectors = np.array([[4000, 4000], [-4000, 0]], np.int16)

    actual = baselines.dense(vectors, np.array([4000, 1], np.int16))

    assert actual.tolist() == [16_004_000.0, -16_000_000.0]


def test_ranking_keeps_the_order_of_equals() -> None:
    """The earlier text comes first."""
    actual = baselines.ranking(np.array([1.0, 3.0, 1.0, 3.0]))

    assert actual == [1, 3, 0, 2]


def test_rrf_sums_reciprocal_ranks() -> None:
    """1 is second and first, 2 first and third, 3 third and second."""
    assert 1 / 62 + 1 / 61 > 1 / 61 + 1 / 63 > 1 / 63 + 1 / 62

    actual = baselines.rrf([[2, 1, 3], [1, 3, 2]])

    assert actual == [1, 2, 3]
