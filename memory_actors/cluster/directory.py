"""Which actors of ours there are on a cluster, and ending them."""

from typing import Any

import ray

from memory_actors.cluster.packing import in_parts
from memory_actors.cluster.spec import PREFIX, Home


def named_actors(namespace: str, prefix: str = "") -> list[tuple[str, Any]]:
    """The actors of a namespace whose names begin so."""
    names = [found["name"] for found in ray.util.list_named_actors(all_namespaces=True) if found["namespace"] == namespace]
    handles = [(name, handle(name, namespace)) for name in names if name.startswith(prefix)]
    return [(name, found) for name, found in handles if found is not None]  # the others ended meanwhile


def handle(name: str, namespace: str) -> Any:
    """Of the actor of that name; None where there is none."""
    try:
        return ray.get_actor(name, namespace)
    except ValueError:
        return None


def homes(store_id: str = "", path: str = "") -> list[Home]:
    """Where actors of ours live on this cluster: those of one store, if it is named."""
    found = {actor["namespace"] for actor in ray.util.list_named_actors(all_namespaces=True)}
    nodes = ["", *(node["NodeID"] for node in ray.nodes())]
    wanted = {Home.of(store_id, path, node).namespace for node in nodes}
    return [Home(name, "") for name in sorted(found) if name in wanted or (not store_id and name.startswith(PREFIX))]


def end_all(home: Home, *, finish: bool, seconds: float) -> list[str]:
    """End all actors of a home, and say which; `finish`: after their background work, if that takes no longer."""
    if finish:
        closing = [actor.call.remote("close", *in_parts()) for _, actor in named_actors(home.namespace, "enricher:")]
        ray.wait(closing, num_returns=len(closing), timeout=seconds) if closing else None
    ended = named_actors(home.namespace)
    for _, actor in ended:
        ray.kill(actor)
    return [name for name, _ in ended]
