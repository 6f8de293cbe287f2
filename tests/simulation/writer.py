"""A writer in a process of its own: records turns of one user and prints each acknowledged one. Killed at any moment by its test.

writer.py STORE PREFIX FIRST COUNT TEMPORARIES STOP

TEMPORARIES  "named": they get names, as on file systems without O_TMPFILE
STOP         "step:before:n" or "step:after:n": it says `stopped` at the n-th step of that name, and waits to be killed
"""

import os
import signal
import sys
from pathlib import Path

from events import ambient
from events.ambient import SystemClock
from events.commands import RecordTurn
from events.errors import Busy
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.files import TEMPORARY, Files
from events.log.store import open_store
from events.policy import Policy
from memory_actors.actors.user_actor import UserActor

STREAM = StreamId("home", "ann")


class NamedTemporaries(Files):
    """The file system of a machine that knows no unnamed files."""

    def _open_unnamed(self, folder: Path) -> tuple[int, Path | None]:
        source = folder / f"{TEMPORARY}{ambient.new_id()}"
        return os.open(source, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), source


def stop_at(files: Files, step: str, moment: str, nth: int) -> None:
    """Make the n-th step of that name the last."""
    real, left = getattr(files, step), nth

    def watched(*arguments: object) -> object:
        nonlocal left
        left -= 1
        if left == 0 and moment == "before":
            stop()
        result = real(*arguments)
        if left == 0:
            stop()
        return result

    setattr(files, step, watched)


def stop() -> None:
    """Stand still."""
    print("stopped", flush=True)
    signal.pause()


def main(path: str, prefix: str, first: str, count: str, temporaries: str = "", stopping: str = "") -> None:
    """Record turns `first` to `first + count - 1`, each until it is acknowledged."""
    files = NamedTemporaries() if temporaries == "named" else Files()
    if stopping:
        step, moment, nth = stopping.split(":")
        stop_at(files, step, moment, int(nth))
    actor = UserActor(FileLog(open_store(path), files), SystemClock(), lambda _: Policy())
    print("ready", flush=True)
    for number in range(int(first), int(first) + int(count)):
        name = f"{prefix}{number}"
        command = RecordTurn(id=f"id-{name}", turn_id=name, role="user", content=f"content of {name}")
        while True:
            try:
                [ack] = actor.execute(STREAM, [command])
            except Busy:
                continue
            break
        print(name, ack.first, int(ack.duplicate), flush=True)
    print("done", flush=True)


main(*sys.argv[1:])
