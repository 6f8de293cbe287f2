"""Graphs over ranges of rows: what they find, what is said of the rest, and when they are not asked."""

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from histories import open_memory, tell

from projections.index.dense import DenseRows, quantised
from projections.index.ranking import TurnFilter, TurnIndex
from projections.index.segments import Segment, Segmentation, Segments

DIMENSIONS = 48
NOW = 10**15


def _vectors(count: int, seed: int = 7) -> np.ndarray:
    """int16 vectors in some hundred clusters."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(100, DIMENSIONS))
    return quantised(centres[rng.integers(0, 100, count)] + 0.7 * rng.normal(size=(count, DIMENSIONS)))


def _rows(count: int, segmentation: Segmentation) -> DenseRows:
    """One row an owner, recorded by the events from 1 on."""
    rows = DenseRows(segmentation)
    for owner, row in enumerate(_vectors(count)):
        rows.add(owner + 1, owner, row[None])
    return rows


def _index(turns: int, segmentation: Segmentation, withdrawn: int = 0) -> TurnIndex:
    """Turns of two speakers by turns, with a vector each at seqs 2, 4, and so on; some of the first are withdrawn at the end."""
    index = TurnIndex(segmentation)
    for place, row in enumerate(_vectors(turns)):
        who = ("Anna", "Ben")[place % 8 > 0]
        seq = 2 * place + 1
        index.add(seq, conversation="c", turn=place + 1, role="user", speaker=who, content=f"word{place % 50}", occurred_at=NOW + place)
        index.embed(seq + 1, seq, row[None], ("turn",))
    for place in range(withdrawn):
        index.withdraw(2 * turns + place + 1, 2 * place + 1)
    return index


def test_recall_of_the_ten_nearest() -> None:
    """Of 100 queries' ten nearest among 4,500 rows, in two graphs and a tail, at least 98 % are found, their cosines exact."""
    rows = _rows(4500, Segmentation(rows=2048, crossover=0))
    found, nobody = [], np.zeros(4500, np.bool_)
    for query in _vectors(100, seed=8):
        exact, near = rows.best(query, 4500, 4500), rows.best(query, 4500, 4500, nobody)
        best = np.argsort(-near)[:10]
        found.append(np.count_nonzero(exact[best] >= np.sort(exact)[-10]) / 10)

        assert exact[best].tolist() == near[best].tolist()

    assert np.mean(found) >= 0.98


def test_rows_that_no_graph_names_get_their_mean() -> None:
    """Exact for those named; the sum over the segment is that of exact products."""
    rows, query = _vectors(64).astype(np.float32), _vectors(1, seed=8)[0].astype(np.float32)
    segment = Segment(rows)

    dots = segment.dots(rows, query, 5)
    named, exact = segment.nearest(query, 5), rows @ query
    others = np.setdiff1d(np.arange(64), named)

    assert exact[named].tolist() == dots[named].tolist()
    assert len(named) == 5
    assert {float(np.float32(exact[others].mean(dtype=np.float64)))} == set(dots[others].tolist())


def test_owners_who_are_sure_have_exact_cosines() -> None:
    """Wherever they lie."""
    rows, query = _rows(100, Segmentation(rows=16, crossover=0, nearest=2)), _vectors(1, seed=8)[0]
    sure = np.zeros(100, np.bool_)
    sure[[3, 40, 99]] = True

    exact, near = rows.best(query, 100, 100), rows.best(query, 100, 100, sure)

    assert exact[sure].tolist() == near[sure].tolist()
    assert exact.tolist() != near.tolist()


def test_two_builds_are_one_graph() -> None:
    """Of the same rows: the same digest, the same answers. Of others: another digest."""
    rows, queries = _vectors(300).astype(np.float32), _vectors(50, seed=8).astype(np.float32)
    one, two = Segment(rows), Segment(rows.copy())

    assert (one.digest, one.dimensions) == (two.digest, two.dimensions)
    assert [one.nearest(query, 7).tolist() for query in queries] == [two.nearest(query, 7).tolist() for query in queries]
    assert one.digest != Segment(rows[::-1]).digest


@pytest.mark.parametrize("rows", [_vectors(8), np.repeat(_vectors(1), 40, axis=0), np.zeros((40, DIMENSIONS), np.int16)])
def test_more_than_there_are_is_never_asked_for(rows: np.ndarray) -> None:
    """Fewer rows than wanted, equal rows, and zero rows: all are named, nothing raises."""
    named = Segment(rows.astype(np.float32)).nearest(_vectors(1, seed=8)[0].astype(np.float32), 100)

    assert list(range(len(rows))) == named.tolist()


def test_a_segment_is_asked_only_when_all_its_rows_are_visible() -> None:
    """Of 40 rows in segments of 16, two segments are; of the first 31, one."""
    rows, segments = _vectors(40).astype(np.float32), Segments(Segmentation(rows=16, crossover=0))

    built = []
    for visible in (15, 31, 40):
        segments.dots(rows[:visible], rows[0])
        built.append(sorted(segments._built))

    assert built == [[], [0], [0, 1]]


def test_a_pickle_holds_no_graph() -> None:
    """They are built again; hnswlib's own files lose `ef` and are not checked when read."""
    rows, segments = _vectors(40).astype(np.float32), Segments(Segmentation(rows=16, crossover=0, nearest=3))
    expected = segments.dots(rows, rows[0])

    copy = pickle.loads(pickle.dumps(segments))

    assert copy._built == {}
    assert expected.tolist() == copy.dots(rows, rows[0]).tolist()


@pytest.mark.parametrize(("visible", "expected"), [(15, False), (31, False), (32, True), (100, True)])
def test_graphs_are_asked_from_the_crossover_on(visible: int, expected: bool) -> None:
    """By what is visible, not by what has been recorded since."""
    actual = _rows(100, Segmentation(rows=16, crossover=32)).has_graphs(visible)

    assert expected == actual


def test_below_the_crossover_answers_are_exact() -> None:
    """And say so; with a graph they say that they are not; without a vector there is nothing to approximate."""
    cut, vector = Segmentation(rows=16, crossover=64), _vectors(1)[0]
    index = _index(100, cut)

    assert [index.is_exact(vector, seq=seq) for seq in (100, 126, 128, 200)] == [True, True, False, False]
    assert index.is_exact(None, seq=200)


@pytest.mark.parametrize(
    ("withdrawn", "allowed", "expected"),
    [
        (0, TurnFilter(), False),
        (0, TurnFilter(excluded=frozenset({1})), False),
        (0, TurnFilter(speakers=frozenset({"Ben"})), False),
        (0, TurnFilter(speakers=frozenset({"Anna"})), True),
        (0, TurnFilter(occurred_from=NOW + 90), True),
        (60, TurnFilter(), True),
    ],
)
def test_where_few_turns_may_be_found_answers_are_exact(withdrawn: int, allowed: TurnFilter, expected: bool) -> None:
    """A graph's nearest may all be turns that a filter or a withdrawal leaves out."""
    graphs, plain = _index(100, Segmentation(rows=16, crossover=0, nearest=2, sure=0), withdrawn), _index(100, Segmentation(), withdrawn)
    vector, seq = _vectors(1, seed=8)[0], 200 + withdrawn
    found = [index.search("word7", vector, seq=seq, now=NOW, allowed=allowed, k=None) for index in (graphs, plain)]

    assert expected == graphs.is_exact(vector, seq=seq, allowed=allowed)
    assert expected == (found[0] == found[1])
    assert [one.seq for one in sorted(found[0], key=lambda one: one.seq)] == sorted(one.seq for one in found[1])


def test_a_query_of_another_dimension_is_refused() -> None:
    """It comes from another model; hnswlib would say so only sometimes."""
    with pytest.raises(ValueError, match="int16"):
        _rows(40, Segmentation(rows=16, crossover=0)).best(np.zeros(3, np.int16), 40, 40, np.zeros(40, np.bool_))


@pytest.mark.parametrize(("crossover", "expected"), [(0, False), (100, True)])
def test_a_recall_says_whether_it_is_exact(crossover: int, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where a graph was asked; yes where the filter leaves so little that none was."""
    monkeypatch.setattr("projections.legs.TurnIndex", partial(TurnIndex, Segmentation(rows=2, crossover=crossover)))
    memory = open_memory(tmp_path / "s")
    tell(memory, "ann", "I live in Porto.", "The boats left the harbour.", "We chose a database.")
    tell(memory, "ann", "Good, the database is fast.", role="assistant")
    reads = memory.user("ann").as_of("now")

    assert expected == reads.recall("boats in the harbour").exact
    assert reads.recall("database", role="assistant").exact
