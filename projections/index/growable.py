"""Arrays that grow at their end.

Appending costs amortised constant time (capacity doubles); `first(n)` is a view, never a copy, and stays valid and equal
whatever is appended later: that is what makes "as of" a slice. Must not know what the numbers mean.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST_CAPACITY = 64


class Growable:
    """A one-dimensional array, or with `width` a matrix of that many columns, that grows by rows."""

    def __init__(self, dtype: npt.DTypeLike, width: int | None = None) -> None:
        self._shape = () if width is None else (width,)
        self._data: npt.NDArray[Any] = np.zeros((0, *self._shape), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __getstate__(self) -> dict[str, Any]:
        """Without the capacity that is not used."""
        return self.__dict__ | {"_data": self.all()}

    def append(self, value: float) -> None:
        """One more element (of a one-dimensional array)."""
        self._reserve(1)
        self._data[self._length] = value
        self._length += 1

    def extend(self, rows: npt.NDArray[Any]) -> None:
        """As many more rows as `rows` has."""
        self._reserve(len(rows))
        self._data[self._length : self._length + len(rows)] = rows
        self._length += len(rows)

    def first(self, n: int) -> npt.NDArray[Any]:
        """A view of the first `n` rows; `n` is at most the length."""
        return self._data[:n]

    def all(self) -> npt.NDArray[Any]:
        """A view of all rows."""
        return self._data[: self._length]

    def put(self, index: int, value: float) -> None:
        """Changes one element. The caller sees to it that no earlier moment can tell."""
        self._data[index] = value

    def get(self, index: int) -> int:
        """One element of an integer array."""
        return int(self._data[index])

    def _reserve(self, more: int) -> None:
        needed = self._length + more
        if needed <= len(self._data):
            return
        capacity = max(_FIRST_CAPACITY, 2 * len(self._data), needed)
        grown = np.zeros((capacity, *self._shape), self._data.dtype)
        grown[: self._length] = self._data[: self._length]
        self._data = grown
