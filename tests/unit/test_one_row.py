"""The file of one event: byte for byte what pyarrow writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.envelope import Source
from events.log import commit_file
from events.log.one_row import Template, fits
from events.log.row import Row

TIMES = st.integers(-(2**62), 2**62)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    digest = st.binary(min_size=32, max_size=32)
    return Row(
        space=draw(NAMES),
        user=draw(NAMES),
        seq=draw(st.integers(1, 2**62)),
        type=draw(NAMES),
        schema_version=draw(st.integers(0, 2**31 - 1)),
        recorded_at=draw(TIMES),
        imported_at=draw(st.none() | TIMES),
        prev_digest=draw(digest),
        payload_digest=draw(digest),
        digest=draw(digest),
        salt=draw(st.none() | st.binary(min_size=16, max_size=16)),
        command_id=draw(st.none() | NAMES),
        occurred_at=draw(st.none() | TIMES),
        sources=(),
        payload=draw(st.none() | NAMES.map(str.encode) | st.integers(0, 20_000).map(lambda size: b"x" * size)),
        vector=None,
    )


@given(rows())
def test_pyarrow_writes_the_same_bytes(row: Row) -> None:
    """Whatever the row holds."""
    template = commit_file._template()
    assert template is not None

    assert commit_file._written([row]) == template.encode(row)


def test_another_writer_is_not_imitated() -> None:
    """A file that this module would not make gives no template."""
    row = Row("s", "u", 1, "T", 1, 0, None, bytes(32), bytes(32), bytes(32), bytes(16), "c", None, (), b"{}", None)

    assert None is Template.of(row, lambda rows: commit_file._written(rows).replace(b"parquet-cpp", b"parquet-rs!"), b"another key")
    assert None is Template.of(row, lambda rows: b"PAR1" + commit_file._written(rows), commit_file.DIGEST_KEY)


@pytest.mark.parametrize("change", [{"sources": (Source(1),)}, {}])
def test_what_it_is_for(change: dict[str, object]) -> None:
    """One row, of nothing but its own."""
    row = Row("s", "u", 1, "T", 1, 0, None, bytes(32), bytes(32), bytes(32), bytes(16), "c", None, change.get("sources", ()), b"{}", None)

    assert (not change) is fits([row])
    assert False is fits([row, row])
