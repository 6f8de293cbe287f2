"""One file of the log: rows to Parquet bytes and back, with a digest over the whole file.

Row digests cover the rows, but a small file is mostly footer, so the file's own metadata also holds `file_digest`: of
its bytes with that field zeroed, patched in before the file is linked. Anything that reads Parquet reads these files.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict

from events.envelope import Source, Vectors
from events.errors import StoreDamaged
from events.log import one_row
from events.log.digest import SIZE, file_digest
from events.log.row import Row

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
_PLAIN = SCHEMA.names[: SCHEMA.names.index("sources")]
_CELLS = pa.struct([SCHEMA.field(name) for name in _WITHOUT_VECTORS])
_VECTOR = SCHEMA.field("vector").type
_INTEGERS = (_TIME, pa.int64(), pa.int32())

MANY = 16
"""Rows from which on compression and dictionaries pay."""


def encode(rows: Sequence[Row]) -> bytes:
    """The file of these rows: equal rows give equal bytes."""
    template = _template() if one_row.fits(rows) else None
    return _patched(_written(rows) if template is None else template.encode(rows[0]))


@cache
def _template() -> one_row.Template | None:
    zero = bytes(SIZE)
    sample = Row("s", "u", 1, "T", 1, 0, None, zero, zero, zero, bytes(16), "c", None, (), b"{}", None)
    return one_row.Template.of(sample, _written, DIGEST_KEY)


def _written(rows: Sequence[Row]) -> bytes:
    """The file as pyarrow writes it, its digest blank. A few rows are neither compressed nor given dictionaries: that only costs."""
    sink = pa.BufferOutputStream()
    many = len(rows) >= MANY
    compression, dictionaries = ("zstd", ["space", "user", "type"]) if many else ("none", False)
    with pq.ParquetWriter(
        sink, SCHEMA, compression=compression, use_dictionary=dictionaries, write_statistics=PUBLIC_STATISTICS, store_schema=False
    ) as writer:
        writer.write_table(_table(rows))
        writer.add_key_value_metadata({DIGEST_KEY.decode(): _BLANK.decode()})
    content: bytes = sink.getvalue().to_pybytes()
    return content


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
        return [row for batch in table.to_batches() for row in _rows(batch)]
    except (pa.ArrowException, KeyError, OSError) as error:
        raise StoreDamaged(f"not a file of this log: {error}", file) from error


def _table(rows: Sequence[Row]) -> pa.Table:
    """All columns but the vectors are converted in one call, as a struct: a call a column takes three times as long."""
    cells = [{**asdict(row), "sources": [asdict(source) for source in row.sources]} for row in rows]
    columns = pa.array(cells, _CELLS).flatten()
    return pa.Table.from_arrays([*columns, _vector_column([row.vector for row in rows])], schema=SCHEMA)


def _vector_column(vectors: Sequence[Vectors | None]) -> pa.Array:
    """A list of lists: per event, one list of numbers a text. Built from flat buffers, without a Python number each."""
    present = [vector for vector in vectors if vector is not None]
    if not present:
        return pa.nulls(len(vectors), _VECTOR)
    flat = np.concatenate([vector.ravel() for vector in present])
    lengths = [vector.shape[1] for vector in present for _ in vector]
    inner = pa.ListArray.from_arrays(pa.array(_offsets(lengths), pa.int32()), pa.array(flat, pa.int16()))
    outer = _offsets([0 if vector is None else len(vector) for vector in vectors])
    absent = pa.array([vector is None for vector in vectors], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(outer, pa.int32()), inner, mask=absent)


def _offsets(lengths: Sequence[int]) -> npt.NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _rows(batch: pa.RecordBatch) -> list[Row]:
    columns = [_values(batch.column(name)) for name in _PLAIN]
    sources = _sources(batch.column("sources"))
    payloads = [None if text is None else text.encode() for text in _values(batch.column("payload"))]
    vectors = _vectors(batch.column("vector")) if "vector" in batch.schema.names else [None] * len(batch)
    return list(map(Row, *columns, sources, payloads, vectors))


def _values(column: pa.Array) -> list[Any]:
    """A column as Python's values, null as None; by way of numpy, which is several times as fast as `to_pylist`."""
    if column.null_count == len(column):
        return [None] * len(column)
    values: list[Any] = (_integers(column) if column.type in _INTEGERS else column.to_numpy(zero_copy_only=False)).tolist()
    if column.null_count and column.type in _INTEGERS:
        return [value if known else None for value, known in zip(values, _known(column), strict=True)]
    return values


def _integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Whole numbers or times as they lie in memory; anything where a value is null."""
    width = np.dtype(f"i{column.type.bit_width // 8}")
    return np.frombuffer(column.buffers()[1], width)[column.offset : column.offset + len(column)]


def _known(column: pa.Array) -> list[int]:
    """1 where a value is not null. (`is_valid` imports pyarrow.compute, which takes longer than the rest of pyarrow.)"""
    bitmap = column.buffers()[0]
    if bitmap is None:
        return [1] * len(column)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=column.offset + len(column), bitorder="little")
    known: list[int] = bits[column.offset :].tolist()
    return known


def _sources(column: pa.ListArray) -> list[tuple[Source, ...]]:
    """Of each event; flat first, because most have none and none has an object of its own in Arrow."""
    flat = list(map(Source, *(_values(column.values.field(name)) for name in ("seq", "user", "space"))))
    ends = column.offsets.tolist()
    return [tuple(flat[start:end]) for start, end in pairwise(ends)]


def _vectors(column: pa.ListArray) -> list[Vectors | None]:
    if column.null_count == len(column):
        return [None] * len(column)
    rows = column.values
    flat = rows.values.to_numpy(zero_copy_only=True)
    starts, outer = rows.offsets.to_numpy(), column.offsets.to_numpy()
    spans = zip(outer[:-1], outer[1:], _known(column), strict=True)
    return [_slice(flat, starts, first, last) if known else None for first, last, known in spans]


def _slice(flat: Vectors, starts: npt.NDArray[np.int32], first: int, last: int) -> Vectors:
    count = last - first
    return flat[starts[first] : starts[last]].reshape(count, -1) if count else np.empty((0, 0), np.int16)
