"""The stored form of an event: digests that cover every column, upcasts, and types of other versions."""

import msgspec
import numpy as np
import pytest
from builders import ANN, BOB, counting_salt, said, stamp, stamped

from events.envelope import NewEvent, Source, Unknown
from events.errors import StoreDamaged
from events.log import row as rows_module
from events.log import upcast
from events.log.digest import genesis
from events.log.row import Row, Stamped, chain, contiguous, decode_payload, encode_payload, envelope, size_of
from events.vocabulary import TYPES, TurnEmbedded, TurnRecorded


@pytest.fixture
def row() -> Row:
    event = NewEvent(said("hello"), occurred_at=5, sources=(1, 2), vector=np.array([[1, 2]], np.int16))
    [made] = chain(ANN, 6, b"p" * 32, [Stamped(event, "c7", 1000, 900)], counting_salt())
    return made


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("salt", b"s" * 16),
        ("command_id", "c8"),
        ("command_id", None),
        ("occurred_at", 6),
        ("occurred_at", None),
        ("sources", (Source(1),)),
        ("sources", (Source(1), Source(2, "bob"))),
        ("sources", (Source(1), Source(2, "", "work"))),
        ("payload", b"{}"),
        ("vector", None),
        ("vector", np.array([[1, 3]], np.int16)),
        ("vector", np.array([[1], [2]], np.int16)),
        ("payload_digest", b"x" * 32),
    ],
)
def test_a_changed_private_column_is_damage(row: Row, field: str, value: object) -> None:
    """The payload digest covers each of them, and the shape of the vectors."""
    damaged = msgspec.structs.replace(row, **{field: value})

    assert row.damage() is None
    assert damaged.damage() == "the private columns are not those that were digested"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq", 8),
        ("type", "TurnRecorder"),
        ("schema_version", 2),
        ("recorded_at", 1001),
        ("imported_at", 901),
        ("imported_at", None),
        ("prev_digest", b"q" * 32),
        ("digest", b"x" * 32),
    ],
)
def test_a_changed_public_column_is_damage(row: Row, field: str, value: object) -> None:
    """The event's digest covers each of them."""
    damaged = msgspec.structs.replace(row, **{field: value})

    assert damaged.damage() == "the public columns are not those that were digested"


def test_a_lost_salt_is_damage(row: Row) -> None:
    """Erasing nulls salt and payload together; a payload without a salt cannot be checked."""
    assert msgspec.structs.replace(row, salt=None).damage() == "the salt is gone but the payload is not"


def test_an_erased_row_still_proves_its_place(row: Row) -> None:
    """Without any private column the public digest holds, and still finds a change."""
    erased = msgspec.structs.replace(row, salt=None, command_id=None, occurred_at=None, sources=(), payload=None, vector=None)

    assert erased.damage() is None
    assert msgspec.structs.replace(erased, recorded_at=1).damage() is not None


def test_equal_events_differ_by_their_salt() -> None:
    """So that what was erased cannot be guessed and compared."""
    salt = counting_salt()

    [first], [second] = (chain(ANN, 0, genesis(ANN), stamped("yes"), salt) for _ in range(2))

    assert (first.payload, first.prev_digest) == (second.payload, second.prev_digest)
    assert first.payload_digest != second.payload_digest


def test_the_chain_begins_with_the_stream() -> None:
    """No two streams share a genesis, even when their names run together."""
    names = [("a", "b"), ("ab", ""), ("", "ab"), ("b", "a"), ("a", "bc"), ("ab", "c")]

    assert len(names) == len({genesis(msgspec.structs.replace(ANN, space=space, user=user)) for space, user in names})


def test_contiguous_names_what_breaks_the_chain() -> None:
    """A hole, a repeated seq, or a row that follows another one."""
    rows = chain(ANN, 0, genesis(ANN), stamped("a", "b", "c"), counting_salt())
    others = chain(ANN, 0, genesis(ANN), stamped("a", "x", "c"), counting_salt(9))

    assert contiguous(rows, 0, genesis(ANN)) is None
    assert "seq 3 where 2 should be" == contiguous([rows[0], rows[2]], 0, genesis(ANN))
    assert "seq 1 where 2 should be" == contiguous([rows[0], rows[0]], 0, genesis(ANN))
    assert "event 2 does not follow the event before it (prev_digest differs)" == contiguous([rows[0], others[1]], 0, genesis(ANN))
    assert "event 1 does not follow the event before it (prev_digest differs)" == contiguous(rows, 0, genesis(BOB))


def test_the_envelope_says_what_the_row_holds(row: Row) -> None:
    """The typed payload and every column beside it."""
    event = envelope(row)

    assert (said("hello"), "home", "ann", 7, "TurnRecorded", 1) == (
        event.data,
        event.space,
        event.user,
        event.seq,
        event.type,
        event.schema_version,
    )
    assert (1000, 900, 5, "c7", (Source(1), Source(2))) == (
        event.recorded_at,
        event.imported_at,
        event.occurred_at,
        event.command_id,
        event.sources,
    )
    assert (row.digest, row.prev_digest, row.payload_digest, False) == (
        event.digest,
        event.prev_digest,
        event.payload_digest,
        event.redacted,
    )


def test_the_envelope_before_and_after_the_log_fold_alike() -> None:
    """What the writer folds at once is what a reader folds later, digests aside."""
    [item] = [stamp(said("x"), 5, "c1", occurred_at=3, sources=(1,))]
    [row] = chain(ANN, 1, b"p" * 32, [item], counting_salt())

    read = msgspec.structs.replace(envelope(row), prev_digest=b"", payload_digest=b"", digest=b"")

    assert read == item.envelope(ANN, 2)


def test_an_event_happened_when_it_was_said_to_or_else_when_it_was_recorded(row: Row) -> None:
    """`occurred_at` where it is known."""
    assert (5, 1000) == (envelope(row).happened_at, envelope(msgspec.structs.replace(row, occurred_at=None)).happened_at)


def test_an_erased_row_is_redacted(row: Row) -> None:
    """It has a place but says nothing."""
    event = envelope(msgspec.structs.replace(row, salt=None, payload=None))

    assert (True, Unknown(raw=b""), "TurnRecorded") == (event.redacted, event.data, event.type)


def test_a_payload_that_is_not_of_its_type_is_damage(row: Row) -> None:
    """The error names the event."""
    with pytest.raises(StoreDamaged, match="event 7 of home/ann is no TurnRecorded"):
        envelope(msgspec.structs.replace(row, payload=b'{"turn_id":1}'))


def test_a_later_schema_version_is_unknown() -> None:
    """A payload of a version that this program does not know is carried, not guessed at."""
    assert Unknown(raw=b'{"turn_id":"t"}') == decode_payload("TurnRecorded", 2, b'{"turn_id":"t"}')


def test_old_versions_are_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the version that was written to the one of today; the stored bytes stay."""
    steps = {
        ("TurnRecorded", 1): lambda payload: payload.replace(b'"text":', b'"content":'),
        ("TurnRecorded", 2): lambda payload: payload.replace(b'"who":', b'"role":'),
    }
    monkeypatch.setattr(upcast, "STEPS", steps)
    monkeypatch.setitem(upcast.CURRENT, "TurnRecorded", 3)
    first = b'{"turn_id":"t1","conversation":"main","turn":1,"who":"user","text":"hi"}'
    second = first.replace(b'"text":', b'"content":')
    third = second.replace(b'"who":', b'"role":')

    assert [said("hi")] * 3 == [
        decode_payload("TurnRecorded", version, payload) for version, payload in ((1, first), (2, second), (3, third))
    ]


def test_unknown_fields_of_a_known_type_are_passed_over() -> None:
    """A later version may add optional fields without a new schema version."""
    _, payload = encode_payload(said("hi"))

    assert said("hi") == decode_payload("TurnRecorded", 1, payload.replace(b'{"turn_id"', b'{"mood":"calm","turn_id"'))


def test_every_type_has_a_decoder() -> None:
    """By its own name."""
    assert set(TYPES) == set(rows_module._DECODERS)
    assert TurnRecorded is TYPES["TurnRecorded"]


def test_the_size_of_an_event_counts_its_text_and_its_vector() -> None:
    """It bounds a commit, so it must grow with both."""
    small = size_of(NewEvent(said("x")))
    long = size_of(NewEvent(said("x" * 10_001)))
    vector = np.zeros((3, 384), np.int16)

    assert 10_000 == long - small
    assert 3 * 384 * 2 == size_of(NewEvent(said("x"), vector=vector)) - small


def test_no_vectors_at_all_are_no_damage() -> None:
    """An event whose texts were all empty has a vector of no rows; it comes back sound."""
    from events.log import commit_file

    [made] = chain(
        ANN, 0, genesis(ANN), [stamp(TurnEmbedded(turn_seq=1, model="m", kinds=()), vector=np.empty((0, 384), np.int16))], counting_salt()
    )

    [read] = commit_file.decode(commit_file.encode([made]), "f")

    assert read.damage() is None
