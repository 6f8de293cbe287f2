"""Dense search over recorded vectors, exact unless told otherwise, as of any moment.

A vector is recorded as int16: the unit vector times `floor(4096 - sqrt(d) / 2)`, rounded (4086 at 384 dimensions). Rounding
lengthens it by at most `sqrt(d) / 2`, so every partial sum of a dot product of two such vectors stays within 2**24 and is
exact in float32, in any order: prefixes, slices, batches and BLAS libraries agree to the bit. The rows are kept as float32,
which holds these integers exactly, so that a search copies nothing.

Rows enter in the order of the events that brought them; what is visible at a seq is a prefix. Where many are visible,
`best` can be told to ask graphs (see `projections.index.segments`): which rows it then multiplies out, and what it says of
the others, follows from what is visible alone.
Must not know of texts, models or rankings.
"""

import math

import numpy as np
import numpy.typing as npt

from projections.index.growable import Growable
from projections.index.segments import CUT, Segmentation, Segments

Rows = npt.NDArray[np.int16]
Dots = npt.NDArray[np.float32]
Ordinals = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def vector_scale(dimensions: int) -> int:
    """What a unit vector is multiplied with before rounding: 4086 for 384."""
    return math.floor(4096 - math.sqrt(dimensions) / 2)


def quantised(vectors: npt.NDArray[np.floating]) -> Rows:
    """Unit vectors [..., d] as recorded ones, int16 of the same shape; a zero vector stays zero."""
    exact = np.asarray(vectors, np.float64)
    norms = np.sqrt((exact * exact).sum(axis=-1, keepdims=True))
    unit = exact / np.where(norms > 0, norms, 1.0)
    return np.rint(unit * vector_scale(exact.shape[-1])).astype(np.int16)


class DenseRows:
    """Vectors, each of an owner (a turn's ordinal), in the order in which they were recorded. The first fix the dimension."""

    def __init__(self, segmentation: Segmentation = CUT) -> None:
        self.segmentation = segmentation
        self._segments = Segments(segmentation)
        self._rows: Growable | None = None
        self._dimensions = 0
        self._owners = Growable(np.int64)
        self._entered = Growable(np.int64)

    def __len__(self) -> int:
        return len(self._entered)

    def add(self, seq: int, owner: int, rows: Rows) -> None:
        """Adds int16 rows [k, d] of an owner, recorded by the event at `seq`, which is not below any before it."""
        if rows.dtype != np.int16 or rows.ndim != 2 or (self._rows is not None and rows.shape[1] != self._dimensions):
            raise ValueError(f"int16 [k, {self._dimensions or 'd'}] expected, not {rows.dtype} {list(rows.shape)}")
        if len(self) and seq < self._entered.get(len(self) - 1):
            raise ValueError(f"rows of event {seq} after those of {self._entered.get(len(self) - 1)}")
        if self._rows is None:
            self._dimensions = rows.shape[1]
            self._rows = Growable(np.float32, self._dimensions)
        self._rows.extend(rows)
        self._owners.extend(np.full(len(rows), owner, np.int64))
        self._entered.extend(np.full(len(rows), seq, np.int64))

    @property
    def graph_bytes(self) -> int:
        """About what its graphs take, which are built when they are first asked."""
        return self._segments.bytes

    def visible(self, seq: int) -> int:
        """How many rows had been recorded at `seq`."""
        return int(np.searchsorted(self._entered.all(), seq, side="right"))

    def has_graphs(self, seq: int) -> bool:
        """Whether so many rows were visible at `seq` that graphs may be asked."""
        return self.segmentation.applies(self.visible(seq))

    def dots(self, query: Rows, seq: int) -> tuple[Ordinals, Dots]:
        """(owners, exact dot products) of the rows visible at `seq`, in the order of recording; `query` is int16 [d]."""
        owners, rows, asked = self._asked(query, seq)
        return owners, rows @ asked

    def best(self, query: Rows, seq: int, owners: int, sure: Mask | None = None) -> npt.NDArray[np.float64]:
        """The cosine of each owner's best visible row, float64 [owners]; NaN for an owner without one.

        Given `sure`, bool [owners], graphs say which rows are near, where there are graphs. The cosines of these rows and of
        the owners who are sure are exact; any other row gets the mean of those of its segment that no graph named.
        """
        of, dots = self.dots(query, seq) if sure is None else self._near(query, seq, sure)
        best = np.full(owners, -np.inf, np.float32)
        np.maximum.at(best, of, dots)
        cosines = best.astype(np.float64) / float(vector_scale(len(query))) ** 2
        cosines[np.isneginf(cosines)] = np.nan
        return cosines

    def _near(self, query: Rows, seq: int, sure: Mask) -> tuple[Ordinals, Dots]:
        owners, rows, asked = self._asked(query, seq)
        dots = self._segments.dots(rows, asked)
        places = np.flatnonzero(sure[owners[: self._segments.covered(len(rows))]])
        dots[places] = rows[places] @ asked
        return owners, dots

    def _asked(self, query: Rows, seq: int) -> tuple[Ordinals, Dots, Dots]:
        """What is visible at `seq`: owners [n], rows [n, d]; and the query [d], as float32."""
        visible = self.visible(seq)
        if self._rows is None or not visible:
            return np.zeros(0, np.int64), np.zeros((0, len(query)), np.float32), query.astype(np.float32)
        if query.dtype != np.int16 or query.shape != (self._dimensions,):
            raise ValueError(f"int16 [{self._dimensions}] expected, not {query.dtype} {list(query.shape)}")
        return self._owners.first(visible), self._rows.first(visible), query.astype(np.float32)
