"""Names of spaces and users: any text can be one, none can leave its folder, and none falls together with another."""

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InvalidInput
from events.ids import MAX_ENCODED_BYTES, StreamId, check_id, decode_id, encode_id, space_stream, stream_id

VALID = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(VALID)
def test_an_id_comes_back_from_its_folder(value: str) -> None:
    """Encoding loses nothing, Unicode normalisation forms included."""
    assert value == decode_id(encode_id(value))


@given(VALID)
def test_a_folder_name_is_plain(value: str) -> None:
    """Lower-case letters, digits, `_`, `-` and percent-encoded bytes: no dot, slash, capital letter or NUL can come through."""
    assert re.fullmatch(r"([a-z0-9_-]|%[0-9A-F]{2})+", encode_id(value))


@given(VALID, VALID)
def test_two_ids_never_share_a_folder(one: str, other: str) -> None:
    """Not even where the file system folds letter case."""
    same_folder = encode_id(one).casefold() == encode_id(other).casefold()

    assert (one == other) == same_folder


@given(st.text(max_size=30))
def test_a_folder_is_ours_only_if_an_id_encodes_to_it(folder: str) -> None:
    """Any other name decodes to nothing."""
    value = decode_id(folder)

    assert value is None or encode_id(value) == folder


@pytest.mark.parametrize("folder", ["", "A", "a.b", "%61", "%4a", "%4", "%", "%FF", "%C0%AF", "%ED%A0%80", "a/b", "..", "é", "a\n", "a "])
def test_foreign_folders_decode_to_nothing(folder: str) -> None:
    """Needless, lower-case, torn or overlong encodings, and bytes that are no UTF-8."""
    assert decode_id(folder) is None


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("alice", "alice"),
        ("a_b-9", "a_b-9"),
        ("../x", "%2E%2E%2Fx"),
        (".", "%2E"),
        ("Ann", "%41nn"),
        ("a b", "a%20b"),
        ("@x", "%40x"),
        ("100%", "100%25"),
        ("é", "%C3%A9"),
        ("🙂", "%F0%9F%99%82"),
        ("nul\0", "nul%00"),
        ("a\\b", "a%5Cb"),
        ("a:b", "a%3Ab"),
        ("007", "007"),
    ],
)
def test_odd_ids_have_tame_folders(value: str, folder: str) -> None:
    """Paths, capitals, signs, emoji and NUL."""
    assert folder == encode_id(check_id(value, "a user"))


@pytest.mark.parametrize("value", ["../x", "..", "/etc", "a/../../b", "\\..\\", "~", "a\0/b"])
def test_no_id_leaves_its_folder(value: str) -> None:
    """Two folders below `log/`, whatever the names."""
    path = PurePosixPath(StreamId(value, value).folder)

    assert (2, False, ["space=", "user="]) == (len(path.parts), ".." in path.parts, [part[: part.index("=") + 1] for part in path.parts])


@pytest.mark.parametrize("value", ["a", "x" * 128, "é" * 33, "🙂" * 16, "A" * 66, "a" * 92 + "A" * 36])
def test_ids_up_to_the_bounds_are_taken(value: str) -> None:
    """128 bytes, and 200 as a folder name."""
    assert value == check_id(value, "a user")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "1 to 128 bytes"),
        ("x" * 129, "1 to 128 bytes of UTF-8; this one has 129"),
        ("é" * 65, "this one has 130"),
        ("A" * 67, "needs 201 bytes as a folder name"),
        ("🙂" * 17, "needs 204 bytes as a folder name"),
        ("a\ud800", "lone surrogate"),
        ("\udfff", "lone surrogate"),
    ],
)
def test_ids_that_cannot_be_kept_are_refused(value: str, why: str) -> None:
    """The error says which bound, and can itself be printed."""
    with pytest.raises(InvalidInput, match=why) as caught:
        stream_id("home", value)

    assert str(caught.value).encode()


@pytest.mark.parametrize("value", [None, 7, b"ann"])
def test_an_id_is_text(value: object) -> None:
    """Anything else is refused by its type."""
    with pytest.raises(InvalidInput, match=f"must be text, not {type(value).__name__}"):
        check_id(value, "a user")


def test_the_longest_folder_fits_any_file_system() -> None:
    """With its prefix a folder name stays below 255 bytes."""
    assert len("space=") + MAX_ENCODED_BYTES < 255


def test_a_user_cannot_take_a_reserved_name() -> None:
    """Names that begin with `@` are a space's own streams; a space may be called so."""
    with pytest.raises(InvalidInput, match="reserved"):
        stream_id("home", "@x")

    assert StreamId("@x", "ann") == stream_id("@x", "ann")


def test_a_space_has_a_stream_of_its_own() -> None:
    """Its user is `@space`, which no user can be."""
    assert StreamId("home", "@space") == space_stream("home")
    with pytest.raises(InvalidInput):
        space_stream("")


def test_a_bad_space_is_named_as_such() -> None:
    """The error says which of the two is wrong."""
    with pytest.raises(InvalidInput, match="a space must have"):
        stream_id("", "ann")
