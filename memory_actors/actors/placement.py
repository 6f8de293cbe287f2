"""Who writes, reads and works for a memory: its actors, as they are in one process. On Ray: `memory_actors.cluster.placement`."""

from collections.abc import Callable

import msgspec

from events.ambient import Clock
from events.log.file_log import FileLog
from events.policy import Policy
from memory_actors.actors.background import Background, Work
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.projection_actor import ProjectionActor, Projections
from memory_actors.actors.user_actor import UserActor
from memory_actors.actors.writer import InlineWriter, Writer
from memory_actors.extraction import PatternExtractor
from memory_actors.models.embedder import Embedder, embedder_named
from memory_actors.settings import Settings

PolicyOf = Callable[[str], Policy]
"""The policy of a space."""


class Actors(msgspec.Struct, frozen=True):
    """Those of one memory. `enricher` and `here` (a reader) are in this process in any case, with whatever embeds for them."""

    writer: Writer
    projections: Projections
    work: Work
    embedder: Embedder | None
    enricher: Enricher
    here: ProjectionActor


def inline(log: FileLog, clock: Clock, policy: PolicyOf, chosen: str | Embedder, settings: Settings) -> Actors:
    """All in this process: no Ray."""
    embedder = embedder_named(chosen) if isinstance(chosen, str) else chosen
    writer = InlineWriter(UserActor(log, clock, policy, settings.streams))
    enricher = Enricher(embedder, PatternExtractor(), policy)
    work = Background(writer, log, enricher, cache=settings.cache_megabytes * 1_000_000)
    here = ProjectionActor(log, policy, embedder, settings.cache_megabytes, work=work, light=True)
    return Actors(writer, here, work, embedder, enricher, here)
