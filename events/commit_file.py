"""One file of the log: rows to Parquet bytes and back, with a digest over the whole file.

Row digests cover the rows, but a small file is mostly footer, so the file's own metadata also holds `file_digest`: of
its bytes with that field zeroed, patched in before the file is linked. Anything that reads Parquet reads these files.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from events.digest import SIZE, file_digest
from events.envelope import Source, Vectors
from events.errors import StoreDamaged
from events.row import Row

_TIME = pa.timestamp("us", tz="UTC")
_SOURCES = pa.list_(pa.struct([("seq", pa.int64()), ("user", pa.string()), ("space", pa.string())]))
SCHEMA = pa.schema(
    [
        pa.field("space", pa.string(), nullable=False),
        pa.field("user", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("recorded_at", _TIME, nullable=False),
        pa.field("imported_at", _TIME),
        pa.field("prev_digest", pa.binary(SIZE), nullable=False),
        pa.field("payload_digest", pa.binary(SIZE), nullable=False),
        pa.field("digest", pa.binary(SIZE), nullable=False),
        pa.field("salt", pa.binary(16)),
        pa.field("command_id", pa.string()),
        pa.field("occurred_at", _TIME),
        pa.field("sources", _SOURCES),
        pa.field("payload", pa.string()),
        pa.field("vector", pa.list_(pa.list_(pa.int16()))),
    ]
)
PUBLIC_STATISTICS = ["seq", "type", "recorded_at"]
DIGEST_KEY = b"memory_actors.file_digest"
_BLANK = b"0" * 64
_WITHOUT_VECTORS = [name for name in SCHEMA.names if name != "vector"]


def encode(rows: Sequence[Row]) -> bytes:
    """The file of these rows: equal rows give equal bytes."""
    sink = pa.BufferOutputStream()
    compression = "zstd" if len(rows) >= 16 else "none"
    with pq.ParquetWriter(
        sink, SCHEMA, compression=compression, use_dictionary=["space", "user", "type"], write_statistics=PUBLIC_STATISTICS, store_schema=False
    ) as writer:
        writer.write_table(_table(rows))
        writer.add_key_value_metadata({DIGEST_KEY.decode(): _BLANK.decode()})
    return _patched(sink.getvalue().to_pybytes())


def _patched(blank: bytes) -> bytes:
    at = _digest_position(blank)
    return blank[:at] + file_digest(blank).encode() + blank[at + len(_BLANK) :]


def _digest_position(content: bytes) -> int:
    """Where the digest stands: behind the last occurrence of its key (payloads, which could hold the key too, come earlier)."""
    return content.rindex(DIGEST_KEY) + len(DIGEST_KEY) + 2


def check_file(content: bytes, file: str) -> None:
    """Raises StoreDamaged unless the file's bytes are those that were written."""
    try:
        at = _digest_position(content)
    except ValueError:
        raise StoreDamaged("no file digest: torn, or not a file of this log", file) from None
    stored = content[at : at + len(_BLANK)]
    if file_digest(content[:at] + _BLANK + content[at + len(_BLANK) :]).encode() != stored:
        raise StoreDamaged("the file's bytes are not those that were written (file digest differs)", file)


def decode(content: bytes, file: str, *, vectors: bool = True) -> list[Row]:
    """The rows of a file whose digest holds. Raises StoreDamaged. Without `vectors` that column is not read."""
    check_file(content, file)
    try:
        columns = None if vectors else _WITHOUT_VECTORS
        table = pq.ParquetFile(pa.BufferReader(content)).read(columns=columns, use_threads=False)
        return _rows(table)
    except (pa.ArrowException, KeyError, OSError) as error:
        raise StoreDamaged(f"not a file of this log: {error}", file) from error


def _table(rows: Sequence[Row]) -> pa.Table:
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in list(SCHEMA)[:-3]]
    sources = pa.array([[{"seq": s.seq, "user": s.user, "space": s.space} for s in row.sources] for row in rows], _SOURCES)
    payload = pa.array([None if row.payload is None else row.payload.decode() for row in rows], pa.string())
    return pa.Table.from_arrays([*columns, sources, payload, _vector_column([row.vector for row in rows])], schema=SCHEMA)


def _vector_column(vectors: Sequence[Vectors | None]) -> pa.Array:
    """A list of lists: per event, one list of numbers a text. Built from flat buffers, without a Python number each."""
    present = [vector for vector in vectors if vector is not None]
    flat = np.concatenate([vector.ravel() for vector in present]) if present else np.empty(0, np.int16)
    lengths = [vector.shape[1] for vector in present for _ in vector]
    inner = pa.ListArray.from_arrays(pa.array(_offsets(lengths), pa.int32()), pa.array(flat, pa.int16()))
    outer = _offsets([0 if vector is None else len(vector) for vector in vectors])
    absent = pa.array([vector is None for vector in vectors], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(outer, pa.int32()), inner, mask=absent)


def _offsets(lengths: Sequence[int]) -> npt.NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _rows(table: pa.Table) -> list[Row]:
    values = {name: _column(table.column(name)) for name in SCHEMA.names if name not in ("vector", "sources")}
    sources = _sources(table.column("sources"))
    vectors = _vectors(table.column("vector")) if "vector" in table.column_names else [None] * table.num_rows
    payloads = [None if text is None else text.encode() for text in values.pop("payload")]
    return [
        Row(**dict(zip(values, columns, strict=True)), sources=source, payload=payload, vector=vector)
        for *columns, source, payload, vector in zip(*values.values(), sources, payloads, vectors, strict=True)
    ]


def _column(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def _sources(column: pa.ChunkedArray) -> list[tuple[Source, ...]]:
    return [tuple(Source(s["seq"], s["user"], s["space"]) for s in items or ()) for items in column.to_pylist()]


def _vectors(column: pa.ChunkedArray) -> list[Vectors | None]:
    return [vector for chunk in column.chunks for vector in _chunk_vectors(chunk)]


def _chunk_vectors(chunk: pa.ListArray) -> list[Vectors | None]:
    rows = chunk.values
    flat = rows.values.to_numpy(zero_copy_only=True)
    starts = rows.offsets.to_numpy()
    outer = chunk.offsets.to_numpy()
    valid = chunk.is_valid().to_pylist()
    return [_slice(flat, starts, first, last) if known else None for first, last, known in zip(outer[:-1], outer[1:], valid, strict=True)]


def _slice(flat: Vectors, starts: npt.NDArray[np.int32], first: int, last: int) -> Vectors:
    count = last - first
    return flat[starts[first] : starts[last]].reshape(count, -1) if count else np.empty((0, 0), np.int16)
