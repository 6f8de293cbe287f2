"""The read side of one stream: every projection folded to one tail, so that one read has one basis.

`catch_up` reads what is new in the log; what was seen is skipped, a floor that an erasure raised starts the fold again,
any other gap stops it. Parts that a reader does not need are not built, and their columns are not read.
A view belongs to one thread at a time, because folding changes it; `Views` may be asked by several.
"""

import bisect
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol

from events.envelope import Envelope
from events.errors import InvalidInput
from events.ids import StreamId
from events.log import Log, Tail
from events.log.digest import genesis
from events.vocabulary import EnrichmentFailed, TurnsEnriched
from projections.basis import Basis, as_of, at_seq, latest
from projections.episodes import EpisodeTable
from projections.facts import FactTable
from projections.index.ranking import TurnIndex
from projections.index.turn_feed import TurnFeed
from projections.topics import TopicDecay
from projections.transcript import Transcript


class Projection(Protocol):
    """A fold of events."""

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""


class StreamView:
    """All projections of one stream, at its tail. Without `index` there is no search; without `vectors` none are read."""

    def __init__(self, stream: StreamId, *, index: bool = True, vectors: bool = True) -> None:
        self.stream = stream
        self.tail = Tail(0, genesis(stream))
        self.start = 1
        self.has_index = index
        self.has_vectors = vectors
        self._reset()

    def _reset(self) -> None:
        self.turns = Transcript()
        self.facts = FactTable()
        self.episodes = EpisodeTable()
        self.topics = TopicDecay()
        self.index = TurnIndex()
        self.recorded: list[Envelope] = []
        self.recorded_at: list[int] = []
        self.failures = 0
        self._enriched: list[tuple[int, int]] = []
        self._parts: list[Projection] = [self.turns, self.facts, self.episodes, self.topics]
        if self.has_index:
            self._parts.append(TurnFeed(self.index))

    def catch_up(self, log: Log) -> "StreamView":
        """Fold what the log holds beyond the tail."""
        reading = log.read(self.stream, self.tail if self.tail.seq else None, vectors=self.has_vectors)
        if reading.start > self.tail.seq + 1:
            self._reset()
            self.start, self.recorded_at = reading.start, [0] * (reading.start - 1)
        for event in reading.events:
            self.apply(event)
        self.tail = reading.tail
        return self

    def apply(self, envelope: Envelope) -> None:
        """Fold the next event; one that was seen already is skipped."""
        if envelope.seq <= len(self.recorded_at):
            return
        self.recorded_at.append(envelope.recorded_at)
        self.recorded.append(envelope)
        match envelope.data:
            case TurnsEnriched(upto=upto):
                self._enriched.append((envelope.seq, upto))
                self.failures = 0
            case EnrichmentFailed(attempt=attempt):
                self.failures = attempt
            case _:
                pass
        for part in self._parts:
            part.apply(envelope)

    def latest(self, clock: int) -> Basis:
        """The basis of a read that names no time."""
        return latest(self.recorded_at, clock)

    def as_of(self, moment: int) -> Basis:
        """The basis at a moment."""
        return as_of(self.recorded_at, moment)

    def at_seq(self, seq: int) -> Basis:
        """The basis at a seq. Raises InvalidInput beyond the tail."""
        if not 0 <= seq <= len(self.recorded_at):
            raise InvalidInput(f"@{seq} is beyond the end of {self.stream}, which is @{len(self.recorded_at)}")
        return at_seq(self.recorded_at, seq)

    def begins(self, basis: Basis) -> int | None:
        """When the stream's first event was recorded, if the basis lies before it."""
        return self.recorded_at[self.start - 1] if len(self.recorded_at) >= self.start > basis.seq else None

    def event(self, seq: int) -> Envelope | None:
        """Event `seq`, if there is one."""
        at = seq - self.start
        return self.recorded[at] if 0 <= at < len(self.recorded) else None

    def enriched_upto(self, seq: int) -> int:
        """How far background work had come by event `seq`."""
        at = bisect.bisect_right(self._enriched, seq, key=lambda pair: pair[0])
        return self._enriched[at - 1][1] if at else 0

    def pending(self, seq: int) -> int:
        """Turns that were recorded by event `seq` but not covered by background work."""
        return self.turns.count(seq) - self.turns.count(min(self.enriched_upto(seq), seq))


def fold(stream: StreamId, events: Iterable[Envelope]) -> StreamView:
    """A view of these events alone."""
    view = StreamView(stream)
    for event in events:
        view.apply(event)
    return view


class Views:
    """The views of many streams over one log; the one that was used longest ago is let go."""

    def __init__(self, log: Log, bound: int = 256, *, index: bool = True, vectors: bool = True) -> None:
        self._log = log
        self._bound = bound
        self._index = index
        self._vectors = vectors
        self._views: OrderedDict[StreamId, StreamView] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stream: StreamId) -> StreamView:
        """The stream's view, caught up with the log."""
        return self._held(stream).catch_up(self._log)

    def _held(self, stream: StreamId) -> StreamView:
        with self._lock:
            view = self._views.get(stream) or StreamView(stream, index=self._index, vectors=self._vectors)
            self._views[stream] = view
            self._views.move_to_end(stream)
            while len(self._views) > self._bound:
                self._views.popitem(last=False)
            return view

    def __contains__(self, stream: StreamId) -> bool:
        """Whether the stream's view is held."""
        return stream in self._views
