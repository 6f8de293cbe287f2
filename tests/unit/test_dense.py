"""Exact dense search, against plain integer arithmetic."""

import numpy as np
import pytest

from projections.index.dense import DenseRows, quantised, vector_scale

DIMENSIONS = 384


def _vectors(count: int, seed: int = 7) -> np.ndarray:
    return quantised(np.random.default_rng(seed).normal(size=(count, DIMENSIONS)))


@pytest.mark.parametrize(("dimensions", "expected"), [(384, 4086), (768, 4082), (1024, 4080), (3, 4095)])
def test_scale(dimensions: int, expected: int) -> None:
    """The numbers of the design: floor(4096 - sqrt(d) / 2)."""
    actual = vector_scale(dimensions)

    assert expected == actual


def test_no_partial_sum_leaves_the_exact_range() -> None:
    """The sum of absolute products of a vector with itself, the worst case, stays within 2**24."""
    rows = _vectors(200).astype(np.int64)
    worst = int((rows * rows).sum(axis=1).max())

    assert worst <= 2**24


def test_dots_equal_integer_dots_in_every_prefix() -> None:
    """float32 products of slices of any length agree with int64 arithmetic to the last unit."""
    rows, query = _vectors(300), _vectors(1, seed=8)[0]
    index = DenseRows()
    for seq, row in enumerate(rows, 1):
        index.add(seq, seq - 1, row[None])

    for seq in (0, 1, 17, 255, 300):
        owners, actual = index.dots(query, seq)
        expected = rows[:seq].astype(np.int64) @ query.astype(np.int64)

        assert expected.tolist() == actual.astype(np.int64).tolist()
        assert list(range(seq)) == owners.tolist()


def test_best_takes_the_best_row_of_each_owner() -> None:
    """Of two rows of one owner the nearer counts; an owner without rows has NaN."""
    rows, query = _vectors(3), _vectors(1, seed=8)[0]
    index = DenseRows()
    index.add(5, 2, rows[:2])
    index.add(6, 0, rows[2:])
    dots = rows.astype(np.int64) @ query.astype(np.int64)

    actual = index.best(query, 6, 3)

    assert actual[2] == max(dots[:2]) / 4086**2
    assert actual[0] == dots[2] / 4086**2
    assert np.isnan(actual[1])


def test_rows_recorded_later_are_not_seen() -> None:
    """A row is visible from the seq of its event on."""
    index = DenseRows()
    index.add(5, 0, _vectors(2))
    index.add(9, 1, _vectors(1))

    actual = [index.visible(seq) for seq in (4, 5, 8, 9)]

    assert actual == [0, 2, 2, 3]


def test_quantised_keeps_the_direction() -> None:
    """Rounding costs less than 1e-3 of cosine, whatever the length of the vector; zero stays zero."""
    exact = np.random.default_rng(3).normal(size=(2, DIMENSIONS)) * 50
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    rows = quantised(exact).astype(np.float64) / 4086

    assert float(unit[0] @ unit[1]) == pytest.approx(float(rows[0] @ rows[1]), abs=1e-3)
    assert not quantised(np.zeros((1, 4))).any()


@pytest.mark.parametrize("rows", [np.zeros((1, 384), np.float32), np.zeros((1, 3), np.int16), np.zeros(384, np.int16)])
def test_other_shapes_are_refused(rows: np.ndarray) -> None:
    """A wrong type or dimension is an error, never a wrong score."""
    index = DenseRows()
    index.add(1, 0, _vectors(1))

    with pytest.raises(ValueError, match="int16"):
        index.add(1, 0, rows)


def test_rows_come_in_the_order_of_their_events() -> None:
    """Else a prefix would not be the past."""
    index = DenseRows()
    index.add(5, 0, _vectors(1))

    with pytest.raises(ValueError, match="after"):
        index.add(4, 1, _vectors(1))


def test_a_query_of_another_dimension_is_refused() -> None:
    """It comes from another model: there is no cosine between the two."""
    index = DenseRows()
    index.add(1, 0, _vectors(1))

    with pytest.raises(ValueError, match="int16"):
        index.dots(np.zeros(3, np.int16), 1)
