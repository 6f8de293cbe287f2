"""About how much memory a view takes: by its events and their bytes, because asking each object would take longer than folding.

Fitted to what was allocated for streams of 3,000 turns with short and with long texts. For 10,000 turns of twenty words with
vectors of 384 the estimate was 1.04 of what Python and Arrow had allocated, without an index 1.05, without vectors 1.01
(tests/benchmarks/test_snapshot_speed.py). An index's arrays have room to grow, so it is high for one that was just loaded. Graphs are counted beside it, once they are built.
"""

from collections.abc import Sequence

from events.log.row import Row

EVENT, PAYLOAD, VECTOR = 970.0, 1.0, 1.7
INDEX_EVENT, INDEX_PAYLOAD, INDEX_VECTOR = 220.0, 2.7, 2.75
"""What is taken for each event, each byte of a payload and each byte of a vector; and what an index takes for them."""


class Weight:
    """Of one view."""

    def __init__(self) -> None:
        self._events = self._payloads = self._vectors = 0

    def add(self, events: int, payloads: int, vectors: int) -> None:
        """So many events, and the bytes of their payloads and vectors."""
        self._events += events
        self._payloads += payloads
        self._vectors += vectors

    def add_rows(self, rows: Sequence[Row]) -> None:
        """The events of these rows."""
        self.add(
            len(rows), sum(len(row.payload or b"") for row in rows), sum(0 if row.vector is None else row.vector.nbytes for row in rows)
        )

    def bytes(self, *, index: bool) -> int:
        """About the memory of a view, with its index or without."""
        view = self._events * EVENT + self._payloads * PAYLOAD + self._vectors * VECTOR
        return int(view + index * (self._events * INDEX_EVENT + self._payloads * INDEX_PAYLOAD + self._vectors * INDEX_VECTOR))
