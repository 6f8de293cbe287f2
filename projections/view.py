"""The read side of one stream: every projection folded to one tail, so that one read has one basis.

`catch_up` reads what is new in the log; what was seen is skipped, a floor that an erasure raised starts the fold again,
any other gap stops it. Parts that a reader does not need are not built, and their columns are not read.
A view belongs to one thread at a time, because folding changes it; `Views` may be asked by several.
"""

import bisect
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol

from events.envelope import Envelope
from events.errors import InvalidInput
from events.ids import StreamId
from events.log import Log, Reading, Standing, Tail
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

MEMORY_BYTES = 512_000_000
"""What views of one process take together, about: some seven of 10,000 turns with their vectors, or thousands of short ones."""

SNAPSHOT_EVERY = 256
"""Events after which a snapshot is written, or an eighth of the stream where that is more, because all of it is written.

Loading 2,000 events that have a file each took a tenth of folding them, 22,096 in files of 512 half; writing took less.
"""

_LOG = logging.getLogger(__name__)


class Behind(Exception):
    """The log, as it can be read here, ends before what was asked for. Look again, or give up."""

    def __init__(self, tail: int, at_least: int) -> None:
        self.tail, self.at_least = tail, at_least
        super().__init__(tail, at_least)

    def __str__(self) -> str:
        return f"the log ends at event {self.tail}, before {self.at_least}"


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
        return self.weight.bytes(index=self.has_index)


def fold(stream: StreamId, events: Iterable[Envelope]) -> StreamView:
    """A view of these events alone."""
    view = StreamView(stream)
    for event in events:
        view.apply(event)
    return view


class Snapshots(Protocol):
    """Where views are kept outside the log. Losing any of it costs time, nothing else."""

    def load(self, stream: StreamId) -> StreamView | None:
        """The view that was kept last, if it can be used by this code."""

    def save(self, view: StreamView) -> None:
        """Keep a view instead of the one kept before. What goes wrong is no error, but logged."""

    def drop(self, stream: StreamId) -> None:
        """Keep nothing of the stream."""


class Views:
    """The views of many streams over one log; those that were used longest ago are let go when all take more than `bytes`.

    The one that was asked for last is held in any case. A view that is not held is loaded from its snapshot where there is
    one, with `save` one is written whenever the view has grown enough.
    """

    def __init__(
        self,
        log: Log,
        *,
        bytes: int = MEMORY_BYTES,  # noqa: A002 - reads as it is said
        index: bool = True,
        vectors: bool = True,
        snapshots: Snapshots | None = None,
        save: bool = False,
    ) -> None:
        self._log = log
        self._bytes = bytes
        self._index = index
        self._vectors = vectors
        self._snapshots = snapshots
        self._saves = save and index and vectors
        self._views: OrderedDict[StreamId, tuple[StreamView, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def get(self, stream: StreamId, at_least: int = 0) -> StreamView:
        """The stream's view, caught up with the log. Raises Behind where that ends before event `at_least`."""
        view = self._found(stream).catch_up(self._log)
        self._hold(view)
        self._save(view)
        if view.tail.seq < at_least:
            raise Behind(view.tail.seq, at_least)
        return view

    def __contains__(self, stream: StreamId) -> bool:
        """Whether the stream's view is held."""
        return stream in self._views

    def _found(self, stream: StreamId) -> StreamView:
        with self._lock:
            held = self._views.get(stream)
        return self._restored(stream) if held is None else held[0]

    def _hold(self, view: StreamView) -> None:
        """As the one used last; others go until all fit."""
        with self._lock:
            self._forget(view.stream)
            self._views[view.stream] = view, view.bytes
            self._total += view.bytes
            while self._total > self._bytes and len(self._views) > 1:
                self._forget(next(iter(self._views)))

    def _forget(self, stream: StreamId) -> None:
        _, size = self._views.pop(stream, (None, 0))
        self._total -= size

    # -- snapshots

    def _restored(self, stream: StreamId) -> StreamView:
        """The view as its snapshot has it; an empty one where that is missing, too little, stale, or not of this log."""
        empty = StreamView(stream, index=self._index, vectors=self._vectors)
        if self._snapshots is None:
            return empty
        kept = self._snapshots.load(stream)
        if kept is None or self._index > kept.has_index or self._vectors > kept.has_vectors:
            return empty
        standing = self._log.holds(stream, kept.start, kept.tail)
        if standing == "held":
            return kept
        if standing == "erased" and self._saves:
            self._snapshots.drop(stream)
        if problem := standing_problem(stream, kept.tail, standing):
            _LOG.warning("%s", problem)
            empty.problems = (problem,)
        return empty

    def _save(self, view: StreamView) -> None:
        """Where it has grown by enough since, which is the more the larger it is; evidence of a problem is not overwritten."""
        grown = view.tail.seq - view.saved
        if self._snapshots is None or not self._saves or grown < max(SNAPSHOT_EVERY, view.saved // 8):
            return
        if not view.problems and not view.parts.failed:
            self._snapshots.save(view)
            view.saved = view.tail.seq


def standing_problem(stream: StreamId, tail: Tail, standing: Standing) -> str | None:
    """What is wrong where a snapshot of events up to `tail` meets such a log; None if nothing is."""
    match standing:
        case "ahead":
            return f"the snapshot of {stream} reaches event {tail.seq}, but its log ends before it: events were lost"
        case "other":
            return f"the snapshot of {stream} was made of another event {tail.seq} than its log holds: the log was replaced or forked"
        case _:
            return None
