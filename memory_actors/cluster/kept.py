"""What a long job has finished, in a file of its own: so that one whose driver was killed goes on where it was.

An item is found by the digest of all that its result depends on; results of other inputs, another policy or another version
stay in the file and are not taken. A result is durable before it is reported; a last line that a crash has torn is done again.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from events.errors import Busy, InvalidInput
from events.log.files import Files

Item = TypeVar("Item")
Done = TypeVar("Done")

HEADER = b'{"memory-actors":"finished items","format":1}\n'


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line."""

    key: str
    done: msgspec.Raw


class Kept(Generic[Item, Done]):
    """The finished items in one file. One process at a time may hold it."""

    def __init__(self, file: int, done: type[Done], key: Callable[[Item], str], found: dict[str, msgspec.Raw]) -> None:
        self._file, self._done, self._key, self._found = file, done, key, found

    def get(self, item: Item) -> Done | None:
        """The item's result, if it was finished before."""
        found = self._found.get(self._key(item))
        return None if found is None else msgspec.json.decode(found, type=self._done)

    def keep(self, item: Item, done: Done) -> None:
        """Durable when this returns."""
        entry = Entry(self._key(item), msgspec.Raw(msgspec.json.encode(done)))
        self._found[entry.key] = entry.done
        _append(self._file, msgspec.json.encode(entry) + b"\n")


@contextmanager
def kept_in(path: Path, done: type[Done], key: Callable[[Item], str]) -> Iterator[Kept[Item, Done]]:
    """The file at `path`, made if there is none; `key` says an item's key, and results are of the type `done`.

    Raises InvalidInput for a file that is something else, which is left as it is, and Busy while another job holds it.
    """
    file = _opened(path)
    try:
        _hold(file, path)
        whole = _whole(file, path)
        found = _entries(whole, path)
        os.ftruncate(file, len(whole))
        if not whole:
            _append(file, HEADER)
        Files().fsync_folder(path.parent)
        yield Kept(file, done, key, found)
    finally:
        os.close(file)


def digest(*parts: object) -> str:
    """A key: of the values that a result depends on, and of this version of the code."""
    return hashlib.blake2b(msgspec.json.encode((version("memory-actors"), *parts), order="deterministic"), digest_size=16).hexdigest()


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from error


def _hold(file: int, path: Path) -> None:
    """The lock ends with the process, however that ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Busy(f"{path} is held by a job that runs; wait for it, or name another file") from error


def _whole(file: int, path: Path) -> bytes:
    """The file's whole lines."""
    body = os.pread(file, os.fstat(file).st_size, 0)
    if not (body.startswith(HEADER) or HEADER.startswith(body)):
        raise InvalidInput(f"{path} is no file of finished items; name one that is, or a new one")
    return body[: body.rfind(b"\n") + 1]


def _entries(whole: bytes, path: Path) -> dict[str, msgspec.Raw]:
    found = {}
    for number, line in enumerate(whole.splitlines()[1:], 2):
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path}:{number} is damaged ({error}); remove the line, and it is done again") from error
        found[entry.key] = msgspec.Raw(bytes(entry.done))
    return found


def _append(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]
    os.fsync(file)
