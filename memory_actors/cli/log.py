"""Commands about the log itself."""

from pathlib import Path

import click
import msgspec

from events.errors import StoreDamaged
from events.log import copying, statistics
from events.log import verify as verifying
from memory_actors.cli import answers, show
from memory_actors.cli.options import Chosen, common

FOUND = 1


@click.group()
@common
def log(_chosen: Chosen) -> None:
    """The log: verify, stats, copy."""


@log.command()
@common
def verify(chosen: Chosen) -> int:
    """Check every byte and every chain. Exit code 1 if something is wrong."""
    found = _verified(chosen)
    if chosen.json:
        show.as_json(msgspec.to_builtins(found))
    else:
        cells = [(problem.file, "" if problem.row is None else problem.row, problem.what) for problem in found.problems]
        show.table(("file", "row", "what"), cells, f"sound: {found.events} events in {found.streams} streams")
    return 0 if found.ok else FOUND


def _verified(chosen: Chosen) -> verifying.Verification:
    try:
        with chosen.memory() as memory, show.progress({"verified": len(memory.log.streams())}, unit="streams") as bars:
            return verifying.verify(memory.log, progress=lambda: bars("verified", 1))
    except StoreDamaged as error:  # the store's own description: nothing else can be looked at
        return verifying.Verification(ok=False, streams=0, events=0, problems=(verifying.Problem(error.file, error.row, error.what),))


@log.command()
@common
def stats(chosen: Chosen) -> None:
    """How much there is."""
    with chosen.memory() as memory:
        found = statistics.statistics(memory.log)
    if chosen.json:
        users = [msgspec.to_builtins(row) | {"first": answers.time(row.first), "last": answers.time(row.last)} for row in found.users]
        show.as_json({"users": users, "files": found.files, "bytes": found.bytes})
        return
    cells = [
        (row.space, row.user, row.events, row.turns, show.date(row.first), show.date(row.last), row.backfilled or "") for row in found.users
    ]
    show.table(("space", "user", "events", "turns", "first", "last", "backfilled"), cells, "no users yet")
    show.line(f"{found.files} files, {found.bytes:,} bytes")


@log.command()
@click.option("--until", required=True, metavar="T", help="the last moment to keep")
@click.argument("destination", type=click.Path(path_type=Path))
@common
def copy(chosen: Chosen, until: str, destination: Path) -> None:
    """Copy the store as it was at T to a new folder: the same events, the same chain."""
    with chosen.memory() as memory:
        found = copying.copy(memory.log, memory.instant(until), destination.absolute())
    if chosen.json:
        show.as_json({"streams": found.streams, "events": found.events, "destination": str(destination)})
    else:
        show.line(f"copied {found.events} events of {found.streams} streams to {show.printable(str(destination))}")
