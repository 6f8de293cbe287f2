"""The log in a folder: READ, OPEN, APPEND and LOST of the commit protocol (see `events.log.plan` for which file counts).

The fence is in storage. Two writers, however stale, meet at `link`, which only one can win; a sealed window or a floor
that covers the slot is looked for after the link, in this order, because a slot is freed only while one of these is
visible. No clock decides anything. An acknowledgement means that this digest is in the slot, or in its window's sealed
file, and that the folder is fsynced.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from events import ambient
from events.errors import Erased, OutcomeUnknown, StoreDamaged, StoreNotHere
from events.ids import StreamId, decode_id
from events.log import Handle, Lost, Reading, Salt, Standing, Tail, commit_file
from events.log.digest import genesis
from events.log.files import Files
from events.log.plan import Floor, Gap, Listing, Plan, file_name, plan
from events.log.row import Row, Stamped, chain, contiguous
from events.log.store import NAME, Store

Found = TypeVar("Found")
_TRIES = 5
_BACK_OFF_SECONDS = 0.02


class FileLog:
    """All streams of a store in a folder. Holds no state of its own: any number may stand over one store."""

    def __init__(
        self, store: Store, files: Files | None = None, salt: Salt = ambient.salt, pause: Callable[[float], None] = ambient.pause
    ) -> None:
        self.store = store
        self.files = files or Files()
        self._salt = salt
        self._pause = pause

    # -- which streams there are

    def streams(self) -> list[StreamId]:
        """All streams that hold anything, in order."""
        spaces = self._named(self.store.log, "space=")
        found = (StreamId(space, user) for space, folder in spaces for user, _ in self._named(folder, "user="))
        return sorted(stream for stream in found if self.exists(stream))

    def _named(self, folder: Path, prefix: str) -> list[tuple[str, Path]]:
        names = [name for name in self.files.names(folder) if name.startswith(prefix)]
        decoded = [(decode_id(name.removeprefix(prefix)), folder / name) for name in names]
        return [(value, path) for value, path in decoded if value is not None]

    def folder(self, stream: StreamId) -> Path:
        """The stream's folder."""
        return self.store.log / stream.folder

    def exists(self, stream: StreamId) -> bool:
        """Whether the stream's folder has been made and holds anything."""
        return any(not name.startswith(".") for name in self.files.names(self.folder(stream)))

    # -- READ

    def read(self, stream: StreamId, after: Tail | None = None, *, vectors: bool = True) -> Reading:
        """READ: list, plan, read and verify. A file that vanished or a gap is read again, five times, then it is damage."""
        return self._tried(stream, lambda: self._read(stream, after, vectors))

    def _tried(self, stream: StreamId, reading: Callable[[], Found]) -> Found:
        problem = StoreDamaged("unreadable", str(self.folder(stream)))
        for attempt in range(_TRIES):
            if attempt:
                self._pause(_BACK_OFF_SECONDS * 2**attempt)
            try:
                return reading()
            except Gap as gap:
                problem = StoreDamaged(gap.what, str(self.folder(stream) / gap.file))
            except FileNotFoundError as error:
                problem = StoreDamaged("the file is listed, but is not there", str(error.filename))
        raise problem

    def _read(self, stream: StreamId, after: Tail | None, vectors: bool) -> Reading:
        folder = self.folder(stream)
        listing = self.listing(folder)
        start, before = self._beginning(stream, listing.floor, after)
        planned = plan(listing, start, self.store.description.windows)
        used: set[str] = set()
        rows, tail = self._rows(folder, planned, before, vectors, used)
        return Reading(start, rows, tail, planned.strays + planned.off_chain(used))

    def listing(self, folder: Path) -> Listing:
        """What stands in a stream's folder: in this order, because sealed first would show holes and doubles."""
        small = self.files.names(folder)
        sealed = self.files.names(folder / "sealed")
        return Listing.of(small, sealed, self._floor(folder) if "floor" in sealed else None)

    def _floor(self, folder: Path) -> Floor | None:
        path = folder / "sealed" / "floor"
        try:
            return msgspec.json.decode(self.files.read(path), type=Floor)
        except FileNotFoundError:
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreDamaged(f"not a floor: {error}", str(path)) from error

    @staticmethod
    def _beginning(stream: StreamId, floor: Floor | None, after: Tail | None) -> tuple[int, Tail]:
        """The first seq to read, and the tail before it."""
        if floor is not None and (after is None or floor.seq > after.seq + 1):
            return floor.seq, Tail(floor.seq - 1, floor.digest_bytes)
        if after is not None:
            return after.seq + 1, after
        return 1, Tail(0, genesis(stream))

    def _rows(self, folder: Path, planned: Plan, before: Tail, vectors: bool, used: set[str]) -> tuple[list[Row], Tail]:
        rows: list[Row] = []
        tail = before
        while (name := planned.next(tail.seq + 1)) is not None:
            fresh = [row for row in self._file(folder / name, vectors) if row.seq > tail.seq]
            broken = contiguous(fresh, tail.seq, tail.digest) if fresh else f"it does not hold event {tail.seq + 1}"
            if broken:
                raise Gap(name, broken)
            used.add(name)
            rows += fresh
            tail = Tail(fresh[-1].seq, fresh[-1].digest, fresh[-1].recorded_at)
        return rows, tail

    def _file(self, path: Path, vectors: bool) -> list[Row]:
        return commit_file.decode(self.files.read(path), str(path), vectors=vectors)

    # -- HOLDS

    def holds(self, stream: StreamId, start: int, tail: Tail) -> Standing:
        """How the log stands to events `start` to `tail`, which were read before: by the file that holds the last of them."""
        return self._tried(stream, lambda: self._holding(stream, start, tail))

    def _holding(self, stream: StreamId, start: int, tail: Tail) -> Standing:
        folder = self.folder(stream)
        listing = self.listing(folder)
        if listing.floor is not None and listing.floor.seq > start:
            return "erased"
        for name in plan(listing, start, self.store.description.windows).upto(tail.seq):
            digests = {row.seq: row.digest for row in self._file(folder / name, vectors=False)}
            if tail.seq in digests:
                return "held" if digests[tail.seq] == tail.digest else "other"
            if min(digests, default=tail.seq) < tail.seq:
                return "ahead"
        return "ahead"

    # -- OPEN

    def open(self, stream: StreamId) -> tuple[Handle, Reading]:
        """OPEN: read, then fsync, so that a repeat is never acknowledged before the first is durable."""
        folder = self.folder(stream)
        if not self.files.exists(self.store.path / NAME):
            raise StoreNotHere(f"no store at {self.store.path} on this machine any more")
        self.files.make_folder(folder)
        reading = self.read(stream)
        try:
            self._make_durable(folder)
        except OSError as error:
            raise OutcomeUnknown(f"{folder} may hold commits that are not durable ({error}); repeat with the same id") from error
        return Handle(stream, reading.tail), reading

    def _make_durable(self, folder: Path) -> None:
        for path in (folder / "sealed", folder, folder.parent, self.store.log, self.store.path):
            if self.files.exists(path):
                self.files.fsync_folder(path)

    # -- APPEND

    def append(self, handle: Handle, stamped: Sequence[Stamped], *, expected_seq: int) -> list[Row]:
        """APPEND: link, look for a sealed window, then for the floor; fsync; only then acknowledge."""
        _check(handle, stamped, expected_seq)
        rows = chain(handle.stream, handle.tail.seq, handle.tail.digest, stamped, self._salt)
        folder, first = self.folder(handle.stream), handle.tail.seq + 1
        path = folder / file_name(first)
        try:
            self._link(folder, path, rows)
            self._look_behind(handle, folder, path, rows)
            self.files.fsync_folder(folder)
        except OSError as error:
            handle.closed = True
            raise OutcomeUnknown(f"{path} may be written or not, and durable or not ({error}); repeat with the same id") from error
        handle.tail = Tail(rows[-1].seq, rows[-1].digest, rows[-1].recorded_at)
        return rows

    def _link(self, folder: Path, path: Path, rows: Sequence[Row]) -> None:
        try:
            won = self.files.link_new(folder, path.name, commit_file.encode(rows))
        except FileNotFoundError as error:
            raise Lost(f"{folder} is gone") from error
        if not won and not self._holds(path, rows[-1].digest):
            raise Lost(f"{path} is somebody else's")

    def _look_behind(self, handle: Handle, folder: Path, path: Path, rows: Sequence[Row]) -> None:
        """A slot that an erasure or a sealing freed can be linked again by a writer that slept through it."""
        first = rows[0].seq
        sealed = folder / "sealed" / file_name(self.store.description.windows.start(first))
        if self.files.exists(sealed):
            if self._holds(sealed, rows[-1].digest):
                return
            self.files.unlink(path)
            raise Lost(f"{sealed} covers {path.name}")
        floor = self._floor(folder)
        if floor is not None and floor.seq > first:
            self.files.unlink(path)
            raise Erased(f"{handle.stream} was erased up to event {floor.seq} while this was being written; nothing was kept")

    def _holds(self, path: Path, digest: bytes) -> bool:
        try:
            return any(row.digest == digest for row in self._file(path, vectors=False))
        except FileNotFoundError:
            return False


def _check(handle: Handle, stamped: Sequence[Stamped], expected_seq: int) -> None:
    if handle.closed:
        raise OutcomeUnknown(f"an earlier commit to {handle.stream} has an unknown outcome; open the stream again")
    if not stamped:
        raise ValueError("a commit holds at least one event")
    if expected_seq != handle.tail.seq:
        raise Lost(f"expected the stream to end at {expected_seq}, the handle stands at {handle.tail.seq}")
