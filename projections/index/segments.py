"""HNSW graphs over fixed ranges of recorded vectors: which rows are nearest, without looking at all of them.

Segment i is rows `[i * rows, (i + 1) * rows)` in the order of recording. Its graph is built once, in one go, from these rows
alone, by one thread with a fixed seed, and is never added to, merged, marked or saved: so it is the same graph whenever and
wherever it is built, and may be built when it is first asked. A segment is searched by its graph only if all its rows are
visible; what lies behind the last whole segment is multiplied out. Hence an answer depends on what is visible and on nothing
that comes later.

A graph only names places. The dot products are taken from the rows themselves, where they are exact (see
`projections.index.dense`), so that no answer holds a number that a library rounded.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import hnswlib
import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

LINKS: Final = 16
LINK_BYTES: Final = 400
"""What hnswlib keeps of a row beside its numbers: links, labels, locks. In a segment of 16,384 it took 1,938 bytes a row, 1,536 of them numbers."""

EF_CONSTRUCTION: Final = 100
"""Twice as much takes twice as long to build and finds 0.1 % more."""

EF: Final = 150
"""Of 300 questions' ten nearest among 16,384 pieces of conversations (all-MiniLM-L6-v2) 99.87 % are found, in 0.5 ms."""

SEED: Final = 100


@dataclass(frozen=True)
class Segmentation:
    """Where rows are cut, and when their graphs are asked.

    Cosines of all turns for one question, 384 dimensions, one thread, with the rows that are sure; and the building:

    | rows | exact | segments of 8,192 | 16,384 | 32,768 | built in (16,384) |
    |---|---|---|---|---|---|
    | 25,000 | 4.0 ms | 4.1 | 3.3 | 3.8 | 5 s |
    | 50,000 | 8.7 ms | 7.7 | 4.7 | 5.6 | 13 s |
    | 100,000 | 15.2 ms | 11.5 | 7.0 | 5.8 | 28 s |

    So graphs win from some 25,000 rows on (BLAS with two threads is faster, graphs are not: at 40,000 rows 4.1 ms against 5.5);
    but they save 0.1 us a row of a question and cost 0.3 ms a row, once in each process,
    and a copy of the rows. A whole search among 100,000 turns takes 41 ms exactly, 32 by graphs and 18 without vectors.
    That is why the crossover lies where exact products begin to be felt, not where graphs begin to win.
    """

    rows: int = 16_384
    crossover: int = 100_000
    """Fewer visible rows than this are multiplied out."""
    nearest: int = 100
    """How many rows a segment's graph is asked for."""
    sure: int = 64
    """How many turns that the plain signals find best have the cosines of their sittings taken exactly, whatever graphs say.

    On 25,000 turns of conversations in segments of 4,096 the first ten then agree with the exact ones to 99.7 %; without it to 87.9 %, and with
    the least cosine found instead of the mean for what no graph named to 99.6 % and 90.8 %.
    """

    def applies(self, visible: int) -> bool:
        """Whether a search among so many rows asks graphs: there must be one, and enough rows to be worth it."""
        return visible >= max(self.crossover, self.rows)


CUT: Final = Segmentation()


class Segment:
    """The graph of some rows, and beside it what they were: their digest and dimension."""

    def __init__(self, rows: Matrix) -> None:
        self.dimensions = rows.shape[1]
        self.digest = hashlib.blake2b(np.ascontiguousarray(rows).tobytes(), digest_size=32).hexdigest()
        self._total = rows.sum(axis=0, dtype=np.float64)
        self._graph = _graph(rows)
        self.bytes = len(rows) * (rows.itemsize * self.dimensions + LINK_BYTES)
        """About what the graph takes: a copy of the rows, and the links of each."""

    def nearest(self, query: Matrix, count: int) -> Places:
        """The places of about the `count` nearest rows, ascending; of all where the graph reaches fewer than asked for."""
        size = self._graph.get_current_count()
        try:
            found, _ = self._graph.knn_query(query, k=min(count, size), num_threads=1)
        except RuntimeError:  # hnswlib's one answer to a graph that hangs together too badly, as of many equal rows
            return np.arange(size)
        return np.sort(found[0].astype(np.int64))

    def dots(self, rows: Matrix, query: Matrix, count: int) -> Matrix:
        """Dot products [n]: of the nearest `count` exact ones; the others get their mean, which is exact too before rounding."""
        found = self.nearest(query, count)
        known = rows[found] @ query
        others = len(rows) - len(found)
        rest = float(self._total @ query.astype(np.float64)) - float(known.sum(dtype=np.float64))
        dots = np.full(len(rows), rest / max(others, 1), np.float32)
        dots[found] = known
        return dots


class Segments:
    """The segments of a growing matrix, each built when first asked. A copy or a pickle has none: it builds its own."""

    def __init__(self, segmentation: Segmentation) -> None:
        self.segmentation = segmentation
        self._built: dict[int, Segment] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"segmentation": self.segmentation, "_built": {}}

    @property
    def bytes(self) -> int:
        """About what the graphs take that have been built."""
        return sum(segment.bytes for segment in self._built.values())

    def covered(self, visible: int) -> int:
        """How many of the visible rows lie in whole segments."""
        return visible - visible % self.segmentation.rows

    def segment(self, number: int, rows: Matrix) -> Segment:
        """Segment `number` of the matrix, which holds all of it."""
        if number not in self._built:
            self._built[number] = Segment(self._of(number, rows))
        return self._built[number]

    def dots(self, rows: Matrix, query: Matrix) -> Matrix:
        """Dot products [n] of the visible rows: exact behind the last whole segment, else as of `Segment.dots`."""
        covered = self.covered(len(rows))
        whole = range(covered // self.segmentation.rows)
        parts = [self.segment(at, rows).dots(self._of(at, rows), query, self.segmentation.nearest) for at in whole]
        return np.concatenate([*parts, rows[covered:] @ query])

    def _of(self, number: int, rows: Matrix) -> Matrix:
        return rows[number * self.segmentation.rows : (number + 1) * self.segmentation.rows]


def _graph(rows: Matrix) -> Any:
    graph = hnswlib.Index(space="ip", dim=rows.shape[1])
    graph.init_index(max_elements=len(rows), M=LINKS, ef_construction=EF_CONSTRUCTION, random_seed=SEED)
    graph.set_num_threads(1)
    graph.add_items(rows, np.arange(len(rows)), num_threads=1)
    graph.set_ef(EF)
    return graph
