"""The chain that makes a stream tamper-evident: each event's digest covers the one before it.

`payload_digest` is keyed by a salt of its own and covers the private columns; erasing nulls these (salt and all), and
what remains, `digest`, still verifies. All fields are length-prefixed, so that no two rows share an encoding.
"""

import hashlib
import struct

from events.envelope import Source, Vectors
from events.ids import StreamId

FORMAT = b"memory-actors/1"
SIZE = 32


_LENGTH = struct.Struct("<BQ").pack
_NUMBER = struct.Struct("<BQq").pack
"""With its length, 8, before it: what `_field` makes of the number's own eight bytes."""


def _field(value: bytes | None) -> bytes:
    return b"\x00" if value is None else _LENGTH(1, len(value)) + value


def _integer(value: int | None) -> bytes:
    return b"\x00" if value is None else _NUMBER(1, 8, value)


def _text(value: str | None) -> bytes:
    return _field(None if value is None else value.encode())


def _sources(sources: tuple[Source, ...]) -> bytes:
    return _field(b"".join(_integer(s.seq) + _text(s.user) + _text(s.space) for s in sources))


def _vector(vector: Vectors | None) -> bytes:
    if vector is None:
        return _field(None)
    rows, dimension = vector.shape
    return _field(struct.pack("<qq", rows, dimension if rows else 0) + vector.astype("<i2", copy=False).tobytes())


def genesis(stream: StreamId) -> bytes:
    """The `prev_digest` of a stream's first event: so that two users' folders, swapped, do not verify."""
    return hashlib.blake2b(_field(FORMAT) + _text(stream.space) + _text(stream.user), digest_size=SIZE).digest()


def payload_digest(
    salt: bytes,
    command_id: str | None,
    occurred_at: int | None,
    sources: tuple[Source, ...],
    payload: bytes,
    vector: Vectors | None,
) -> bytes:
    """Over the private columns as stored, keyed by the event's salt."""
    private = (_text(command_id), _integer(occurred_at), _sources(sources), _field(payload), _vector(vector))
    return hashlib.blake2b(b"".join(private), key=salt, digest_size=SIZE).digest()


def event_digest(
    prev_digest: bytes,
    seq: int,
    kind: str,
    schema_version: int,
    recorded_at: int,
    imported_at: int | None,
    private: bytes,
) -> bytes:
    """Over the event before it and this one's public columns; `private` is the payload digest."""
    public = (
        _field(prev_digest),
        _integer(seq),
        _text(kind),
        _integer(schema_version),
        _integer(recorded_at),
        _integer(imported_at),
        _field(private),
    )
    return hashlib.blake2b(b"".join(public), digest_size=SIZE).digest()


def file_digest(content: bytes) -> str:
    """64 hexadecimal digits of a file's bytes."""
    return hashlib.blake2b(content, digest_size=SIZE).hexdigest()
