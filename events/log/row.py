"""The stored form of an event, and the way between it and the envelope.

Unknown types are kept as they are and passed over; payloads of older schema versions are upcast on read.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from events.envelope import Envelope, NewEvent, Source, Unknown, Vectors
from events.errors import StoreDamaged
from events.ids import StreamId
from events.log.digest import event_digest, payload_digest
from events.log.upcast import CURRENT, upcast
from events.vocabulary import TYPES, Payload


class Row(msgspec.Struct, frozen=True):
    """One row of a log file: its columns, in the file's order. Those from `salt` on are private: an erasure nulls them."""

    space: str
    user: str
    seq: int
    type: str
    schema_version: int
    recorded_at: int
    imported_at: int | None
    prev_digest: bytes
    payload_digest: bytes
    digest: bytes
    salt: bytes | None
    command_id: str | None
    occurred_at: int | None
    sources: tuple[Source, ...]
    payload: bytes | None
    vector: Vectors | None

    def damage(self) -> str | None:
        """What does not fit its own digests; None for a sound row. A nulled row is judged by whoever knows the erasures."""
        if self.payload is not None and self.salt is None:
            return "the salt is gone but the payload is not"
        if self.payload is not None and self.salt is not None and self._payload_digest(self.salt, self.payload) != self.payload_digest:
            return "the private columns are not those that were digested"
        public = event_digest(
            self.prev_digest, self.seq, self.type, self.schema_version, self.recorded_at, self.imported_at, self.payload_digest
        )
        return None if public == self.digest else "the public columns are not those that were digested"

    def _payload_digest(self, salt: bytes, payload: bytes) -> bytes:
        return payload_digest(salt, self.command_id, self.occurred_at, self.sources, payload, self.vector)


class Stamped(msgspec.Struct, frozen=True):
    """A decided event with its command and its time, ready to take its place."""

    event: NewEvent
    command_id: str
    recorded_at: int
    imported_at: int | None = None

    def envelope(self, stream: StreamId, seq: int) -> Envelope:
        """The event as it will be at `seq`, as far as a fold looks at it: without digests."""
        return Envelope(
            space=stream.space,
            user=stream.user,
            seq=seq,
            type=type(self.event.data).__name__,
            schema_version=CURRENT.get(type(self.event.data).__name__, 1),
            recorded_at=self.recorded_at,
            imported_at=self.imported_at,
            occurred_at=self.event.occurred_at,
            command_id=self.command_id,
            sources=tuple(Source(source) for source in self.event.sources),
            vector=self.event.vector,
            data=self.event.data,
        )


def chain(stream: StreamId, seq: int, prev_digest: bytes, stamped: Iterable[Stamped], salt: Callable[[], bytes]) -> list[Row]:
    """The rows that follow event `seq` whose digest is `prev_digest`, in order."""
    rows: list[Row] = []
    for item in stamped:
        rows.append(_row(stream, seq + 1 + len(rows), rows[-1].digest if rows else prev_digest, item, salt()))
    return rows


def _row(stream: StreamId, seq: int, prev_digest: bytes, stamped: Stamped, salt: bytes) -> Row:
    event = stamped.event
    kind, payload = encode_payload(event.data)
    sources = tuple(Source(source) for source in event.sources)
    version = CURRENT.get(kind, 1)
    private = payload_digest(salt, stamped.command_id, event.occurred_at, sources, payload, event.vector)
    return Row(
        space=stream.space,
        user=stream.user,
        seq=seq,
        type=kind,
        schema_version=version,
        recorded_at=stamped.recorded_at,
        imported_at=stamped.imported_at,
        prev_digest=prev_digest,
        payload_digest=private,
        digest=event_digest(prev_digest, seq, kind, version, stamped.recorded_at, stamped.imported_at, private),
        salt=salt,
        command_id=stamped.command_id,
        occurred_at=event.occurred_at,
        sources=sources,
        payload=payload,
        vector=event.vector,
    )


def encode_payload(data: Payload) -> tuple[str, bytes]:
    """The type's name and the payload as JSON."""
    return type(data).__name__, msgspec.json.encode(data)


_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in TYPES.items()}


def decode_payload(kind: str, schema_version: int, payload: bytes) -> Payload:
    """The typed payload. Raises `msgspec.MsgspecError` when the bytes do not fit the type."""
    decoder = _DECODERS.get(kind)
    if decoder is None or schema_version > CURRENT.get(kind, 1):
        return Unknown(raw=payload)
    return decoder.decode(upcast(kind, schema_version, payload))


def envelope(row: Row) -> Envelope:
    """The event of a row. A row whose private columns were erased comes back `redacted`, with an empty `Unknown`."""
    try:
        data = Unknown(raw=b"") if row.payload is None else decode_payload(row.type, row.schema_version, row.payload)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"event {row.seq} of {row.space}/{row.user} is no {row.type}: {error}") from error
    return Envelope(
        space=row.space,
        user=row.user,
        seq=row.seq,
        type=row.type,
        schema_version=row.schema_version,
        recorded_at=row.recorded_at,
        imported_at=row.imported_at,
        occurred_at=row.occurred_at,
        command_id=row.command_id,
        sources=row.sources,
        vector=row.vector,
        data=data,
        prev_digest=row.prev_digest,
        payload_digest=row.payload_digest,
        digest=row.digest,
        redacted=row.payload is None,
    )


def size_of(event: NewEvent) -> int:
    """About how many bytes an event takes in a file, for the bound on a commit."""
    vector = 0 if event.vector is None else math.prod(event.vector.shape) * 2
    return len(msgspec.json.encode(event.data)) + vector + 200


def contiguous(rows: Sequence[Row], seq: int, digest: bytes) -> str | None:
    """What breaks the chain after event `seq` with `digest`; None when the rows follow one another."""
    for row in rows:
        if row.seq != seq + 1:
            return f"seq {row.seq} where {seq + 1} should be"
        if row.prev_digest != digest:
            return f"event {row.seq} does not follow the event before it (prev_digest differs)"
        seq, digest = row.seq, row.digest
    return None
