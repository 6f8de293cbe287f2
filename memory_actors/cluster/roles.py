"""What kinds of actors there are, and of which plain class each is made, in whatever process hosts it.

| role | how many | what it does |
|---|---|---|
| user | one an active user, or a pool | decides and commits: the one that writes the streams of its users |
| projection | N, users divided among them | serves the reads |
| enricher | N, users divided among them | what happens after the reply: vectors, facts, topics, summaries |
| embedder | one | the one place with the model |
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from events.ambient import SystemClock
from events.commands import Command
from events.errors import StoreNotHere
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import open_store
from events.policy import Policy
from memory_actors.actors.background import Background, Work
from memory_actors.actors.embedder_actor import EmbedderActor
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.projection_actor import ProjectionActor
from memory_actors.actors.snapshots import Snapshots
from memory_actors.actors.user_actor import Reply, UserActor
from memory_actors.cluster.remote import Asks, RemoteEmbedder, RemoteWork, RemoteWriter
from memory_actors.cluster.spec import Role, Spec
from memory_actors.extraction import PatternExtractor
from memory_actors.models.embedder import Embedder
from memory_actors.policies import Policies

TELL_AGAIN_SECONDS = 15.0
TELLS = 8


class Place:
    """A spec, opened: what every role needs. Raises StoreNotHere where another store than the caller's stands at the path."""

    def __init__(self, spec: Spec, asks: Asks) -> None:
        store = open_store(spec.path)
        if store.description.store_id != spec.store_id:
            raise StoreNotHere(f"another store than the caller's is at {store.path} on this machine")
        self.spec, self.settings, self.asks = spec, spec.settings, asks
        self.log = FileLog(store)
        self.snapshots = Snapshots(store)
        given = None if spec.policy is None else msgspec.json.decode(spec.policy, type=Policy)
        self.policy = Policies(self.log, given).of

    def embedder(self) -> Embedder | None:
        """The one that asks the embedder's actor."""
        chosen = self.spec.chosen()
        return None if chosen is None else RemoteEmbedder(self.asks, chosen)

    def work(self) -> Work:
        """The enrichers."""
        return RemoteWork(self.asks, self.settings.enrichers)


class Recorder:
    """The UserActor, and its enricher told of what it has recorded: again, at growing intervals, until it is done; for an enricher may die.

    What is derived from a backfill is its sender's to send. What another actor has done is not known here, so telling ends
    after `TELLS` times; the next command or live read begins it anew.
    """

    def __init__(self, actor: UserActor, tell: Callable[[StreamId], None], seconds: float = TELL_AGAIN_SECONDS) -> None:
        self._actor, self._tell, self._seconds = actor, tell, seconds
        self._due: dict[StreamId, int] = {}
        self._teller: threading.Thread | None = None

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """As the UserActor."""
        replies = self._actor.execute(stream, commands)
        if not self._actor.is_due(stream):
            self._due.pop(stream, None)
        elif not any(command.backfill for command in commands):
            self._due[stream] = 0
            self._tell(stream)
            self._tell_again()
        return replies

    def resting(self) -> bool:
        """Whether nobody is to be told."""
        return not self._due

    def _tell_again(self) -> None:
        if self._teller is None:
            self._teller = threading.Thread(target=self._run, name="memory-actors-teller", daemon=True)
            self._teller.start()

    def _run(self) -> None:
        for tick in itertools.count(1):
            threading.Event().wait(self._seconds)
            for stream, tells in list(self._due.items()):
                if tells >= TELLS:
                    self._due.pop(stream, None)
                elif tick % 2**tells == 0:
                    self._due[stream] = tells + 1
                    self._tell(stream)


def _user(place: Place) -> UserActor | Recorder:
    actor = UserActor(place.log, SystemClock(), place.policy, place.settings.streams)
    if not place.settings.enrichers:
        return actor
    return Recorder(actor, lambda stream: place.asks.tell("enricher", stream, "wrote", stream))


def _projection(place: Place) -> ProjectionActor:
    return ProjectionActor(
        place.log, place.policy, place.embedder(), place.settings.cache_megabytes, work=place.work(), snapshots=place.snapshots
    )


def _enricher(place: Place) -> Background:
    enricher = Enricher(place.embedder(), PatternExtractor(), place.policy)
    size = place.settings.cache_megabytes * 1_000_000
    return Background(
        RemoteWriter(place.asks),
        place.log,
        enricher,
        cache=size,
        worked=lambda stream: place.asks.hint("projection", stream, "warm", stream),
    )


def _embedder(place: Place) -> EmbedderActor:
    chosen = place.spec.chosen()
    if chosen is None:
        raise ValueError("nobody embeds where the embedder is none")
    return EmbedderActor(chosen)


MADE: dict[Role, Callable[[Place], Any]] = {"user": _user, "projection": _projection, "enricher": _enricher, "embedder": _embedder}
THREADS: dict[Role, int] = {"user": 1, "projection": 16, "enricher": 64, "embedder": 64}
"""How many calls each takes at once. One of a user's: order is what it is for."""
