"""One file of the log: what goes in comes out, equal rows give equal bytes, and no damage goes unseen."""

import random
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from builders import ANN, counting_salt, said, stamp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from events.errors import StoreDamaged
from events.log.commit_file import DIGEST_KEY, SCHEMA, check_file, decode, encode
from events.log.digest import genesis
from events.log.row import Row, Stamped, chain

INTEGERS = st.integers(-(2**62), 2**62)
VECTORS = st.none() | st_numpy.arrays(np.int16, st.tuples(st.integers(1, 3), st.integers(1, 5)))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
STAMPED = st.builds(
    lambda content, at, command, occurred_at, sources, vector, imported_at: Stamped(
        stamp(said(content), occurred_at=occurred_at, sources=tuple(sources), vector=vector).event, command, at, imported_at
    ),
    TEXTS,
    INTEGERS,
    TEXTS,
    st.none() | INTEGERS,
    st.lists(st.integers(1, 100), max_size=3),
    VECTORS,
    st.none() | INTEGERS,
)


def rows(stamped: list[Stamped]) -> list[Row]:
    return chain(ANN, 0, genesis(ANN), stamped, counting_salt())


def plain(row: Row) -> dict[str, object]:
    values = {name: getattr(row, name) for name in Row.__struct_fields__}
    return values | {"vector": None if row.vector is None else (row.vector.shape, row.vector.tobytes())}


@given(st.lists(STAMPED, min_size=1, max_size=20))
@settings(deadline=None)
def test_rows_come_back(stamped: list[Stamped]) -> None:
    """Every column of every row, extreme times and odd texts included; and the digests still hold."""
    expected = rows(stamped)

    actual = decode(encode(expected), "f")

    assert [plain(row) for row in expected] == [plain(row) for row in actual]
    assert [None] * len(stamped) == [row.damage() for row in actual]


@given(st.lists(STAMPED, min_size=1, max_size=18))
@settings(deadline=None, max_examples=30)
def test_equal_rows_give_equal_bytes(stamped: list[Stamped]) -> None:
    """A file depends on its rows and nothing else, so it can be made again."""
    expected = rows(stamped)

    actual = encode(decode(encode(expected), "f"))

    assert encode(expected) == actual


def test_without_vectors_that_column_is_not_read() -> None:
    """Everything else is as it was."""
    [expected] = rows([stamp(said("x"), vector=np.ones((2, 3), np.int16))])

    [actual] = decode(encode([expected]), "f", vectors=False)

    assert plain(expected) | {"vector": None} == plain(actual)


def test_erased_rows_come_back_as_nulls() -> None:
    """The private columns of a row can be null: then the public ones still verify."""
    [row] = rows([stamp(said("x"))])
    nulled = Row(**{**plain(row), "salt": None, "command_id": None, "payload": None, "vector": None})

    [actual] = decode(encode([nulled]), "f")

    assert (None, None, None) == (actual.payload, actual.salt, actual.command_id)
    assert actual.damage() is None


def test_a_foreign_reader_can_open_a_file(tmp_path: Path) -> None:
    """It is Parquet with our columns; `space`, `user` and the payload are text, times are UTC timestamps."""
    file = tmp_path / "f.parquet"
    file.write_bytes(encode(rows([stamp(said("hello"), at=1_000_000)])))

    table = pq.read_table(file, partitioning=None)

    assert SCHEMA.names == table.column_names
    [read] = table.to_pylist()
    assert ("home", "ann", 1, "TurnRecorded", "1970-01-01T00:00:01+00:00") == (
        read["space"],
        read["user"],
        read["seq"],
        read["type"],
        read["recorded_at"].isoformat(),
    )
    assert '"content":"hello"' in read["payload"]


@pytest.mark.parametrize("size", [1, 40])
def test_every_flipped_bit_is_found(size: int) -> None:
    """In a plain and in a compressed file: pages, footer, metadata and the digest itself."""
    content = encode(rows([stamp(said(f"turn {number}")) for number in range(size)]))
    seed = 20261121
    print("seed", seed)
    flips = random.Random(seed).sample(range(len(content) * 8), 1500)

    missed = [
        flip for flip in flips if _accepts(content[: flip // 8] + bytes([content[flip // 8] ^ 1 << flip % 8]) + content[flip // 8 + 1 :])
    ]

    assert [] == missed


def test_every_cut_is_found() -> None:
    """A file that is short of bytes, at whatever place, or has some to spare, is damaged."""
    content = encode(rows([stamp(said("x"))]))

    accepted = [length for length in range(len(content)) if _accepts(content[:length])]

    assert [] == accepted
    assert not _accepts(content + b"\0")


def _accepts(content: bytes) -> bool:
    try:
        check_file(content, "f")
    except StoreDamaged:
        return False
    return True


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet", DIGEST_KEY, DIGEST_KEY + b"0" * 66])
def test_what_is_no_file_of_the_log_is_damage(content: bytes) -> None:
    """The error names the file; nothing else is raised."""
    with pytest.raises(StoreDamaged) as caught:
        decode(content, "log/f.parquet")

    assert "log/f.parquet" == caught.value.file


def test_a_payload_may_hold_the_digests_key() -> None:
    """The digest is looked for from the end, where no payload can be."""
    content = f"{DIGEST_KEY.decode()}@{'0' * 64}"

    [row] = decode(encode(rows([stamp(said(content))])), "f")

    assert content.encode() in row.payload
