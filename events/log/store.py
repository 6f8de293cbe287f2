"""A store is a folder. `store.json` says what it is; it is made once, and linked, so that two makers agree on one."""

import os
from pathlib import Path

import msgspec

from events import ambient
from events.errors import InvalidInput, StoreDamaged, StoreNotHere, StoreTooNew
from events.log.digest import file_digest
from events.log.files import Files

FORMAT = 1
NAME = "store.json"


class Windows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How seqs are grouped into sealed files: `small` seqs a window up to `until`, then `large`."""

    small: int = 64
    until: int = 1024
    large: int = 1024

    def start(self, seq: int) -> int:
        """The first seq of the window that `seq` lies in, which is also the window's name."""
        size = self.small if seq <= self.until else self.large
        return (seq - 1) // size * size + 1


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of `store.json`. `secret` keys the hashes that make command ids of ingested lines."""

    format: int
    store_id: str
    windows: Windows
    secret: str
    digest: str = ""

    def sealed(self) -> "Description":
        """The same with its digest filled in."""
        return msgspec.structs.replace(self, digest=self._digest())

    def _digest(self) -> str:
        return file_digest(msgspec.json.encode(msgspec.structs.replace(self, digest="")))

    @property
    def sound(self) -> bool:
        """Whether the digest holds."""
        return self.digest == self._digest()


class Store(msgspec.Struct, frozen=True):
    """A store that is known to be here."""

    path: Path
    description: Description

    @property
    def log(self) -> Path:
        """The folder of all streams."""
        return self.path / "log"

    @property
    def secret(self) -> bytes:
        """The key of the store's hashes."""
        return bytes.fromhex(self.description.secret)


def open_store(path: str | os.PathLike[str], files: Files | None = None) -> Store:
    """The store at `path`. Raises StoreNotHere, StoreTooNew, StoreDamaged, InvalidInput; never makes one."""
    folder = _folder(path)
    try:
        content = (files or Files()).read(folder / NAME)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreNotHere(
            f"no store at {folder} on this machine. `ingest` or `record` makes one; if it is elsewhere, name it with --store"
        ) from None
    return Store(folder, _parse(content, folder / NAME))


def create_store(path: str | os.PathLike[str], files: Files | None = None) -> Store:
    """The store at `path`, made if there is none yet."""
    folder, files = _folder(path), files or Files()
    if not files.exists(folder / NAME):
        _check_empty(folder, files)
        files.make_folder(folder / "log")
        description = Description(format=FORMAT, store_id=ambient.new_id(), windows=Windows(), secret=ambient.secret().hex())
        files.link_new(folder, NAME, msgspec.json.format(msgspec.json.encode(description.sealed())) + b"\n")
        files.fsync_folder(folder)
    return open_store(folder, files)


def _check_empty(folder: Path, files: Files) -> None:
    """A log without its description is not a new store: a new secret would give every ingested line another id."""
    if files.names(folder / "log") and not files.exists(folder / NAME):
        raise StoreDamaged("it is gone, but there is a log beside it; put it back from a backup", str(folder / NAME))


def _folder(path: str | os.PathLike[str]) -> Path:
    folder = Path(path).absolute()
    if "\0" in str(folder):
        raise InvalidInput("a store's path cannot hold a NUL character")
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise InvalidInput(f"{there} is a file; a store is a folder")
    return folder


def _parse(content: bytes, file: Path) -> Description:
    try:
        found = msgspec.json.decode(content)
        if isinstance(found, dict) and isinstance(found.get("format"), int) and found["format"] > FORMAT:
            raise StoreTooNew(f"{file} has format {found['format']}; this version reads up to {FORMAT}: upgrade memory-actors")
        description = msgspec.convert(found, Description)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"not a store's description: {error}", str(file)) from error
    if not description.sound:
        raise StoreDamaged("the description is not the one that was written (digest differs)", str(file))
    return description
