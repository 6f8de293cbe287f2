"""A store as it was at a moment: the same rows, the same chain, only fewer of them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from events.errors import InvalidInput
from events.ids import StreamId
from events.log import MAX_COMMIT_BYTES, MAX_COMMIT_EVENTS, commit_file
from events.log.file_log import FileLog
from events.log.files import Files
from events.log.plan import file_name
from events.log.row import Row
from events.log.store import NAME, open_store


class Copied(msgspec.Struct, frozen=True):
    """What a copy holds."""

    streams: int
    events: int


def copy(log: FileLog, until: int, destination: Path) -> Copied:
    """Every event recorded at or before `until` (microseconds), as a store of its own at `destination`, which must not exist."""
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise InvalidInput(f"{destination} is there already; a copy goes to a new folder")
    files = Files()
    files.make_folder(destination / "log")
    counts = [_stream(log, stream, until, files, destination) for stream in log.streams()]
    files.link_new(destination, NAME, log.files.read(log.store.path / NAME))
    files.fsync_folder(destination)
    open_store(destination, files)
    return Copied(sum(1 for count in counts if count), sum(counts))


def _stream(log: FileLog, stream: StreamId, until: int, files: Files, destination: Path) -> int:
    rows = [row for row in log.read(stream).rows if row.recorded_at <= until]
    if not rows:
        return 0
    folder = destination / "log" / stream.folder
    files.make_folder(folder)
    _floor(log.folder(stream), folder, files)
    for commit in commits(rows):
        files.link_new(folder, file_name(commit[0].seq), commit_file.encode(commit))
    files.fsync_folder(folder)
    return len(rows)


def _floor(source: Path, folder: Path, files: Files) -> None:
    """An erased stream begins at its floor, in a copy too."""
    if files.exists(source / "sealed" / "floor"):
        files.make_folder(folder / "sealed")
        files.link_new(folder / "sealed", "floor", files.read(source / "sealed" / "floor"))
        files.fsync_folder(folder / "sealed")


def commits(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows as commits: whole commands, as many as the bounds allow."""
    commit: list[Row] = []
    size = 0
    for _, command in groupby(rows, key=lambda row: row.command_id or row.seq):
        whole = list(command)
        more = sum(_size(row) for row in whole)
        if commit and (len(commit) + len(whole) > MAX_COMMIT_EVENTS or size + more > MAX_COMMIT_BYTES):
            yield commit
            commit, size = [], 0
        commit, size = [*commit, *whole], size + more
    yield commit


def _size(row: Row) -> int:
    return len(row.payload or b"") + (0 if row.vector is None else row.vector.nbytes)
