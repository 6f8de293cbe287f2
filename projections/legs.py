"""The parts of a view, side by side: one that fails at an event stops there, and the others go on.

Nothing is skipped: a failed part gets no further event, and whoever asks for it at that event or later is told so. What it
took in of that event before it failed stays in it, under that event's seq, which no answer as of an earlier seq looks at.
"""

import logging
from typing import Literal, Protocol

import msgspec

from events.envelope import Envelope
from events.errors import StoreDamaged
from events.ids import StreamId
from projections.episodes import EpisodeTable
from projections.facts import FactTable
from projections.index.ranking import TurnIndex
from projections.index.turn_feed import TurnFeed
from projections.topics import TopicDecay
from projections.transcript import Transcript

Leg = Literal["turns", "facts", "episodes", "topics", "index"]
_LOG = logging.getLogger(__name__)


class Projection(Protocol):
    """A fold of events."""

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""


class Failure(msgspec.Struct, frozen=True):
    """The event that a part could not fold, and what it raised."""

    seq: int
    error: str


class Parts:
    """All projections of one stream. Without `index` there is no search."""

    def __init__(self, stream: StreamId, *, index: bool) -> None:
        self.stream = stream
        self.turns = Transcript()
        self.facts = FactTable()
        self.episodes = EpisodeTable()
        self.topics = TopicDecay()
        self.index = TurnIndex()
        self.feed: TurnFeed | None = None
        self.failed: dict[Leg, Failure] = {}
        self._feeds: tuple[tuple[Leg, Projection], ...] = (
            ("turns", self.turns),
            ("facts", self.facts),
            ("episodes", self.episodes),
            ("topics", self.topics),
        )
        if index:
            self.attach(self.index, TurnFeed(self.index))

    def attach(self, index: TurnIndex, feed: TurnFeed) -> None:
        """Go on with an index that has been fed all events so far."""
        self.index, self.feed = index, feed
        self._feeds = (*self._feeds, ("index", feed))

    def apply(self, envelope: Envelope) -> None:
        """Fold the next event into every part that has folded all before it."""
        for leg, part in self._feeds:
            try:
                part.apply(envelope)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, only this leg is lost, and it is kept and shown
                self._fail(leg, envelope, error)

    def _fail(self, leg: Leg, envelope: Envelope, error: Exception) -> None:
        self.failed[leg] = Failure(envelope.seq, f"{type(error).__name__}: {error}")
        self._feeds = tuple(pair for pair in self._feeds if pair[0] != leg)
        _LOG.error("%s: %s could not fold event %d (%s)", self.stream, leg, envelope.seq, envelope.type, exc_info=error)


class Legs:
    """The parts as a read at `seq` may use them: to ask for one that failed by then raises StoreDamaged."""

    def __init__(self, parts: Parts, seq: int) -> None:
        self._parts = parts
        self._seq = seq

    @property
    def missing(self) -> tuple[Leg, ...]:
        """The legs that failed by then."""
        return tuple(leg for leg, failure in self._parts.failed.items() if failure.seq <= self._seq)

    def has(self, *legs: Leg) -> bool:
        """Whether all of these can be used."""
        return not set(legs) & set(self.missing)

    def why(self, leg: Leg) -> str:
        """What is wrong with a leg that is missing."""
        failure = self._parts.failed[leg]
        return f"event {failure.seq} of {self._parts.stream} could not be folded ({failure.error})"

    def _check(self, leg: Leg) -> None:
        failure = self._parts.failed.get(leg)
        if failure is not None and failure.seq <= self._seq:
            raise StoreDamaged(f"the {leg} leg is missing: {self.why(leg)}; as of @{failure.seq - 1} it answers in full")

    @property
    def turns(self) -> Transcript:
        """What was said."""
        self._check("turns")
        return self._parts.turns

    @property
    def facts(self) -> FactTable:
        """What is believed."""
        self._check("facts")
        return self._parts.facts

    @property
    def episodes(self) -> EpisodeTable:
        """What was closed."""
        self._check("episodes")
        return self._parts.episodes

    @property
    def topics(self) -> TopicDecay:
        """What it was about."""
        self._check("topics")
        return self._parts.topics

    @property
    def index(self) -> TurnIndex:
        """What can be searched."""
        self._check("index")
        return self._parts.index
