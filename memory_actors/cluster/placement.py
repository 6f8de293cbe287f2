"""The actors of a memory on Ray: the same ports, over a client."""

import msgspec

from events.log.file_log import FileLog
from events.policy import Policy
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.placement import Actors, PolicyOf
from memory_actors.actors.projection_actor import ProjectionActor
from memory_actors.cluster.client import Client
from memory_actors.cluster.remote import RemoteEmbedder, RemoteProjections, RemoteWork, RemoteWriter
from memory_actors.cluster.spec import Spec
from memory_actors.extraction import PatternExtractor
from memory_actors.models.embedder import Embedder
from memory_actors.settings import Settings


def on_ray(address: str, log: FileLog, policy: PolicyOf, given: Policy | None, chosen: str | Embedder, settings: Settings) -> Actors:
    """In actors on the Ray at `address`: "local" starts one. `given`: a policy in place of the store's.

    Raises InvalidInput for what is no address, ClusterUnavailable where no Ray answers.
    """
    store = log.store
    spec = Spec(str(store.path), store.description.store_id, settings, None if given is None else canonical(given), chosen)
    client, embeds = Client(address, spec), spec.chosen()
    embedder = None if embeds is None else RemoteEmbedder(client, embeds)
    enricher, work = Enricher(embedder, PatternExtractor(), policy), RemoteWork(client, settings.enrichers)
    here = ProjectionActor(log, policy, embedder, settings.cache_megabytes, work=work, light=True)
    return Actors(RemoteWriter(client, settings.placement), RemoteProjections(client), work, embedder, enricher, here)


def canonical(policy: Policy) -> bytes:
    """Equal for equal policies."""
    return msgspec.json.encode(policy, order="deterministic")
