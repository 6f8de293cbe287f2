"""The read side of one stream: every projection folded to one tail, so that one read has one basis.

`catch_up` reads what is new in the log; what was seen is skipped, a floor that an erasure raised starts the fold again,
any other gap stops it. Parts that a reader does not need are not built, and their columns are not read.
A view belongs to one thread at a time, because folding changes it; `projections.views` holds those of many streams.
"""

import bisect
from collections.abc import Iterable

from events.envelope import Envelope
from events.errors import InvalidInput
from events.ids import StreamId
from events.log import Log, Reading, Tail
from events.log.digest import genesis
from events.vocabulary import EnrichmentFailed, TurnsEnriched
from projections.basis import Basis, as_of, at_seq, latest
from projections.episodes import EpisodeTable
from projections.facts import FactTable
from projections.index.ranking import TurnIndex
from projections.index.turn_feed import TurnFeed
from projections.legs import Legs, Parts
from projections.topics import TopicDecay
from projections.transcript import Transcript
from projections.weight import Weight


class StreamView:
    """All projections of one stream, at its tail. Without `index` there is no search; without `vectors` none are read.

    `problems` says what is wrong with what was kept of the stream outside its log; `saved` how far a snapshot reaches.
    """

    def __init__(self, stream: StreamId, *, index: bool = True, vectors: bool = True) -> None:
        self.stream = stream
        self.has_index = index
        self.has_vectors = vectors
        self.problems: tuple[str, ...] = ()
        self.begin(1)

    def begin(self, start: int) -> None:
        """Start again, with event `start` as the first."""
        self.tail = Tail(0, genesis(self.stream))
        self.start = start
        self.saved = 0
        self.parts = Parts(self.stream, index=self.has_index)
        self.recorded: list[Envelope] = []
        self.recorded_at: list[int] = [0] * (start - 1)
        self.failures = 0
        self._enriched: list[tuple[int, int]] = []
        self.weight = Weight()

    def catch_up(self, log: Log) -> "StreamView":
        """Fold what the log holds beyond the tail. A view that was interrupted half-way starts from the beginning next time."""
        reading = log.read(self.stream, self.tail if self.tail.seq else None, vectors=self.has_vectors)
        if reading.start > self.tail.seq + 1:
            self.begin(reading.start)
        events = reading.events
        try:
            self._fold(events, reading)
        except BaseException:
            self.begin(1)
            raise
        return self

    def _fold(self, events: Iterable[Envelope], reading: Reading) -> None:
        for event in events:
            self.apply(event)
        self.weight.add_rows(reading.rows)
        self.tail = reading.tail

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
        self.parts.apply(envelope)

    def restore(self, index: TurnIndex | None, feed: TurnFeed | None, tail: Tail) -> None:
        """Take over an index that was fed the events so far, and stand at `tail`."""
        if index is not None and feed is not None:
            self.has_index = True
            self.parts.attach(index, feed)
        self.tail, self.saved = tail, tail.seq

    # -- the parts

    def legs(self, seq: int) -> Legs:
        """The parts as a read at event `seq` may use them."""
        return Legs(self.parts, seq)

    @property
    def _legs(self) -> Legs:
        return Legs(self.parts, len(self.recorded_at))

    @property
    def turns(self) -> Transcript:
        """What was said. This and the following raise StoreDamaged if there is an event that the part could not fold."""
        return self._legs.turns

    @property
    def facts(self) -> FactTable:
        """What is believed."""
        return self._legs.facts

    @property
    def episodes(self) -> EpisodeTable:
        """What was closed."""
        return self._legs.episodes

    @property
    def topics(self) -> TopicDecay:
        """What it was about."""
        return self._legs.topics

    @property
    def index(self) -> TurnIndex:
        """What can be searched."""
        return self._legs.index

    # -- what it stands on

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
        """Turns that were recorded by event `seq` but not covered by background work; of those that could be folded."""
        turns = self.parts.turns
        return turns.count(seq) - turns.count(min(self.enriched_upto(seq), seq))

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return self.weight.bytes(index=self.has_index) + self.parts.index.graph_bytes


def fold(stream: StreamId, events: Iterable[Envelope]) -> StreamView:
    """A view of these events alone."""
    view = StreamView(stream)
    for event in events:
        view.apply(event)
    return view
