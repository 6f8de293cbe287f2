"""Snapshots of views as files below the store: one a user, replaced whole, and disposable.

What cannot be used (torn, of other code, of another store) is passed over, and logged; it is never taken for the truth.
A snapshot that the log contradicts is not silently dropped: whoever loads it holds it against the log (see
`projections.views.Views`), and `check_snapshots` does so for all.
"""

import hashlib
import logging
import os
import sys
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

import numpy as np

import events
import projections
from events.errors import MemoryActorsError
from events.ids import StreamId
from events.log import Log
from events.log.files import Files
from events.log.store import Store
from projections import snapshot
from projections.snapshot import Header, Seal, Unfit
from projections.view import StreamView
from projections.views import standing_problem

FOLDER = "snapshots"
SUFFIX = ".snapshot"
_LOG = logging.getLogger(__name__)


class Snapshots:
    """The snapshots of one store. Any number of processes may use them: a file is replaced in one step, the last one stays."""

    def __init__(self, store: Store, files: Files | None = None) -> None:
        self._folder = store.path / FOLDER
        self._files = files or Files()
        self._secret = store.secret

    @cached_property
    def _seal(self) -> Seal:
        return Seal(self._secret, fingerprint())

    def path(self, stream: StreamId) -> Path:
        """Where the snapshot of a stream is, if there is one."""
        return self._folder / f"{stream.folder}{SUFFIX}"

    def load(self, stream: StreamId) -> StreamView | None:
        """The view that was kept last; None where there is none that this code can use."""
        content = self._content(self.path(stream))
        if content is None:
            return None
        try:
            view = snapshot.load(content, self._seal)
            if view.stream != stream:
                raise Unfit(f"of {view.stream}")
        except Unfit as unfit:
            _LOG.info("the snapshot of %s is not used, and its log is folded instead: %s", stream, unfit)
            return None
        return view

    def save(self, view: StreamView) -> bool:
        """Keep a view instead of the one kept before; whether it was. What cannot be written costs time and nothing else."""
        try:
            self._write(self.path(view.stream), snapshot.dump(view, self._seal))
        except (OSError, MemoryActorsError) as error:
            _LOG.warning("no snapshot of %s could be written: %s", view.stream, error)
            return False
        except Exception:  # noqa: BLE001 - a read is not lost with its snapshot; that a view cannot be packed is a mistake of ours
            _LOG.exception("no snapshot of %s could be made", view.stream)
            return False
        return True

    def drop(self, stream: StreamId) -> None:
        """Keep nothing of the stream, whatever a writer that died has left included."""
        for path in (self.path(stream), _temporary(self.path(stream))):
            self._files.unlink(path)

    def headers(self) -> list[Header]:
        """What the snapshots are of, in order; those that are torn or of another store are passed over."""
        paths = [folder / name for folder in self._spaces() for name in self._files.names(folder) if name.endswith(SUFFIX)]
        return [header for path in paths if (header := self._header(path)) is not None]

    def _spaces(self) -> list[Path]:
        return [self._folder / name for name in self._files.names(self._folder)]

    def _header(self, path: Path) -> Header | None:
        try:
            header = snapshot.header(self._content(path) or b"", self._seal)
        except Unfit:
            return None
        return header if self.path(header.stream) == path else None

    def _content(self, path: Path) -> bytes | None:
        try:
            return self._files.read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            _LOG.info("%s is not used: %s", path, error)
            return None

    def _write(self, path: Path, content: bytes) -> None:
        """Under another name first; it need not survive a crash, so nothing is fsynced."""
        self._files.make_folder(path.parent)
        temporary = _temporary(path)
        self._files.unlink(temporary)
        try:
            with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(content)
            temporary.replace(path)
        finally:
            self._files.unlink(temporary)


def _temporary(path: Path) -> Path:
    """One name a user, so that what a writer left that died is found. Two at once may spoil a snapshot: its seal tells."""
    return path.with_name(f"{path.name}.new")


def check_snapshots(log: Log, snapshots: Snapshots) -> list[str]:
    """What the snapshots say that the log does not: evidence of lost events. Nothing is changed."""
    return [problem for header in snapshots.headers() if (problem := _problem(log, header))]


def _problem(log: Log, header: Header) -> str | None:
    try:
        return standing_problem(header.stream, header.tail, log.holds(header.stream, header.start, header.tail))
    except MemoryActorsError as error:
        return f"the snapshot of {header.stream} cannot be held against its log: {error}"


@cache
def fingerprint() -> str:
    """Of all code that makes a view from a log: ours by its source, the parts of others by their version."""
    digest = hashlib.blake2b(digest_size=16)
    for package in (events, projections):
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    others = [np.__version__, metadata.version("snowballstemmer"), sys.version_info[:2], sys.byteorder]
    digest.update(repr(others).encode())
    return digest.hexdigest()
