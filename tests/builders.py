"""What tests are made of: turns, commits, and hand-made sealed windows and floors (SEAL and ERASE as the protocol has them)."""

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import msgspec

from events.commands import RecordTurn
from events.envelope import NewEvent
from events.ids import StreamId
from events.log import Handle, Log, commit_file
from events.log.file_log import FileLog
from events.log.plan import Floor, file_name
from events.log.row import Row, Stamped
from events.log.store import Description, Store, Windows
from events.vocabulary import Payload, StreamErased, TurnRecorded

ANN, BOB = StreamId("home", "ann"), StreamId("home", "bob")


def counting_salt(start: int = 1) -> Callable[[], bytes]:
    """Salts that are numbers, so that equal histories give equal bytes."""
    numbers = count(start)
    return lambda: next(numbers).to_bytes(16, "big")


def turn(number: int, content: str | None = None, **fields: object) -> RecordTurn:
    """The command to record turn `number`; its id is `c<number>`."""
    given = {"id": f"c{number}", "turn_id": f"t{number}", "role": "user", "content": f"turn {number}" if content is None else content}
    return RecordTurn(**{**given, **fields})


def said(content: str, number: int = 1) -> TurnRecorded:
    """The event of a turn."""
    return TurnRecorded(turn_id=f"t{number}", conversation="main", turn=number, role="user", content=content)


def stamped(*contents: str, at: int = 1000, command: str = "c") -> list[Stamped]:
    """One command's events, one turn a content."""
    return [Stamped(NewEvent(said(content)), command, at) for content in contents]


def stamp(data: Payload, at: int = 1000, command: str = "c", **event: object) -> Stamped:
    """One event of any payload."""
    return Stamped(NewEvent(data, **event), command, at)


def write(log: Log, handle: Handle, *sizes: int) -> None:
    """Commits of these sizes at the handle's end; event n says `event n`."""
    for size in sizes:
        first = handle.tail.seq + 1
        contents = [f"event {seq}" for seq in range(first, first + size)]
        log.append(handle, stamped(*contents, at=first * 1000, command=f"c{first}"), expected_seq=handle.tail.seq)


def contents(rows: Sequence[Row]) -> list[str]:
    """What the turns among the rows say."""
    return [msgspec.json.decode(row.payload)["content"] for row in rows if row.payload and row.type == "TurnRecorded"]


def small_store(path: Path) -> Store:
    """A store with windows of 4 seqs up to 16, then of 8, so that few events fill several."""
    description = Description(format=1, store_id="s", windows=Windows(small=4, until=16, large=8), secret="00" * 32).sealed()
    (path / "log").mkdir(parents=True)
    (path / "store.json").write_bytes(msgspec.json.format(msgspec.json.encode(description)) + b"\n")
    return Store(path, description)


def names(folder: Path) -> list[str]:
    """All files below a folder, by their path in it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def seal(log: FileLog, stream: StreamId, window: int, *, unlink: bool = True) -> Path:
    """SEAL by hand: all commits whose first seq lies in the window, in one file; then their small files go."""
    folder, windows = log.folder(stream), log.store.description.windows
    members = [path for path in sorted(folder.glob("*.parquet")) if windows.start(int(path.stem)) == window]
    rows = [row for path in members for row in commit_file.decode(path.read_bytes(), str(path))]
    target = folder / "sealed" / file_name(window)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(commit_file.encode(rows))
    for path in members if unlink else ():
        path.unlink()
    return target


def raise_floor(log: FileLog, stream: StreamId, seq: int, digest: bytes) -> Path:
    """The floor file: below `seq` nothing counts; `digest` is of the event before it."""
    target = log.folder(stream) / "sealed" / "floor"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(msgspec.json.encode(Floor(seq, digest.hex())))
    return target


def erase(log: FileLog, stream: StreamId) -> int:
    """ERASE by hand: commit StreamErased, raise the floor to it, unlink what is below. Returns the floor."""
    handle, reading = log.open(stream)
    [row] = log.append(handle, [stamp(StreamErased(), reading.tail.recorded_at + 1)], expected_seq=handle.tail.seq)
    raise_floor(log, stream, row.seq, row.prev_digest)
    folder = log.folder(stream)
    for path in (*folder.glob("*.parquet"), *(folder / "sealed").glob("*.parquet")):
        if int(path.stem) < row.seq:
            path.unlink()
    return row.seq
