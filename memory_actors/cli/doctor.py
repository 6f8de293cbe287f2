"""Is everything in order?"""

import click
import msgspec

from events.ambient import SystemClock
from memory_actors.cli import show
from memory_actors.cli.options import Chosen, common
from memory_actors.doctor import examine

FOUND = 1
COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@common
def doctor(chosen: Chosen) -> int:
    """Check the machine, the packages, the model and the store. Exit code 1 if something is wrong."""
    found = examine(chosen.settings(), SystemClock())
    if chosen.json:
        show.as_json(msgspec.to_builtins(found))
    else:
        for finding in found:
            mark = f"[{COLOURS[finding.state]}]{finding.state:>8}[/]"
            show.line(f"{mark}  {show.printable(finding.check)}: {show.printable(finding.detail)}")
    return FOUND if any(finding.state == "problem" for finding in found) else 0
