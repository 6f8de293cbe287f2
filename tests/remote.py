"""Writers, readers and whole memories over actors, for tests. Ray is imported only where it is used."""

from typing import Any

from events.log.store import Store
from events.policy import Policy
from memory_actors.cluster.placement import canonical
from memory_actors.cluster.remote import RemoteWriter
from memory_actors.settings import Settings


def client(store: Store, *, policy: Policy | None = None, embedder: Any = "none", address: str = "local", **settings: Any) -> "Client":  # noqa: F821
    """A way to the actors of a store."""
    from memory_actors.cluster.client import Client
    from memory_actors.cluster.spec import Spec

    given = None if policy is None else canonical(policy)
    return Client(address, Spec(str(store.path), store.description.store_id, Settings(**settings), given, embedder))


class Writing(RemoteWriter):
    """A writer that ends its client."""

    def __init__(self, client: "Client") -> None:  # noqa: F821
        super().__init__(client)
        self.client = client

    def close(self) -> None:
        self.client.close()
