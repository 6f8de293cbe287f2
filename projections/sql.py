"""SELECT over the log: DuckDB, in memory, with a copy of what it may see and nothing else.

The question may come from anybody, a model included: the database has no file access, its settings are locked, and only
one statement is run. Private salts and vectors are not shown.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from events.errors import InvalidInput
from events.log.row import Row

MEMORY_LIMIT = "2GB"
THREADS = 2
_TIME = pa.timestamp("us", tz="UTC")
_SCHEMA = pa.schema(
    [
        ("space", pa.string()),
        ("user", pa.string()),
        ("seq", pa.int64()),
        ("type", pa.string()),
        ("schema_version", pa.int32()),
        ("recorded_at", _TIME),
        ("imported_at", _TIME),
        ("occurred_at", _TIME),
        ("command_id", pa.string()),
        ("sources", pa.list_(pa.int64())),
        ("payload", pa.string()),
    ]
)


class Rows(msgspec.Struct, frozen=True):
    """The answer of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def select(query: str, rows: Iterable[Row]) -> Rows:
    """Run one SELECT over the relation `events`. Raises InvalidInput with what DuckDB says."""
    with duckdb.connect(":memory:", config={"memory_limit": MEMORY_LIMIT, "threads": THREADS}) as connection:
        _load(connection, list(rows))
        connection.execute("SET TimeZone='UTC'; SET enable_external_access=false; SET lock_configuration=true")
        return _run(connection, query)


def _load(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> None:
    connection.register("arrived", _table(rows))
    connection.execute('CREATE TABLE events AS SELECT * REPLACE (payload::JSON AS payload) FROM arrived ORDER BY space, "user", seq')
    connection.unregister("arrived")


def _run(connection: duckdb.DuckDBPyConnection, query: str) -> Rows:
    _check_text(query)
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InvalidInput("one SELECT at a time: nothing here can be changed. The relation is `events`")
        found = _interruptible(connection, statements[0])
    except duckdb.Error as error:
        raise InvalidInput(f"sql: {error}") from error
    columns = [[_value(value) for value in column.to_pylist()] for column in found.columns]
    return Rows(tuple(found.column_names), tuple(zip(*columns, strict=True)))


def _interruptible(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> pa.Table:
    """The answer; Ctrl-C ends a query that would go on for ever, which DuckDB on its own would not notice."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(lambda: connection.execute(statement).to_arrow_table())
        try:
            return running.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def _check_text(query: str) -> None:
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("the query holds a lone surrogate (half of a character); it is not valid text") from error


def _value(value: Any) -> Any:
    """A value as Python has it. Sums of whole numbers come as decimals without a fraction: they are numbers again."""
    return int(value) if isinstance(value, Decimal) and value.as_tuple().exponent == 0 else value


def _table(rows: Sequence[Row]) -> pa.Table:
    plain = [field.name for field in _SCHEMA if field.name not in ("sources", "payload")]
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in plain}
    columns["sources"] = [[source.seq for source in row.sources if not source.user] for row in rows]
    columns["payload"] = [None if row.payload is None else row.payload.decode() for row in rows]
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in _SCHEMA}, schema=_SCHEMA)
