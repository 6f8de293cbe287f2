"""Work that is independent item by item, here or as Ray tasks.

A task may run again after any part of it, when its worker is killed and Ray tries again, so `function` must be safe to repeat:
evaluation writes into a folder of its own that it removes, replays write nothing, and an ingest finds in the log what it recorded.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from events.errors import ClusterUnavailable, MemoryActorsError
from memory_actors.cluster.kept import Kept
from memory_actors.cluster.packing import CALL_BYTES, parts, unpacked

Item = TypeVar("Item")
Done = TypeVar("Done")

RETRIES = 3
"""After the death of a worker or its node. What `function` itself raises is raised, and not tried again."""
SUBMITTED = 2
"""Tasks submitted a core: one runs, one waits, so that no core idles and an autoscaler sees that there is more to do."""


def mapped(
    function: Callable[[Item], Done], items: Sequence[Item], ray: str, kept: Kept[Item, Done] | None = None, *, pinned: bool = False
) -> Iterator[tuple[int, Done]]:
    """`function` of each item with the item's place, as they are done; first those that are `kept` from before.

    `ray`: "off", or where Ray is; there it is one task an item, as many at once as there are cores. `pinned`: on this node only,
    because what the function reads is in this node's folders.
    """
    due = []
    for place, item in enumerate(items):
        found = None if kept is None else kept.get(item)
        if found is None:
            due.append(place)
        else:
            yield place, found
    fresh = _here(function, items, due) if ray == "off" or not due else _on_ray(function, items, due, ray, pinned=pinned)
    for place, done in fresh:
        if kept is not None:
            kept.keep(items[place], done)
        yield place, done


def _here(function: Callable[[Item], Done], items: Sequence[Item], due: Sequence[int]) -> Iterator[tuple[int, Done]]:
    return ((place, function(items[place])) for place in due)


def _on_ray(
    function: Callable[[Item], Done], items: Sequence[Item], due: Sequence[int], ray: str, *, pinned: bool
) -> Iterator[tuple[int, Done]]:
    from memory_actors.cluster.connection import joined  # noqa: PLC0415 - Ray takes a second to import, and is often off

    with joined(ray):
        yield from _tasks(function, items, due, _node() if pinned else None)


def _tasks(function: Callable[[Item], Done], items: Sequence[Item], due: Sequence[int], node: str | None) -> Iterator[tuple[int, Done]]:
    import ray  # noqa: PLC0415
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    where = "DEFAULT" if node is None else NodeAffinitySchedulingStrategy(node, soft=False)
    task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False, scheduling_strategy=where)(_unpacking(function))
    running: dict[Any, int] = {}
    large: list[int] = []
    waiting = _packed(items, due, large)
    try:
        while True:
            for place, pieces in _some(waiting, SUBMITTED * max(_cores(node), 1) - len(running)):
                running[task.remote(*pieces)] = place
            if not running:
                break
            [ready], _ = ray.wait(list(running))
            yield running.pop(ready), _result(ready)
        yield from _here(function, items, large)
    finally:
        for reference in running if ray.is_initialized() else ():
            ray.cancel(reference)


def _unpacking(function: Callable[[Item], Done]) -> Callable[..., Done]:
    """The function of an item that comes in parts."""

    def of(*pieces: bytes) -> Done:
        return function(unpacked(pieces))

    return of


def _packed(items: Sequence[Any], due: Sequence[int], large: list[int]) -> Iterator[tuple[int, list[bytes]]]:
    """Places with their items in parts. What is more than a call may carry becomes one of the `large`, which are done here at last."""
    import ray  # noqa: PLC0415

    for place in due:
        body = ray.cloudpickle.dumps(items[place])
        if len(body) > CALL_BYTES:
            large.append(place)
        else:
            yield place, parts(body)


def _some(waiting: Iterator[Item], most: int) -> Iterator[Item]:
    return (one for _, one in zip(range(most), waiting, strict=False))


def _node() -> str:
    """This node. Raises ClusterUnavailable if it takes no tasks: they would wait for ever."""
    import ray  # noqa: PLC0415

    node: str = ray.get_runtime_context().get_node_id()
    if not _cores(node):
        raise ClusterUnavailable(
            "this node gives no cores to tasks, and others may not see its folders. If all do, say so: MEMORY_ACTORS_SHARED=true"
        )
    return node


def _cores(node: str | None) -> int:
    """Of one node, or of all that are there now: nodes come and go."""
    import ray  # noqa: PLC0415

    nodes = [one["Resources"] for one in ray.nodes() if one["Alive"] and node in (None, one["NodeID"])]
    return sum(int(resources.get("CPU", 0)) for resources in nodes)


def _result(reference: Any) -> Any:
    """The task's result. Its own errors keep their type; what befell its worker is the cluster's."""
    import ray  # noqa: PLC0415
    from ray.exceptions import RayError, RayTaskError  # noqa: PLC0415

    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, MemoryActorsError):
            raise error.cause from None
        raise
    except RayError as error:
        raise ClusterUnavailable(
            f"a task was lost {RETRIES + 1} times ({error}); what was finished is kept where a file was named"
        ) from error
