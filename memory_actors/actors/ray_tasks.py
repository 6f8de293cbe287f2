"""Work that is independent item by item, here or as Ray tasks."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


def mapped(function: Callable[[Item], Done], items: Sequence[Item], ray: str) -> Iterator[Done]:
    """`function` of each item, in order; with Ray one task an item, as many at once as there are cores."""
    if ray == "off":
        yield from map(function, items)
        return
    import ray as runtime  # noqa: PLC0415 - Ray takes a second to import, and is often off

    from memory_actors.actors.ray_connection import start, stop  # noqa: PLC0415

    ours = start(ray)
    try:
        task = runtime.remote(function)
        for reference in [task.remote(item) for item in items]:
            yield runtime.get(reference)
    finally:
        if ours:
            stop()
