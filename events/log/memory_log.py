"""The log in memory: for tests, and for replays that must not touch a store. The same contract as the file log."""

from collections.abc import Sequence

import msgspec

from events import ambient
from events.errors import OutcomeUnknown
from events.ids import StreamId
from events.log import Handle, Lost, Reading, Salt, Standing, Tail
from events.log.digest import genesis
from events.log.row import Row, Stamped, chain


class MemoryLog:
    """Streams as lists of rows. A commit is one list operation, so it is atomic; nothing is durable."""

    def __init__(self, salt: Salt = ambient.salt) -> None:
        self._rows: dict[StreamId, list[Row]] = {}
        self._salt = salt

    def streams(self) -> list[StreamId]:
        """All streams, in order."""
        return sorted(stream for stream, rows in self._rows.items() if rows)

    def exists(self, stream: StreamId) -> bool:
        """Whether the stream holds anything."""
        return bool(self._rows.get(stream))

    def read(self, stream: StreamId, after: Tail | None = None, *, vectors: bool = True) -> Reading:
        """The rows after `after`."""
        rows = self._rows.get(stream, [])
        start = 1 if after is None else after.seq + 1
        fresh = rows[start - 1 :]
        if not vectors:
            fresh = [msgspec.structs.replace(row, vector=None) for row in fresh]
        return Reading(start, fresh, self._tail(stream))

    def _tail(self, stream: StreamId) -> Tail:
        rows = self._rows.get(stream)
        if not rows:
            return Tail(0, genesis(stream))
        return Tail(rows[-1].seq, rows[-1].digest, rows[-1].recorded_at)

    def holds(self, stream: StreamId, start: int, tail: Tail) -> Standing:  # noqa: ARG002 - nothing is erased here
        """Whether that event is there."""
        rows = self._rows.get(stream, [])
        if len(rows) < tail.seq:
            return "ahead"
        return "held" if rows[tail.seq - 1].digest == tail.digest else "other"

    def open(self, stream: StreamId) -> tuple[Handle, Reading]:
        """Read, and a handle on the end."""
        reading = self.read(stream)
        return Handle(stream, reading.tail), reading

    def append(self, handle: Handle, stamped: Sequence[Stamped], *, expected_seq: int) -> list[Row]:
        """Add a commit at the handle's end, if that is still the end."""
        if handle.closed:
            raise OutcomeUnknown(f"an earlier commit to {handle.stream} has an unknown outcome; open the stream again")
        if not stamped:
            raise ValueError("a commit holds at least one event")
        if expected_seq != handle.tail.seq or handle.tail != self._tail(handle.stream):
            raise Lost(f"{handle.stream} does not end at {expected_seq}")
        rows = chain(handle.stream, handle.tail.seq, handle.tail.digest, stamped, self._salt)
        self._rows.setdefault(handle.stream, []).extend(rows)
        handle.tail = self._tail(handle.stream)
        return rows
