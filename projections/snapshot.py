"""A view as bytes and back: so that a long stream need not be folded from its beginning.

A snapshot holds the events and the index that was made of them, which is what takes long; all else is folded again.
It is sealed with the store's secret, and bound to the code that wrote it, so that changed code never meets an old layout.
The index is pickled. Because a store may come from elsewhere, secret and all, a pickle may name nothing but the three
functions of this module that make its arrays and objects. Whatever is wrong raises Unfit. Must not know where bytes are kept.
"""

import hashlib
import hmac
import io
import pickle
import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import Envelope, Source, Unknown
from events.ids import StreamId
from events.log import Tail
from events.vocabulary import TYPES, Payload
from projections.index.ranking import TurnIndex
from projections.index.turn_feed import TurnFeed
from projections.view import StreamView

MAGIC = b"memory-actors snapshot 1\n"
PICKLED = "projections.index."
_MAC = 32
_LENGTHS = struct.Struct("<QQQ")
_DTYPES = frozenset({"<i2", "<i4", "<i8", "<u4", "<u8", "<f4", "<f8", "|b1", "|i1", "|u1"})


class Unfit(Exception):
    """Not a snapshot that this code can use: torn, foreign, or written by other code."""


class Seal(msgspec.Struct, frozen=True):
    """What a snapshot is bound to: the store's secret, and a fingerprint of the code that folds."""

    secret: bytes
    code: str


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot is of: events `start` to `tail` of a stream."""

    code: str
    stream: StreamId
    start: int
    tail: Tail
    index: bool
    vectors: bool
    before: bytes
    """The digest before the first event."""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """An event, without what the one before it says. `shape` is its vector's; `known`: the payload is of a known type."""

    type: str
    schema_version: int
    recorded_at: int
    imported_at: int | None
    occurred_at: int | None
    command_id: str | None
    sources: tuple[Source, ...]
    known: bool
    payload: bytes
    redacted: bool
    payload_digest: bytes
    digest: bytes
    shape: tuple[int, int] | None


_EVENTS = msgspec.msgpack.Decoder(list[_Kept])
_HEADER = msgspec.msgpack.Decoder(Header)
_PAYLOADS = {name: msgspec.json.Decoder(kind) for name, kind in TYPES.items()}


# -- bytes


def dump(view: StreamView, seal: Seal) -> bytes:
    """The view at its tail, where there is one. A view with a leg that failed is not dumped: it would look whole."""
    if view.parts.failed or not view.recorded:
        raise ValueError(f"{view.stream} has nothing to keep, or a leg that failed")
    header = Header(
        code=seal.code,
        stream=view.stream,
        start=view.start,
        tail=view.tail,
        index=view.has_index,
        vectors=view.has_vectors,
        before=view.recorded[0].prev_digest,
    )
    parts = (msgspec.msgpack.encode(header), msgspec.msgpack.encode([_kept(one) for one in view.recorded]), _vectors(view))
    body = [_LENGTHS.pack(*map(len, parts)), *parts, _pickled((view.parts.index, view.parts.feed))]
    return b"".join([MAGIC, _mac(body, seal.secret), *body])


def header(content: bytes, seal: Seal) -> Header:
    """What the snapshot is of, whatever code wrote it. Raises Unfit."""
    return _opened(content, seal)[0]


def load(content: bytes, seal: Seal) -> StreamView:
    """The view that was dumped. Raises Unfit."""
    head, events, vectors, index = _opened(content, seal)
    if head.code != seal.code:
        raise Unfit("written by other code")
    try:
        return _view(head, _EVENTS.decode(events), np.frombuffer(vectors, np.int16).copy(), _unpickled(index))
    except Exception as error:  # its seal holds, so somebody wrote it so: whatever it does, it is not used
        raise Unfit(f"{type(error).__name__}: {error}") from error


def _opened(content: bytes, seal: Seal) -> tuple[Header, memoryview, memoryview, memoryview]:
    """Header, events, vectors and index of a snapshot that is whole and of this store."""
    at = len(MAGIC) + _MAC
    body = memoryview(content)[at:]
    if not content.startswith(MAGIC) or len(body) < _LENGTHS.size:
        raise Unfit("not a snapshot of this version")
    if not hmac.compare_digest(_mac([body], seal.secret), content[len(MAGIC) : at]):
        raise Unfit("torn, or of another store")
    lengths = _LENGTHS.unpack(body[: _LENGTHS.size])
    ends = np.cumsum([_LENGTHS.size, *lengths]).tolist()
    head, events, vectors, index = (body[start:end] for start, end in zip(ends, [*ends[1:], len(body)], strict=True))
    try:
        return _HEADER.decode(head), events, vectors, index
    except msgspec.MsgspecError as error:
        raise Unfit(f"not a header: {error}") from error


def _mac(body: list[bytes] | list[memoryview], secret: bytes) -> bytes:
    digest = hashlib.blake2b(key=secret, digest_size=_MAC)
    for part in body:
        digest.update(part)
    return digest.digest()


# -- events


def _kept(event: Envelope) -> _Kept:
    known = not isinstance(event.data, Unknown)
    return _Kept(
        type=event.type,
        schema_version=event.schema_version,
        recorded_at=event.recorded_at,
        imported_at=event.imported_at,
        occurred_at=event.occurred_at,
        command_id=event.command_id,
        sources=event.sources,
        known=known,
        payload=msgspec.json.encode(event.data) if not isinstance(event.data, Unknown) else event.data.raw,
        redacted=event.redacted,
        payload_digest=event.payload_digest,
        digest=event.digest,
        shape=None if event.vector is None else (event.vector.shape[0], event.vector.shape[1]),
    )


def _vectors(view: StreamView) -> bytes:
    present = [event.vector.astype(np.int16, copy=False).ravel() for event in view.recorded if event.vector is not None]
    return np.concatenate(present).tobytes() if present else b""


def _view(head: Header, events: list[_Kept], vectors: npt.NDArray[np.int16], index: tuple[TurnIndex, TurnFeed | None]) -> StreamView:
    view = StreamView(head.stream, index=False, vectors=head.vectors)
    view.begin(head.start)
    for event in _envelopes(head, events, vectors):
        view.apply(event)
    if (len(view.recorded_at), view.recorded[-1].digest) != (head.tail.seq, head.tail.digest) or (head.index and index[1] is None):
        raise Unfit("it does not hold what its header says")
    view.weight.add(len(events), sum(len(event.payload) for event in events), vectors.nbytes)
    view.restore(*index, tail=head.tail)
    return view


def _envelopes(head: Header, events: list[_Kept], vectors: npt.NDArray[np.int16]) -> Iterator[Envelope]:
    at, before = 0, head.before
    for seq, kept in enumerate(events, head.start):
        size = 0 if kept.shape is None else kept.shape[0] * kept.shape[1]
        yield Envelope(
            space=head.stream.space,
            user=head.stream.user,
            seq=seq,
            type=kept.type,
            schema_version=kept.schema_version,
            recorded_at=kept.recorded_at,
            imported_at=kept.imported_at,
            occurred_at=kept.occurred_at,
            command_id=kept.command_id,
            sources=kept.sources,
            data=_payload(kept),
            vector=None if kept.shape is None else vectors[at : at + size].reshape(kept.shape),
            prev_digest=before,
            payload_digest=kept.payload_digest,
            digest=kept.digest,
            redacted=kept.redacted,
        )
        at, before = at + size, kept.digest


def _payload(kept: _Kept) -> Payload:
    return _PAYLOADS[kept.type].decode(kept.payload) if kept.known else Unknown(raw=kept.payload)


# -- the index


class _Pickler(pickle.Pickler):
    """Writes arrays and objects as calls of this module's functions: so that no class and no library need be named."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return numbers, (value.dtype.str, value.shape, bytearray(np.ascontiguousarray(value).tobytes()))
        if isinstance(value, array):
            return integers, (value.tobytes(),)
        if type(value).__module__.startswith(PICKLED):
            return made, (type(value).__module__, type(value).__qualname__), value.__getstate__()
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Finds this module's functions, and nothing else.

    Each in a wrapper of its own, because a pickle can set attributes of whatever it is handed.
    """

    def find_class(self, module: str, name: str) -> Callable[..., object]:
        if module != __name__ or name not in _FUNCTIONS:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a snapshot")
        function = _FUNCTIONS[name]
        return lambda *given: function(*given)  # noqa: PLW0108 - the wrapper is the point


def _pickled(index: tuple[TurnIndex, TurnFeed | None]) -> bytes:
    sink = io.BytesIO()
    _Pickler(sink, protocol=5).dump(index)
    return sink.getvalue()


def _unpickled(content: memoryview) -> tuple[TurnIndex, TurnFeed | None]:
    index, feed = _Unpickler(io.BytesIO(content)).load()
    if not isinstance(index, TurnIndex) or not (feed is None or isinstance(feed, TurnFeed)):
        raise Unfit("not an index")
    return index, feed


def numbers(dtype: str, shape: tuple[int, ...], content: bytearray) -> npt.NDArray[Any]:
    """A numpy array of plain numbers, which can be written to."""
    if dtype not in _DTYPES:
        raise ValueError(f"no array of {dtype!r}")
    return np.frombuffer(content, np.dtype(dtype)).reshape(shape)


def integers(content: bytes) -> "array[int]":
    """An array of 64-bit integers."""
    return array("q", content)


def made(module: str, name: str) -> object:
    """An object of a class of the index, still empty."""
    found = vars(sys.modules[module]).get(name) if module.startswith(PICKLED) and module in sys.modules else None
    if not isinstance(found, type) or found.__module__ != module:
        raise pickle.UnpicklingError(f"{module}.{name} is no class of the index")
    return object.__new__(found)


_FUNCTIONS: dict[str, Callable[..., object]] = {"numbers": numbers, "integers": integers, "made": made}
