"""Who writes, reads and works for a memory, and where: in this process, or in actors on Ray. What is wrong is said within seconds."""

import os
import socket
from collections.abc import Callable

import msgspec

from events.ambient import Clock
from events.errors import ClusterUnavailable, InvalidInput
from events.log.file_log import FileLog
from events.policy import Policy
from memory_actors.actors.background import Background, Work
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.projection_actor import ProjectionActor, Projections
from memory_actors.actors.remote import RemoteEmbedder, RemoteProjections, RemoteWork, RemoteWriter
from memory_actors.actors.user_actor import UserActor
from memory_actors.actors.writer import InlineWriter, Writer
from memory_actors.extraction import PatternExtractor
from memory_actors.models.embedder import Embedder, embedder_named
from memory_actors.settings import Settings

Policies = Callable[[str], Policy]
"""The policy of a space."""
PROBE_SECONDS = 3.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of HTTP/2, and so of gRPC, begins (RFC 9113, 3.4): its preface and an empty SETTINGS frame, which is of type 4."""


class Actors(msgspec.Struct, frozen=True):
    """Those of one memory. `enricher` and `here` (a reader) are in this process in any case, with whatever embeds for them."""

    writer: Writer
    projections: Projections
    work: Work
    embedder: Embedder | None
    enricher: Enricher
    here: ProjectionActor


def inline(log: FileLog, clock: Clock, policy: Policies, chosen: str | Embedder, settings: Settings) -> Actors:
    """All in this process: no Ray."""
    embedder = embedder_named(chosen) if isinstance(chosen, str) else chosen
    writer = InlineWriter(UserActor(log, clock, policy, settings.streams))
    enricher = Enricher(embedder, PatternExtractor(), policy)
    work = Background(writer, log, enricher, settings)
    here = ProjectionActor(log, policy, embedder, settings, work=work, light=True)
    return Actors(writer, here, work, embedder, enricher, here)


def on_ray(address: str, log: FileLog, policy: Policies, given: Policy | None, chosen: str | Embedder, settings: Settings) -> Actors:
    """In actors on the Ray at `address`: "local" starts one. `given`: a policy in place of the store's.

    Raises InvalidInput for what is no address, ClusterUnavailable where no Ray answers.
    """
    from memory_actors.actors.client import Client  # noqa: PLC0415 - Ray takes a second to import, and is often off
    from memory_actors.actors.roles import Spec  # noqa: PLC0415

    store = log.store
    spec = Spec(str(store.path), store.description.store_id, settings, None if given is None else canonical(given), chosen)
    client, embeds = Client(address, spec), spec.chosen()
    embedder = None if embeds is None else RemoteEmbedder(client, embeds)
    enricher, work = Enricher(embedder, PatternExtractor(), policy), RemoteWork(client)
    here = ProjectionActor(log, policy, embedder, settings, work=work, light=True)
    return Actors(RemoteWriter(client, settings.placement), RemoteProjections(client), work, embedder, enricher, here)


def canonical(policy: Policy) -> bytes:
    """Equal for equal policies."""
    return msgspec.json.encode(policy, order="deterministic")


def check_address(ray: str) -> None:
    """Raises InvalidInput or ClusterUnavailable for an address where there is no Ray: Ray itself would try for ten minutes."""
    if not ray.strip() or "://" in ray:
        raise InvalidInput(
            f'ray is "off", "local", "auto" or the address HOST:PORT of a cluster that this machine is a node of, not {ray!r}'
        )
    if ray not in ("local", "auto"):
        _probe(ray)


def _probe(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PROBE_SECONDS) as connection:
            connection.sendall(PREFACE)
            answer = connection.recv(9, socket.MSG_WAITALL)
    except (OSError, ValueError, OverflowError) as error:
        raise ClusterUnavailable(f"no Ray at {address!r} ({error}). `--ray local` starts one here, `--ray off` does without") from error
    if answer[3:4] != b"\x04" and not os.environ.get("RAY_USE_TLS"):
        raise ClusterUnavailable(f"what listens at {address!r} is not Ray. `--ray local` starts one here, `--ray off` does without")
