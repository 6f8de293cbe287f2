"""Ending what runs."""

import click

from events.errors import ClusterUnavailable
from events.log.store import open_store
from memory_actors.cli import show
from memory_actors.cli.options import Chosen, common


@click.command()
@click.option("--all", "every", is_flag=True, help="of every store on the cluster")
@click.option("--now", is_flag=True, help="without finishing background work; it is found again")
@common
def stop(chosen: Chosen, every: bool, now: bool) -> None:
    """End the store's actors on the cluster at --ray (else the one on this machine). What was acknowledged stays; the next call makes them anew."""
    from memory_actors.cluster.client import end_actors  # noqa: PLC0415 - Ray takes a second to import

    settings = chosen.settings()
    store = None if every else open_store(settings.store)
    try:
        ended = end_actors("auto" if settings.ray in ("off", "local") else settings.ray, store, finish=not now)
    except ClusterUnavailable:
        if chosen.ray is not None:
            raise
        ended = []  # where no Ray is, no actor is
    if chosen.json:
        show.as_json({"ended": ended})
        return
    show.table(("ended",), [(name,) for name in ended], "no actor of this store was there")
