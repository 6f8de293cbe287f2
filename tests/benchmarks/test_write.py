"""What a durable turn costs: against the disk's own price for as many bytes, and against a peer."""

import os
from itertools import count
from pathlib import Path

import pytest
from builders import ANN
from measure import interleaved, report, seconds
from peers import Peer

from events.ambient import SystemClock, new_id
from events.commands import RecordTurn
from events.log.file_log import FileLog
from events.log.store import create_store
from events.policy import Policy
from memory_actors.actors.user_actor import Ack, UserActor

CONTENT = "I moved to Lisbon in March, and I am still vegetarian. Please keep answers short, and use metric units."
ROUNDS, BATCH = 300, 1000

pytestmark = pytest.mark.benchmark


def turn(number: int) -> RecordTurn:
    return RecordTurn(id=new_id(), turn_id=f"t{number}", role="user", content=CONTENT)


def writer(folder: Path) -> tuple[FileLog, UserActor]:
    log, policy = FileLog(create_store(folder)), Policy()
    return log, UserActor(log, SystemClock(), lambda _: policy)


class Disk:
    """What the disk asks: for bytes in a new file, and for the two steps that make a commit appear whole or not at all."""

    def __init__(self, folder: Path, content: bytes) -> None:
        folder.mkdir()
        self._folder, self._content, self._numbers = folder, content, count()

    def new_file(self, _: int) -> None:
        """Write + fdatasync."""
        descriptor = os.open(self._folder / f"n{next(self._numbers)}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(descriptor, self._content)
        os.fdatasync(descriptor)
        os.close(descriptor)

    def linked(self, _: int) -> None:
        """Write + fdatasync + link + fsync of the folder."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        descriptor = os.open(self._folder, os.O_TMPFILE | os.O_RDWR, 0o600)
        os.write(descriptor, self._content)
        os.fdatasync(descriptor)
        os.link(f"/proc/self/fd/{descriptor}", f"l{next(self._numbers)}", src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        os.fsync(folder)
        os.close(descriptor)
        os.close(folder)


def test_a_recorded_turn(tmp_path: Path) -> None:
    """In units of write + fdatasync of the same bytes: aim 4."""
    log, actor = writer(tmp_path / "store")
    for number in range(30):
        actor.execute(ANN, [turn(number)])
    content = max(log.folder(ANN).glob("*.parquet")).read_bytes()
    disk, peer = Disk(tmp_path / "disk", content), Peer(tmp_path)
    steps = {
        "write + fdatasync": disk.new_file,
        "write + fdatasync + link + fsync folder": disk.linked,
        "recorded turn": lambda number: actor.execute(ANN, [turn(number)]),
        "eventsourcing, SQLite, one event": lambda number: peer.record(number, CONTENT),
    }
    taken = interleaved(ROUNDS, steps)
    peer.close()
    bare, floor = taken["write + fdatasync"], taken["write + fdatasync + link + fsync folder"]
    rows = [(name, seconds(value), f"{value / bare:.2f}", f"{value / floor:.2f}") for name, value in taken.items()]
    report(
        f"{ROUNDS} turns of {len(CONTENT)} characters, a file of {len(content)} bytes each, on {tmp_path}",
        __file__,
        ("a durable turn", "median", "x write + fdatasync", "x the protocol's floor"),
        rows,
        f"aim: a recorded turn at most 4 x write + fdatasync; here {taken['recorded turn'] / bare:.2f}",
    )


def test_the_processor_s_part(tmp_path: Path) -> None:
    """The same without a disk to wait for, where there is a file system in memory: what is ours to improve."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("no file system in memory here")
    folder = memory / f"memory-actors-{new_id()}"
    _, actor = writer(folder)
    disk = Disk(folder / "disk", b"x" * 2800)
    try:
        taken = interleaved(
            ROUNDS, {"link, no disk": disk.linked, "recorded turn, no disk": lambda number: actor.execute(ANN, [turn(number)])}, warm=30
        )
    finally:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()
    report(f"{ROUNDS} turns on {memory}", __file__, ("in memory", "median"), [(name, seconds(value)) for name, value in taken.items()])


def test_a_batch(tmp_path: Path) -> None:
    """A thousand turns through one call, in commits of at most 512 events."""
    _, actor = writer(tmp_path / "store")
    peer, users = Peer(tmp_path), count()

    def batch(_: int) -> None:
        replies = actor.execute(type(ANN)("home", f"u{next(users)}"), [turn(number) for number in range(BATCH)])
        assert all(isinstance(reply, Ack) for reply in replies)

    steps = {"execute, a new stream": batch, "eventsourcing, SQLite, one transaction": lambda _: peer.record_all([CONTENT] * BATCH)}
    taken = interleaved(9, steps, warm=1)
    peer.close()
    rows = [(name, seconds(value), f"{BATCH / value:,.0f}") for name, value in taken.items()]
    report(f"{BATCH} turns at once", __file__, ("a batch", "median", "turns/s"), rows)
