"""SELECT over the log: times are UTC, nothing can be changed, and no file, extension or variable can be reached."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from clocks import START
from histories import line, open_memory, tell

from events.errors import InvalidInput
from events.log.row import Row
from memory_actors.ingest import ingest
from projections.sql import Rows, select


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    memory = open_memory(tmp_path / "s")
    ingest(memory, [line("I live in Porto.", 1, occurred_at=START)], as_recorded=True)
    tell(memory, "bob", "'; DROP TABLE events; --", "café \U0001f600")
    return [row for stream in memory.log.streams() for row in memory.log.read(stream, vectors=False).rows]


def one(query: str, rows: list[Row]) -> object:
    [[value]] = select(query, rows).rows
    return value


def test_the_relation_has_a_row_an_event(rows: list[Row]) -> None:
    found = select("SELECT user, seq, type FROM events", rows)

    assert ("user", "seq", "type") == found.columns
    assert [(row.user, row.seq, row.type) for row in rows] == list(found.rows)


def test_payloads_are_json(rows: list[Row]) -> None:
    """What is in them is a value, whatever it looks like."""
    query = "SELECT payload->>'content' FROM events WHERE type = 'TurnRecorded' ORDER BY user, seq"

    assert [("I live in Porto.",), ("'; DROP TABLE events; --",), ("café \U0001f600",)] == list(select(query, rows).rows)


def test_times_are_utc(rows: list[Row]) -> None:
    """Recorded, imported and happened; and comparisons with text are in UTC, whatever the machine's zone."""
    recorded, imported, occurred = select(
        "SELECT recorded_at, imported_at, occurred_at FROM events WHERE user = 'ann' AND seq = 1", rows
    ).rows[0]

    assert datetime(2025, 12, 1, tzinfo=UTC) == recorded == occurred
    assert 0 == recorded.utcoffset().total_seconds()
    assert imported >= recorded
    assert 1 == one("SELECT count(*) FROM events WHERE recorded_at = '2025-12-01T00:00:00'", rows)
    assert "2025-12-01 00:00:00+00" == one("SELECT recorded_at::TEXT FROM events WHERE user = 'ann' AND seq = 1", rows)


def test_sources_are_seqs(rows: list[Row]) -> None:
    assert [1] == one("SELECT sources FROM events WHERE user = 'ann' AND type = 'FactAsserted'", rows)


def test_sums_are_numbers(rows: list[Row]) -> None:
    assert Decimal("1.50") == one("SELECT 1.5::DECIMAL(5, 2)", rows)
    assert (3, int) == (one("SELECT sum(x) FROM range(3) t(x)", rows), type(one("SELECT sum(x) FROM range(3) t(x)", rows)))


def test_no_rows_still_have_columns(rows: list[Row]) -> None:
    assert Rows(("seq", "user"), ()) == select("SELECT seq, user FROM events WHERE false", rows)
    assert Rows(("n",), ((0,),)) == select("SELECT count(*) AS n FROM events", [])


def test_private_columns_are_not_there(rows: list[Row]) -> None:
    for column in ("salt", "vector", "payload_digest"):
        with pytest.raises(InvalidInput):
            select(f"SELECT {column} FROM events", rows)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE events",
        "DROP TABLE events",
        "DELETE FROM events",
        "INSERT INTO events SELECT * FROM events",
        "UPDATE events SET seq = 0",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE MACRO f() AS 1",
        "COPY events TO '{place}/out.csv'",
        "COPY (SELECT 1) TO '{place}/out.parquet'",
        "EXPORT DATABASE '{place}/out'",
        "ATTACH '{place}/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 8",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA threads = 8",
        "PRAGMA enable_profiling",
        "CALL pragma_version()",
        "BEGIN",
        "WITH a AS (SELECT 1) INSERT INTO events SELECT * FROM events",
        "PREPARE p AS SELECT 1",
        "SELECT nonsense",
        "SELECT * FROM nothing",
        "SELEKT 1",
        "SELECT '\udc00'",
    ],
)
def test_anything_but_one_select_is_refused(rows: list[Row], tmp_path: Path, query: str) -> None:
    """And leaves no file behind."""
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(InvalidInput):
        select(query.replace("{place}", str(place)), rows)

    assert [] == list(place.iterdir())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_text('https://example.org/')",
        "SELECT getenv('HOME')",
        "SELECT * FROM mine",
        "SELECT * FROM arrived",
        "SELECT * FROM sqlite_scan('{file}', 'x')",
    ],
)
def test_nothing_outside_can_be_read(rows: list[Row], tmp_path: Path, query: str) -> None:
    """No file, no folder, no address, no environment, no variable of the program."""
    mine = pa.table({"secret": [1]})
    file = tmp_path / "file.csv"
    file.write_text("secret\n1\n")

    with pytest.raises(InvalidInput):
        select(query.replace("{file}", str(file)).replace("{folder}", str(tmp_path)), rows)
    assert mine.num_rows


def test_what_was_refused_changes_nothing_for_the_next(rows: list[Row]) -> None:
    with pytest.raises(InvalidInput):
        select("DELETE FROM events", rows)

    assert len(rows) == one("SELECT count(*) FROM events", rows)
