"""What happens after the reply: enrichment, and keeping what was served. One thread, started when there is work.

It reads the log with eyes of its own, so that readers and it never touch one view. Nothing here is needed for safety: what
is due is a number in the log, so whatever a crash leaves undone is found again. The thread outlives every error: an error
is kept as the stream's (`errors`), raised by `drain`, and forgotten when the stream is tried again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Protocol

import msgspec

from events.commands import Command, RecordRecall, ReportFailure
from events.errors import Busy, ClusterUnavailable, MemoryActorsError, OutcomeUnknown, StoreFull
from events.ids import StreamId
from events.log import Log
from memory_actors.actors.enricher import Enricher, back_off
from memory_actors.actors.writer import Writer, acks
from projections.views import MEMORY_BYTES, Views

FLUSH_SECONDS = 1.0
POLL_SECONDS = 0.05
"""How often it is looked whether the model has been loaded, which tells nobody."""
FLUSHES = 3
PASSING = (Busy, ClusterUnavailable, OutcomeUnknown, StoreFull)
"""Errors after which the same call may succeed."""


class Work(Protocol):
    """Whoever does what happens after the reply."""

    def wrote(self, stream: StreamId) -> None:
        """The stream has something new."""

    def served(self, stream: StreamId, command: RecordRecall, *, now: bool) -> None:
        """Keep what a live read gave: before this returns, or with the next flush."""

    def wait(self, stream: StreamId, seconds: float) -> None:
        """Until nothing is due for the stream, but no longer than this; loading a model is not counted."""

    def drain(self, stream: StreamId) -> None:
        """Until nothing is due for the stream. Raises what kept the work from being done."""

    def close(self, *, finish: bool = True) -> None:
        """Finish (or leave) what is waiting, and record what was served. Nothing is lost by leaving."""


class Served(msgspec.Struct, frozen=True):
    """A recall that waits to be recorded, and how often this was tried."""

    stream: StreamId
    command: RecordRecall
    tries: int = 0


def _nobody(_stream: StreamId) -> None:
    """Nobody is told."""


class Background:
    """Streams waiting for background work, and recalls waiting to be recorded.

    `seconds` is how long a served recall waits for others at most; `worked` is told of every stream that something was done
    for. Once closed, nothing more is taken, and nobody waits.
    """

    def __init__(
        self,
        writer: Writer,
        log: Log,
        enricher: Enricher,
        *,
        seconds: float = FLUSH_SECONDS,
        cache: int = MEMORY_BYTES,
        worked: Callable[[StreamId], None] = _nobody,
    ) -> None:
        self._writer = writer
        self._views = Views(log, bytes=cache, index=False)
        self._enricher = enricher
        self._seconds = seconds
        self._worked = worked
        self._changed = threading.Condition()
        self._waiting: OrderedDict[StreamId, None] = OrderedDict()
        self._busy: StreamId | None = None
        self._served: list[Served] = []
        self._flush_at: float | None = None
        self._errors: dict[StreamId, Exception] = {}
        self._thread: threading.Thread | None = None
        self._closing = False
        self._leaving = False

    # -- what callers say

    def resting(self) -> bool:
        """Whether nothing is waiting or being done."""
        with self._changed:
            return not (self._waiting or self._busy or self._served)

    @property
    def errors(self) -> dict[StreamId, Exception]:
        """What last kept each stream's work from being done, until it is tried again."""
        with self._changed:
            return dict(self._errors)

    def wrote(self, stream: StreamId) -> None:
        """The stream has something new."""
        self._add(stream, first=False)

    def served(self, stream: StreamId, command: RecordRecall, *, now: bool = False) -> None:
        """Keep what a live read gave: before this returns, or with the next flush."""
        if now:
            acks(self._writer.execute(stream, [command]))
            return
        with self._changed:
            if not self._closing:
                self._keep([Served(stream, command)])
                self._start()

    def wait(self, stream: StreamId, seconds: float) -> None:
        """Until nothing is due for the stream, but no longer than this; loading a model is not counted."""
        self._add(stream, first=True)
        self._wait(stream, seconds)

    def drain(self, stream: StreamId) -> None:
        """Until nothing is due for the stream. Raises what kept the work from being done."""
        self._add(stream, first=True)
        self._wait(stream, None)
        error = self.errors.get(stream)
        if error is not None:
            raise error

    def close(self, *, finish: bool = True) -> None:
        """Finish (or leave) what is waiting, record what was served, and end the thread. Errors are kept, not raised.

        Nothing is lost by leaving: what is due is found again.
        """
        with self._changed:
            if not finish:
                self._waiting.clear()
                self._leaving = True
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _add(self, stream: StreamId, *, first: bool) -> None:
        """Somebody waits for what comes `first`."""
        with self._changed:
            if self._closing:
                return
            self._waiting.setdefault(stream)
            if first:
                self._waiting.move_to_end(stream, last=False)
            self._errors.pop(stream, None)
            self._start()

    def _wait(self, stream: StreamId, seconds: float | None) -> None:
        """Whether the model is ready is asked without the lock, because an actor may be asked for it."""
        left = seconds
        while left is None or left > 0:
            ready, before = self._enricher.ready, monotonic()
            with self._changed:
                if stream not in self._waiting and self._busy != stream:
                    return
                self._changed.wait(left if ready else POLL_SECONDS)
            if left is not None and ready:
                left -= monotonic() - before

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="memory-actors-background", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    # -- the thread

    def _run(self) -> None:
        while self._pause():
            stream = self._next()
            if stream is not None:
                self._work(stream)
            self._flush()

    def _pause(self) -> bool:
        """Until there is something to do; False when there never will be."""
        with self._changed:
            while not (self._waiting or self._closing or self._flush_due()):
                self._changed.wait(None if self._flush_at is None else max(self._flush_at - monotonic(), 0.0))
            return bool(self._waiting or self._served or not self._closing)

    def _next(self) -> StreamId | None:
        with self._changed:
            self._busy = self._waiting.popitem(last=False)[0] if self._waiting else None
            return self._busy

    def _work(self, stream: StreamId) -> None:
        """All that is due for the stream. What was served meanwhile is not kept waiting by it."""
        error: Exception | None = None
        try:
            while not self._leaving and self._step(stream):
                self._flush()
        except Exception as raised:  # noqa: BLE001 - kept as the stream's error; the thread goes on with the others
            error = raised
        with self._changed:
            self._busy = None
            if error is not None:
                self._errors[stream] = error
            self._changed.notify_all()
        with suppress(MemoryActorsError):
            self._worked(stream)

    def _step(self, stream: StreamId) -> bool:
        """The next piece of work; False when nothing is due, or when it left no event and would only be the same again."""
        view = self._views.get(stream)
        tail, command = view.tail, self._enricher.next(view)
        if command is None:
            return False
        [ack] = acks(self._writer.execute(stream, [command]))
        if isinstance(command, ReportFailure):
            with self._changed:
                self._changed.wait_for(lambda: self._closing, back_off(command))
        return ack.seq > 0 or self._views.get(stream).tail != tail

    # -- what was served

    def _keep(self, served: Sequence[Served]) -> None:
        self._served += served
        if self._flush_at is None:
            self._flush_at = monotonic() + self._seconds

    def _flush_due(self) -> bool:
        return self._flush_at is not None and (self._closing or monotonic() >= self._flush_at)

    def _flush(self) -> None:
        """Record what was served, if it has waited long enough: one commit a stream."""
        with self._changed:
            if not self._flush_due():
                return
            served, self._served, self._flush_at = self._served, [], None
        for stream in dict.fromkeys(item.stream for item in served):
            self._record(stream, [item for item in served if item.stream == stream])

    def _record(self, stream: StreamId, served: Sequence[Served]) -> None:
        commands: list[Command] = [item.command for item in served]
        try:
            acks(self._writer.execute(stream, commands))
        except Exception as error:  # noqa: BLE001 - as in _work
            again = [msgspec.structs.replace(item, tries=item.tries + 1) for item in served if item.tries + 1 < FLUSHES]
            with self._changed:
                self._errors[stream] = error
                if again and isinstance(error, PASSING):
                    self._keep(again)
