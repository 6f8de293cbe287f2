"""What happens after the reply: enrichment, and keeping what was served. One thread, started when there is work.

It reads the log with eyes of its own, so that readers and it never touch one view. Nothing here is needed for safety: what
is due is a number in the log, so whatever a crash leaves undone is found again.
"""

import threading
from collections import OrderedDict
from time import monotonic

from events import ambient
from events.commands import Command, RecordRecall
from events.errors import MemoryActorsError
from events.ids import StreamId
from events.log import Log
from events.vocabulary import MemoryRecalled
from memory_actors.context import Context
from memory_actors.enricher import Enricher
from memory_actors.recall import Recall
from memory_actors.settings import Settings
from memory_actors.writer import Writer, acks
from projections.view import Views

FLUSH_SECONDS = 1.0
POLL_SECONDS = 0.05


class Background:
    """Streams waiting for background work, and recalls waiting to be recorded."""

    def __init__(self, writer: Writer, log: Log, enricher: Enricher, settings: Settings) -> None:
        self._writer = writer
        self._views = Views(log, index=False)
        self._enricher = enricher
        self._settings = settings
        self._changed = threading.Condition()
        self._waiting: OrderedDict[StreamId, None] = OrderedDict()
        self._busy: StreamId | None = None
        self._served: list[tuple[StreamId, Command]] = []
        self._errors: dict[StreamId, Exception] = {}
        self._thread: threading.Thread | None = None
        self._closing = False
        self._leaving = False

    # -- what callers say

    def wrote(self, stream: StreamId) -> None:
        """The stream has something new."""
        with self._changed:
            self._waiting[stream] = None
            self._errors.pop(stream, None)
            self._start()

    def served(self, stream: StreamId, answer: Recall | Context, policy: str, conversation: str | None) -> None:
        """Keep what a live read gave: ids and scores, never text."""
        if self._settings.recalls == "never":
            return
        command = RecordRecall(id=ambient.new_id(), served=_recalled(answer, policy, conversation))
        if self._settings.recalls == "now":
            acks(self._writer.execute(stream, [command]))
            return
        with self._changed:
            self._served.append((stream, command))
            self._start()

    def wait(self, stream: StreamId) -> None:
        """Until nothing is due for the stream, but no longer than `wait_seconds`; loading a model is not counted."""
        self.wrote(stream)
        self._wait(stream, self._settings.wait_seconds)

    def drain(self, stream: StreamId) -> None:
        """Until nothing is due for the stream. Raises what kept the work from being done."""
        self.wrote(stream)
        self._wait(stream, None)
        with self._changed:
            error = self._errors.get(stream)
        if error is not None:
            raise error

    def close(self, *, finish: bool = True) -> None:
        """Finish (or leave) what is waiting, and end the thread. Nothing is lost by leaving: it is found again."""
        with self._changed:
            if not finish:
                self._waiting.clear()
                self._leaving = True
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _wait(self, stream: StreamId, seconds: float | None) -> None:
        with self._changed:
            left = seconds
            while stream in self._waiting or self._busy == stream:
                before = monotonic()
                self._changed.wait(POLL_SECONDS)
                if left is not None and self._enricher.ready:
                    left -= monotonic() - before
                    if left <= 0:
                        return

    # -- the thread

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="memory-actors-background", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        while (stream := self._next()) is not None or not self._closing or self._served:
            if stream is not None:
                self._work(stream)
            self._flush()

    def _next(self) -> StreamId | None:
        """The next stream; None after a second without one, so that what was served is recorded."""
        with self._changed:
            if not self._waiting and not self._closing:
                self._changed.wait(FLUSH_SECONDS if self._served else None)
            self._busy = self._waiting.popitem(last=False)[0] if self._waiting else None
            return self._busy

    def _work(self, stream: StreamId) -> None:
        error: Exception | None = None
        try:
            while (command := self._enricher.next(self._views.get(stream))) is not None and not self._leaving:
                acks(self._writer.execute(stream, [command]))
        except MemoryActorsError as raised:
            error = raised
        with self._changed:
            self._busy = None
            if error is not None:
                self._errors[stream] = error
            self._changed.notify_all()

    def _flush(self) -> None:
        with self._changed:
            served, self._served = self._served, []
        for stream, command in served:
            try:
                acks(self._writer.execute(stream, [command]))
            except MemoryActorsError as error:
                with self._changed:
                    self._errors[stream] = error


def _recalled(answer: Recall | Context, policy: str, conversation: str | None) -> MemoryRecalled:
    if isinstance(answer, Recall):
        return MemoryRecalled(
            kind="recall",
            basis_seq=answer.basis.seq,
            now=answer.basis.now,
            policy=policy,
            conversation=conversation,
            turns=tuple((hit.seq, hit.score) for hit in answer.hits),
            facts=tuple(hit.fact.id for hit in answer.facts),
            episodes=tuple(hit.episode.id for hit in answer.episodes),
        )
    return MemoryRecalled(
        kind="context",
        basis_seq=answer.basis.seq,
        now=answer.basis.now,
        policy=policy,
        conversation=conversation,
        turns=tuple((int(source[1:]), 0.0) for source in answer.sources if source.startswith("@")),
        facts=tuple(source for source in answer.sources if source.startswith("f")),
        episodes=tuple(source for source in answer.sources if source.startswith("e")),
        tokens=answer.tokens,
    )
