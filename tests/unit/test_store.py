"""What a folder must be to be a store, and what is said of one that is not."""

import errno
import os
from pathlib import Path

import msgspec
import pytest
from faults import ScriptedFiles, fail

from events.errors import InvalidInput, StoreDamaged, StoreFull, StoreNotHere, StoreTooNew
from events.log.store import NAME, Description, Store, Windows, create_store, open_store


def test_a_store_is_made_once(tmp_path: Path) -> None:
    """To make it again is to open it."""
    first = create_store(tmp_path / "a" / "store")

    assert first == create_store(tmp_path / "a" / "store") == open_store(tmp_path / "a" / "store")
    assert ["log", NAME] == sorted(path.name for path in first.path.iterdir())


def test_two_stores_differ(tmp_path: Path) -> None:
    """By their id and their secret."""
    one, other = create_store(tmp_path / "one"), create_store(tmp_path / "other")

    assert one.description.store_id != other.description.store_id
    assert one.secret != other.secret
    assert [32, 32] == [len(one.secret), len(other.secret)]


def test_two_makers_agree(tmp_path: Path) -> None:
    """Whoever comes second to the link, having seen no store, takes the first one's."""
    files = ScriptedFiles()
    made: list[Store] = []
    files.at("link_new", 1, lambda: made.append(create_store(tmp_path)))

    late = create_store(tmp_path, files)

    assert [late] == made
    assert 1 == files.counts()["link_new"]


def test_a_store_is_durable_when_it_is_made(tmp_path: Path) -> None:
    """Its description is fsynced before it is linked, its folder afterwards."""
    files = ScriptedFiles()

    create_store(tmp_path / "store", files)

    done = [step for step, path in files.steps[[step for step, _ in files.steps].index("link_new") :] if step != "read"]
    assert ["link_new", "fsync", "fsync_folder", "fsync"] == done


def test_files_are_private(tmp_path: Path) -> None:
    """Only their owner reads a memory."""
    store = create_store(tmp_path / "store")

    assert [0o700, 0o700, 0o600] == [path.stat().st_mode & 0o777 for path in (store.path, store.log, store.path / NAME)]


@pytest.mark.parametrize("missing", ["nowhere", "here/deeper", "."])
def test_opening_never_makes_a_store(tmp_path: Path, missing: str) -> None:
    """A folder without a description, or no folder, is an error that says how to make one."""
    with pytest.raises(StoreNotHere, match=r"no store at .* on this machine"):
        open_store(tmp_path / missing)

    assert [] == list(tmp_path.iterdir())


def test_a_later_format_is_too_new(tmp_path: Path) -> None:
    """Whatever else it says; the remedy is to upgrade."""
    (tmp_path / NAME).write_text('{"format": 2, "shape": "unheard of"}')

    with pytest.raises(StoreTooNew, match="format 2; this version reads up to 1: upgrade"):
        open_store(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"format": 1}',
        b'{"format": "1"}',
        b'{"format": 1, "store_id": "x", "windows": {}, "secret": "00"}',
    ],
)
def test_a_description_that_is_not_one_is_damage(tmp_path: Path, content: bytes) -> None:
    """Empty, torn, foreign, or without its digest; the error names the file."""
    (tmp_path / NAME).write_bytes(content)

    with pytest.raises(StoreDamaged) as caught:
        open_store(tmp_path)

    assert str(tmp_path / NAME) == caught.value.file


@pytest.mark.parametrize(
    "change",
    [
        {"store_id": "another"},
        {"secret": "11" * 32},
        {"windows": Windows(small=32)},
        {"windows": Windows(until=2048)},
        {"digest": "0" * 64},
    ],
)
def test_a_changed_description_is_damage(tmp_path: Path, change: dict[str, object]) -> None:
    """Its digest covers every field: another window size would find other files."""
    description = create_store(tmp_path).description
    (tmp_path / NAME).write_bytes(msgspec.json.encode(msgspec.structs.replace(description, **change)))

    with pytest.raises(StoreDamaged, match="digest differs"):
        open_store(tmp_path)


@pytest.mark.parametrize("old", ['"small"', '"until"', '"large"', '"windows"', '"secret"', '"digest"', '"format"', '"store_id"'])
def test_a_misspelt_field_is_damage(tmp_path: Path, old: str) -> None:
    """Also of a field whose default is what it said."""
    file = create_store(tmp_path).path / NAME
    file.write_text(file.read_text().replace(old, old[:-2] + '~"'))

    with pytest.raises(StoreDamaged):
        open_store(tmp_path)


@pytest.mark.parametrize("way", ["file", "file/store", "file/a/b"])
def test_a_file_in_the_way_is_a_mistaken_call(tmp_path: Path, way: str) -> None:
    """Where the store's folder, or one above it, is a file: for opening and for making, and the file stays."""
    (tmp_path / "file").write_text("mine")

    for use in (open_store, create_store):
        with pytest.raises(InvalidInput, match="is a file"):
            use(tmp_path / way)

    assert "mine" == (tmp_path / "file").read_text()


def test_a_path_with_a_nul_is_a_mistaken_call() -> None:
    """No file system can hold it."""
    with pytest.raises(InvalidInput, match="NUL"):
        open_store("a\0b")


def test_a_read_only_store_can_be_opened(tmp_path: Path) -> None:
    """To open is to read one file, and nothing else is asked of the file system."""
    create_store(tmp_path)
    files = ScriptedFiles()

    open_store(tmp_path, files)

    assert [("read", str(tmp_path / NAME))] == files.steps


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["mkdir", "open"])
def test_a_store_that_cannot_be_made_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str) -> None:
    """No permission or no room: nothing was half-made, and it works once there is."""
    with monkeypatch.context() as patch:
        if call == "mkdir":
            patch.setattr(Path, "mkdir", lambda *_, **__: fail(number)())
        else:
            real = os.open
            patch.setattr(
                os, "open", lambda path, flags, *rest, **named: fail(number)() if flags & os.O_RDWR else real(path, flags, *rest, **named)
            )
        with pytest.raises(StoreFull, match="refused to write"):
            create_store(tmp_path / "store")
    with pytest.raises(StoreNotHere):
        open_store(tmp_path / "store")

    assert create_store(tmp_path / "store") == open_store(tmp_path / "store")


def test_a_maker_that_died_half_way_is_followed(tmp_path: Path) -> None:
    """A folder with a log and no description becomes a store."""
    (tmp_path / "log").mkdir()

    assert create_store(tmp_path) == open_store(tmp_path)


def test_a_description_covers_itself() -> None:
    """Sealing is idempotent, and sound."""
    sealed = Description(format=1, store_id="s", windows=Windows(), secret="00").sealed()

    assert sealed == sealed.sealed()
    assert (True, False) == (sealed.sound, msgspec.structs.replace(sealed, format=0).sound)
