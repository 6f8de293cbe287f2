"""Is everything in order?"""

import sys
from pathlib import Path

import click
import msgspec

from events.ambient import SystemClock
from memory_actors.cli import show
from memory_actors.cli.options import Chosen, common
from memory_actors.doctor import examine

FOUND = 1
COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@click.argument("cluster", required=False, metavar="[CLUSTER.YAML]", type=click.Path(path_type=Path))
@click.option(
    "--cluster-yaml", "derived", type=click.Choice(["local"]), help="instead: print CLUSTER.YAML [./cluster.yaml] for this machine alone"
)
@common
def doctor(chosen: Chosen, cluster: Path | None, derived: str | None) -> int:
    """Check the machine, the packages, the model, the store, and a file for `ray up`. Exit code 1 if something is wrong."""
    if derived:
        return _derive(chosen, cluster)
    found = examine(chosen.settings(), SystemClock(), cluster)
    if chosen.json:
        show.as_json(msgspec.to_builtins(found))
    else:
        for finding in found:
            mark = f"[{COLOURS[finding.state]}]{finding.state:>8}[/]"
            show.line(f"{mark}  {show.printable(finding.check)}: {show.printable(finding.detail)}")
    return FOUND if any(finding.state == "problem" for finding in found) else 0


def _derive(chosen: Chosen, cluster: Path | None) -> int:
    from memory_actors.cluster.file import FILE, local, read_cluster, written  # noqa: PLC0415

    config = local(read_cluster(cluster or FILE), Path(chosen.settings().store))
    show.as_json(config) if chosen.json else sys.stdout.write(written(config))
    return 0
