"""Is every byte what was written, and does every stream hang together? Reads everything, changes nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from events.errors import StoreDamaged
from events.ids import StreamId, decode_id
from events.log import commit_file
from events.log.digest import genesis
from events.log.file_log import FileLog
from events.log.plan import Gap, Plan
from events.log.row import Row, contiguous


class Problem(msgspec.Struct, frozen=True):
    """What is wrong and where: a file below the store's folder and, when it is one row, its seq."""

    file: str
    row: int | None
    what: str


class Verification(msgspec.Struct, frozen=True):
    """The outcome of a check of a whole store."""

    ok: bool
    streams: int
    events: int
    problems: tuple[Problem, ...]


def verify(log: FileLog, progress: Callable[[], None] = lambda: None) -> Verification:
    """Check every file digest, row digest and chain. `progress` is called after each stream."""
    problems = list(_foreign_folders(log))
    streams = log.streams()
    events = 0
    for stream in streams:
        count, found = StreamCheck(log, stream).run()
        problems += found
        events += count
        progress()
    return Verification(not problems, len(streams), events, tuple(problems))


def _foreign_folders(log: FileLog) -> Iterator[Problem]:
    """Names below `log/` that no id encodes to: events in them would never be read."""
    for space in log.files.names(log.store.log):
        if _id(space, "space=") is None:
            yield Problem(f"log/{space}", None, "not the folder of a space")
            continue
        for user in log.files.names(log.store.log / space):
            if _id(user, "user=") is None:
                yield Problem(f"log/{space}/{user}", None, "not the folder of a user")


def _id(name: str, prefix: str) -> str | None:
    return decode_id(name.removeprefix(prefix)) if name.startswith(prefix) else None


class StreamCheck:
    """The check of one stream: walks its files as READ does, and goes on past what it finds."""

    def __init__(self, log: FileLog, stream: StreamId) -> None:
        self.log, self.stream = log, stream
        self.folder = log.folder(stream)
        self.problems: list[Problem] = []
        self.used: set[str] = set()
        self.events = 0

    def run(self) -> tuple[int, list[Problem]]:
        """How many events were seen, and what is wrong with them."""
        try:
            listing = self.log.listing(self.folder)
        except StoreDamaged as error:
            return 0, [Problem(self._relative(Path(error.file)), None, error.what)]
        seq, digest = (listing.floor.seq, listing.floor.digest_bytes) if listing.floor else (1, genesis(self.stream))
        self._walk(Plan(listing, self.log.store.description.windows, seq), seq - 1, digest)
        self._strays(Plan(listing, self.log.store.description.windows, seq))
        return self.events, self.problems

    def _walk(self, plan: Plan, seq: int, digest: bytes) -> None:
        while (name := self._next(plan, seq + 1)) is not None:
            self.used.add(name)
            rows = [row for row in self._rows(name) if row.seq > seq]
            if not rows:
                self._report(name, None, f"event {seq + 1} cannot be read; nothing after it was checked")
                return
            self._check(name, rows, seq, digest)
            seq, digest = rows[-1].seq, rows[-1].digest

    def _next(self, plan: Plan, seq: int) -> str | None:
        try:
            return plan.next(seq)
        except Gap as gap:
            self._report(gap.file, None, gap.what)
            return None

    def _rows(self, name: str) -> list[Row]:
        try:
            return commit_file.decode(self.log.files.read(self.folder / name), name)
        except StoreDamaged as error:
            self._report(name, error.row, error.what)
        except OSError as error:
            self._report(name, None, f"cannot be read: {error.strerror}")
        return []

    def _check(self, name: str, rows: list[Row], seq: int, digest: bytes) -> None:
        self.events += len(rows)
        if broken := contiguous(rows, seq, digest):
            self._report(name, None, broken)
        for row in rows:
            if damage := self._damage(row):
                self._report(name, row.seq, damage)

    def _damage(self, row: Row) -> str | None:
        if (row.space, row.user) != (self.stream.space, self.stream.user):
            return f"it belongs to {row.space}/{row.user}"
        if row.payload is None:
            return "its private columns are gone, and no erasure names it"
        return row.damage()

    def _strays(self, plan: Plan) -> None:
        off_chain = () if self.problems else plan.off_chain(self.used)
        for name in plan.strays:
            self._report(name, None, "not part of the stream; never read")
        for name in off_chain:
            self._report(name, None, "off the chain: another commit stands where it begins")

    def _report(self, name: str, row: int | None, what: str) -> None:
        self.problems.append(Problem(self._relative(self.folder / name), row, what))

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self.log.store.path)) if path.is_relative_to(self.log.store.path) else str(path)
