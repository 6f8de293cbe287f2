"""Ending what runs."""

import click

from events.errors import ClusterUnavailable
from events.log.store import open_store
from memory_actors.cli import show
from memory_actors.cli.options import Chosen, common


def _here() -> str | None:
    """What finds the Ray on this machine; None where none is, and so no actor. One that is there and does not answer is an error."""
    from memory_actors.cluster import connection  # noqa: PLC0415

    try:
        return None if connection.found() == "local" else "auto"
    except ClusterUnavailable:
        return None


@click.command()
@click.option("--all", "every", is_flag=True, help="of every store on the cluster")
@click.option("--now", is_flag=True, help="without finishing background work; it is found again")
@common
def stop(chosen: Chosen, every: bool, now: bool) -> None:
    """End the store's actors on the cluster at --ray (else the one on this machine). What was acknowledged stays; the next call makes them anew."""
    from memory_actors.cluster.client import end_actors  # noqa: PLC0415 - Ray takes a second to import

    settings = chosen.settings()
    store = None if every else open_store(settings.store)
    where = _here() if settings.ray in ("off", "local") else settings.ray
    ended = [] if where is None else end_actors(where, store, finish=not now)
    if chosen.json:
        show.as_json({"ended": ended})
        return
    show.table(("ended",), [(name,) for name in ended], "no actor of this store was there")
