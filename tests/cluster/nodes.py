"""A Ray cluster of several nodes on this machine, whose nodes and actors can be killed, frozen and woken by process id.

Everything listens on loopback alone. The first node is the drivers' own: it is never killed or frozen. Ray is imported only
where it is used. A frozen raylet is declared dead within two seconds, and its actors are made elsewhere; Ray never ends
those that it has left behind.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

LOOPBACK = "127.0.0.2"
"""Ray takes 127.0.0.1 for the machine's own address, and would listen, and look, there."""
OBJECT_STORE_BYTES = 80_000_000
HEALTH = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 2,
}
"""Ray's own are 5 s, 3 s, 10 s and 5 failures."""


class Placed(NamedTuple):
    """A named actor that is alive, as far as Ray knows."""

    name: str
    pid: int
    node: str


class Nodes:
    """`count` nodes. `head` and the others go by Ray's ids for them."""

    def __init__(self, count: int = 3) -> None:
        from ray.cluster_utils import Cluster

        options = {"object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False, "node_ip_address": LOOPBACK, "num_cpus": 1}
        self._options = options
        self._cluster = Cluster(initialize_head=True, head_node_args={**options, "_system_config": HEALTH})
        self._frozen: set[int] = set()
        self.head: str = self._cluster.head_node.node_id
        for _ in range(count - 1):
            self.add()

    @property
    def address(self) -> str:
        """Where drivers join."""
        return str(self._cluster.address)

    @property
    def others(self) -> list[str]:
        """All nodes but the first."""
        return sorted(node.node_id for node in self._cluster.worker_nodes)

    def actors(self, *prefixes: str) -> list[Placed]:
        """The named actors that are alive, by name; those whose names begin with one of the prefixes, if any are given."""
        rows = self._cluster.global_state.actor_table(None, None, "ALIVE").values()
        found = [Placed(row["Name"], int(row["Pid"]), row["Address"]["NodeID"]) for row in rows if row["Name"]]
        return sorted(actor for actor in found if not prefixes or actor.name.startswith(prefixes))

    def end_actors(self) -> None:
        """SIGKILL to every actor; for good, because nobody is left who could ask for them."""
        import ray

        ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
        for named in ray.util.list_named_actors(all_namespaces=True):
            ray.kill(ray.get_actor(named["name"], named["namespace"]))
        ray.shutdown()

    def add(self) -> str:
        """One more node."""
        node: str = self._cluster.add_node(**self._options).node_id
        return node

    def kill(self, node: str) -> None:
        """The whole node at once, as when its power goes."""
        raylet = self.raylet(node)
        for pid in (raylet, *children(raylet)):
            send(pid, signal.SIGKILL)
        self._cluster.remove_node(self._node(node), allow_graceful=False)

    def freeze(self, pid: int) -> None:
        """SIGSTOP, to a raylet or a worker."""
        send(pid, signal.SIGSTOP)
        self._frozen.add(pid)

    def thaw(self, pid: int) -> None:
        """SIGCONT."""
        send(pid, signal.SIGCONT)
        self._frozen.discard(pid)

    def raylet(self, node: str) -> int:
        """The process of the node's raylet; the node's workers are its children."""
        [process] = self._node(node).all_processes["raylet"]
        pid: int = process.process.pid
        return pid

    def close(self) -> None:
        """End everything, frozen or not; a driver in this process as well."""
        import ray

        pids = {pid for node in (self.head, *self.others) for pid in children(self.raylet(node))}
        ray.shutdown()
        self._cluster.shutdown()
        for pid in pids | self._frozen:
            send(pid, signal.SIGKILL)

    def _node(self, node: str) -> Any:
        [found] = [one for one in self._cluster.list_all_nodes() if one.node_id == node]
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def children(pid: int) -> list[int]:
    """The processes that `pid` has started and that still are its own."""
    try:
        return [int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]
    except OSError:
        return []


def send(pid: int, number: signal.Signals) -> None:
    """A signal to one process, if it is there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def is_there(pid: int) -> bool:
    """Whether the process is there, frozen or not, and no zombie of the kernel's."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
