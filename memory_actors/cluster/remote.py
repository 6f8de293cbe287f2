"""The ports of writing, reading, background work and embedding, over actors elsewhere. What is asked is the same."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from events.commands import Command, RecordRecall
from events.envelope import Vectors
from events.ids import StreamId
from memory_actors.actors.embedder_actor import BATCH_TEXTS
from memory_actors.actors.user_actor import Reply
from memory_actors.actors.writer import acks
from memory_actors.cluster.packing import batches
from memory_actors.cluster.spec import Role
from memory_actors.models.embedder import Embedder

DRAIN_SECONDS = 86_400.0
ANYBODY = StreamId("", "")
"""The stream to name where the role's actor is the same for all."""


class Asks(Protocol):
    """Reaches the actor of a role that has a stream."""

    def ask(self, role: Role, stream: StreamId, method: str, *arguments: Any, within: float | None = None) -> Any:
        """What the method gives. Safe to repeat, so it is repeated for so many seconds, or until the deadline."""

    def tell(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """The same without an answer; it may be lost."""

    def hint(self, role: Role, stream: StreamId, method: str, *arguments: Any) -> None:
        """As `tell`, where the actor is there already."""

    def close(self, *, finish: bool = True) -> None:
        """Let go. Actors that live for this process alone end; `finish`: after their background work."""


class RemoteWriter:
    """Commands to the actor that has the user."""

    def __init__(self, asks: Asks, placement: str = "per-user") -> None:
        self._asks = asks
        self.placement = placement

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """Carry out commands in order; one reply each. What got no answer is asked again, with the same command ids."""
        return [reply for batch in batches(commands) for reply in self._asks.ask("user", stream, "execute", stream, batch)]

    def close(self) -> None:
        """Its actors are let go of by whoever reaches them."""


class RemoteProjections:
    """Questions to the actor that has the user's views."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def ask(self, stream: StreamId, question: Any) -> Any:
        """The answer."""
        return self._asks.ask("projection", stream, "ask", stream, question)


class RemoteWork:
    """Background work, in the user's enricher. The user's actor tells it of what was recorded, so `wrote` is its to say.

    Where there are no `enrichers`, nobody waits for them: what is due is left to `enrich`.
    """

    def __init__(self, asks: Asks, enrichers: int) -> None:
        self._asks, self._enrichers = asks, enrichers

    def wrote(self, stream: StreamId) -> None:
        """Nothing: the user's actor has told its enricher already."""

    def served(self, stream: StreamId, command: RecordRecall, *, now: bool = False) -> None:
        """Keep what a live read gave: before this returns; or later, and then it may be lost with the enricher."""
        if now:
            acks(self._asks.ask("user", stream, "execute", stream, [command]))
        elif self._enrichers:
            self._asks.tell("enricher", stream, "served", stream, command)
        else:
            self._asks.tell("user", stream, "execute", stream, [command])

    def wait(self, stream: StreamId, seconds: float) -> None:
        """Until nothing is due for the stream, but no longer than this; loading a model is not counted."""
        if self._enrichers:
            self._asks.ask("enricher", stream, "wait", stream, seconds)

    def drain(self, stream: StreamId) -> None:
        """Until nothing is due for the stream. Raises what kept the work from being done."""
        if self._enrichers:
            self._asks.ask("enricher", stream, "drain", stream, within=DRAIN_SECONDS)

    def close(self, *, finish: bool = True) -> None:
        """Let go of all actors."""
        self._asks.close(finish=finish)


class RemoteEmbedder:
    """The embedder's actor. Its name and its tokens are known here, from its like in this process, which loads no model for these."""

    def __init__(self, asks: Asks, here: Embedder) -> None:
        self._asks, self._here = asks, here
        self._loaded = False

    @property
    def model(self) -> str:
        """The name that is recorded beside each vector."""
        return self._here.model

    @property
    def loaded(self) -> bool:
        """Whether the first use is over."""
        self._loaded = self._loaded or bool(self._asks.ask("embedder", ANYBODY, "loaded"))
        return self._loaded

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors [n, d] as int16."""
        parts = [texts[start : start + BATCH_TEXTS] for start in range(0, len(texts), BATCH_TEXTS)]
        found = [self._asks.ask("embedder", ANYBODY, "embed", list(part)) for part in parts]
        return np.concatenate(found) if len(found) > 1 else np.asarray(found[0])

    def count_tokens(self, text: str) -> int:
        """How many of the model's tokens a text has."""
        return self._here.count_tokens(text)
