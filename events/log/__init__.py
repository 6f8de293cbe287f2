"""The port of the log: what every adapter promises (the contract suite holds each of them to it).

A stream is read as a verified prefix, which ends at a `Tail`. A writer opens a stream, which makes everything it has
read durable, and appends through its handle: a commit is atomic, and goes only to the end of what the handle has
verified or made. Whoever raced it there is found out (`Lost`), never overwritten.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from events.envelope import Envelope
from events.ids import StreamId
from events.log.row import Row, Stamped, envelope

MAX_COMMIT_EVENTS = 512
MAX_COMMIT_BYTES = 8_000_000


class Lost(Exception):
    """Somebody else's commit stands where this one would go. Drop the state, open again, decide again."""


class Tail(msgspec.Struct, frozen=True):
    """The end of a verified prefix: the last event's seq, digest and time. `recorded_at` is 0 before the first event."""

    seq: int
    digest: bytes
    recorded_at: int = 0


Standing = Literal["held", "erased", "ahead", "other"]
"""Of a prefix that was read before: it still stands; a floor was raised above its start since; the stream ends before it;
another event stands at its end."""


class Reading(msgspec.Struct, frozen=True):
    """What a read found: events from `start` on (a floor that an erasure raised, or the one after `after`) to `tail`."""

    start: int
    rows: Sequence[Row]
    tail: Tail
    strays: tuple[str, ...] = ()

    @property
    def events(self) -> list[Envelope]:
        """The rows, decoded."""
        return [envelope(row) for row in self.rows]


class Handle:
    """A writer's own view of the end of a stream. Not shared; closed for good when an outcome is unknown."""

    def __init__(self, stream: StreamId, tail: Tail) -> None:
        self.stream = stream
        self.tail = tail
        self.closed = False


class Log(Protocol):
    """Where streams are kept."""

    def streams(self) -> list[StreamId]:
        """All streams, in order of space and user."""

    def exists(self, stream: StreamId) -> bool:
        """Whether the stream has been made. Cheap."""

    def read(self, stream: StreamId, after: Tail | None = None, *, vectors: bool = True) -> Reading:
        """The verified events after `after` (all, if None). A stream that was never made reads as empty.

        The last of them may not be durable yet: only `open` makes what it has read so.

        When an erasure raised the floor beyond `after`, the reading starts at the floor: `start` is then greater than
        `after.seq + 1`. Raises StoreDamaged with the file.
        """

    def holds(self, stream: StreamId, start: int, tail: Tail) -> Standing:
        """How the log stands to what was read of it before: events `start` to `tail`, of which there is at least one.

        Looks only at the commit that holds the last of them. Raises StoreDamaged with the file.
        """

    def open(self, stream: StreamId) -> tuple[Handle, Reading]:
        """Read, make what was read durable, and get a handle on the end."""

    def append(self, handle: Handle, stamped: Sequence[Stamped], *, expected_seq: int) -> list[Row]:
        """One commit of at least one event. When it returns, the commit is durable, and the handle stands at its end.

        Raises Lost (not written, somebody else was first), StoreFull (not written), Erased (not written), OutcomeUnknown
        (the handle is closed; open again, and look for the command).
        """


Salt = Callable[[], bytes]
