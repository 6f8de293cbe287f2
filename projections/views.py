"""The views of many streams over one log, held within a limit of memory, and the snapshots that spare folding from the start.

A view stands at the log's tail when it is handed out. A snapshot is never believed before the log has confirmed it.
"""

import logging
import threading
from collections import OrderedDict
from typing import Protocol

from events.ids import StreamId
from events.log import Log, Standing, Tail
from projections.view import StreamView

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


class KeptViews(Protocol):
    """Where views are kept outside the log. Losing any of it costs time, nothing else."""

    def load(self, stream: StreamId) -> StreamView | None:
        """The view that was kept last, if it can be used by this code."""

    def save(self, view: StreamView) -> bool:
        """Keep a view instead of the one kept before. What goes wrong is no error, but logged, and False."""

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
        snapshots: KeptViews | None = None,
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
        if not view.problems and not view.parts.failed and self._snapshots.save(view):
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
