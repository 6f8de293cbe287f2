"""Many turns at once: the whole input is checked before anything is written, then recorded, then enriched.

As recorded (a backfill), a turn's `recorded_at` is when it occurred, and what is derived from it is committed before the
next turn, one microsecond later: so the past can be asked as if the memory had been there all along.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic

import msgspec

from events import ambient
from events.commands import PAST_TURNS, Command, Enrich, EnrichLatest, RecordTurn
from events.deciding.decide import asked, check_turn
from events.deciding.session_state import OpenTurn, closings
from events.deciding.state import fingerprint
from events.errors import InvalidInput, MemoryActorsError
from events.ids import StreamId, stream_id
from events.policy import Policy
from memory_actors.actors.enricher import Enricher, is_due, work_off
from memory_actors.actors.user_actor import commands_of
from memory_actors.actors.writer import Writer, acks
from memory_actors.inputs import TurnLine, identities
from memory_actors.memory import Memory
from memory_actors.models.embedder import Embedder
from memory_actors.settings import Settings
from memory_actors.user import turn_command
from projections.transcript import TurnRow
from projections.view import StreamView
from projections.views import Views

RECORD_BATCH = 128
EMBED_BATCH = 64

Progress = Callable[[str, int], None]
"""Told how many more turns have been "recorded" or "enriched"."""


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """What an ingest did."""

    recorded: int
    already_there: int
    streams: int
    seconds: float


class Fresh(msgspec.Struct, frozen=True):
    """The turns of one stream that are not in its log yet, in the order in which they will be recorded."""

    stream: StreamId
    commands: tuple[RecordTurn, ...]


def nothing(_what: str, _count: int) -> None:
    """No progress is shown."""


def ingest(
    memory: Memory, lines: Sequence[TurnLine], *, as_recorded: bool = False, wait: bool = True, progress: Progress = nothing
) -> Ingested:
    """Record `lines`; with `wait`, until all is enriched. Raises InvalidInput before anything is written.

    On Ray one task a stream; whatever ends it, the same again goes on where it was.
    """
    begun = monotonic()
    fresh = check(memory, lines, as_recorded=as_recorded)
    recorded = sum(len(one.commands) for one in fresh)
    progress("already there", len(lines) - recorded)
    new, old = [one for one in fresh if one.commands], [one for one in fresh if not one.commands]
    if memory.ray != "off" and len(new) > 1:
        _as_tasks(memory, new, as_recorded=as_recorded, wait=wait, progress=progress)
        new = []
    for one in (*new, *old):
        carry_out(memory, one, as_recorded=as_recorded, wait=wait, progress=progress)
    seconds = round(monotonic() - begun, 3)
    return Ingested(recorded=recorded, already_there=len(lines) - recorded, streams=len(fresh), seconds=seconds)


def carry_out(memory: Memory, fresh: Fresh, *, as_recorded: bool, wait: bool, progress: Progress = nothing) -> None:
    """One stream's share. May be repeated, also after it was interrupted anywhere."""
    if as_recorded:
        Backfill(memory, _left(memory, fresh), progress).run()
    else:
        _record(memory.writer, fresh, progress)
    if wait:
        enrich(memory, fresh.stream, progress)


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """One stream's share, and where its memory is."""

    fresh: Fresh
    settings: Settings
    policy: Policy | None
    embedder: str | Embedder
    as_recorded: bool
    wait: bool


def _as_tasks(memory: Memory, fresh: Sequence[Fresh], *, as_recorded: bool, wait: bool, progress: Progress) -> None:
    """The tasks write through a pool of as many actors as there are cores."""
    from memory_actors.cluster.tasks import mapped  # noqa: PLC0415 - a read from the shell imports this module, too

    settings = msgspec.structs.replace(memory.settings, store=str(memory.store.path), ray="auto", placement=f"pool:{os.cpu_count()}")
    shares = [
        Share(fresh=one, settings=settings, policy=memory.given, embedder=memory.chosen, as_recorded=as_recorded, wait=wait)
        for one in fresh
    ]
    for place, _ in mapped(_share, shares, memory.ray, pinned=not settings.shared):
        count = len(fresh[place].commands)
        progress("recorded", count)
        progress("enriched", count)


def _share(share: Share) -> None:
    with Memory(settings=share.settings, policy=share.policy, embedder=share.embedder, create=False) as memory:
        carry_out(memory, share.fresh, as_recorded=share.as_recorded, wait=share.wait)


def _left(memory: Memory, fresh: Fresh) -> Fresh:
    """What is not in the log yet: a task that is tried again finds there what it did before."""
    if not memory.log.exists(fresh.stream):
        return fresh
    known = commands_of(memory.log.open(fresh.stream)[1].events)
    return Fresh(fresh.stream, tuple(command for command in fresh.commands if command.id not in known))


def stream_of(line: TurnLine) -> StreamId:
    """The stream that a line goes to."""
    return stream_id(line.space, line.user)


def check(memory: Memory, lines: Sequence[TurnLine], *, as_recorded: bool) -> list[Fresh]:
    """What would be recorded, by stream. Raises InvalidInput with the line for whatever could not be."""
    wanted: dict[StreamId, dict[str, tuple[TurnLine, RecordTurn]]] = {}
    for line, identity in zip(lines, identities(lines, memory.store.secret), strict=True):
        command = turn_command(line, identity, backfill=as_recorded)
        _at(line, lambda command=command: check_turn(command))  # type: ignore[misc]
        wanted.setdefault(stream_of(line), {}).setdefault(command.id, (line, command))
    return [_fresh(memory, stream, items.values(), as_recorded=as_recorded) for stream, items in wanted.items()]


def _fresh(memory: Memory, stream: StreamId, items: Iterable[tuple[TurnLine, RecordTurn]], *, as_recorded: bool) -> Fresh:
    events = memory.log.open(stream)[1].events if memory.log.exists(stream) else []  # what is there already must be durable
    known = commands_of(events)
    new = []
    for line, command in items:
        done = known.get(command.id)
        body = asked(command)
        if done is None:
            new.append((line, command))
        elif body is not None and fingerprint(body) != done.body:
            raise InvalidInput(
                f"{line.origin}: turn {line.turn_id!r} of {line.conversation!r} is there already with other content (event {done.first})"
            )
    if as_recorded and new:
        _check_backfill(stream, new, live=any(event.imported_at is None for event in events))
        new.sort(key=lambda item: item[1].occurred_at or 0)
    return Fresh(stream, tuple(command for _, command in new))


def _check_backfill(stream: StreamId, new: Sequence[tuple[TurnLine, RecordTurn]], *, live: bool) -> None:
    if live:
        raise InvalidInput(
            f"{stream} has live events; --as-recorded is for streams that have none yet. Ingest without it, or into another store"
        )
    for line, command in new:
        if command.occurred_at is None:
            raise InvalidInput(f"{line.origin}: --as-recorded needs `occurred_at` on every line")


def _at(line: TurnLine, checked: Callable[[], None]) -> None:
    try:
        checked()
    except InvalidInput as error:
        raise InvalidInput(f"{line.origin}: {error}") from error


def _record(writer: Writer, fresh: Fresh, progress: Progress) -> None:
    for batch in _chunks(fresh.commands, RECORD_BATCH):
        acks(writer.execute(fresh.stream, batch))
        progress("recorded", len(batch))


def enrich(memory: Memory, stream: StreamId, progress: Progress = nothing) -> None:
    """Do all background work of a stream, or have an enricher do it where there are some. Raises what keeps it from being done."""
    if memory.ray != "off" and memory.settings.enrichers:
        _drain(memory, stream, progress)
        return
    views = Views(memory.log, index=False)

    def done(command: Command) -> None:
        progress("enriched", len(command.turns) if isinstance(command, Enrich) else 0)

    work_off(lambda: views.get(stream), memory.enricher, memory.writer, done)


def _drain(memory: Memory, stream: StreamId, progress: Progress) -> None:
    """The same on Ray. An actor is asked only where something is due."""
    view = StreamView(stream, index=False, vectors=False).catch_up(memory.log)
    if is_due(view, memory.policy_of(stream.space)):
        memory.background.drain(stream)
        progress("enriched", view.pending(view.tail.seq))


class Backfill:
    """One stream's turns as of the time when they occurred."""

    def __init__(self, memory: Memory, fresh: Fresh, progress: Progress) -> None:
        self._writer: Writer = memory.writer
        self._enricher: Enricher = memory.enricher
        self._rules = memory.policy_of(fresh.stream.space).session
        self._fresh, self._progress = fresh, progress
        self._log = memory.log
        self._view = StreamView(fresh.stream, index=False).catch_up(memory.log)
        self._open: dict[str, list[OpenTurn]] = {}
        self._past: dict[str, list[TurnRow]] = {}

    def run(self) -> None:
        """Record and derive, turn by turn, in commits that end where an episode closes. What was left due comes before."""
        self._work_off()
        waiting: list[Command] = []
        for chunk in _chunks(self._fresh.commands, EMBED_BATCH):
            for command, works in self._enriched(chunk):
                waiting += [command, works] if works is not None else [command]
                if self._closes(command) or len(waiting) >= RECORD_BATCH:
                    self._commit(waiting)
                    waiting = []
        self._commit(waiting)

    def _enriched(self, chunk: Sequence[RecordTurn]) -> list[tuple[RecordTurn, EnrichLatest | None]]:
        """Each turn with its work; the vectors of a chunk are computed as one batch. None: it failed, and is left to `enrich`."""
        rows = [self._row(command) for command in chunk]
        pasts = [self._remember(row) for row in rows]
        try:
            embedded = self._enricher.embed(list(zip(rows, pasts, strict=True)))
            works = [self._enricher.work(*given) for given in zip(rows, pasts, embedded, strict=True)]
        except MemoryActorsError:
            raise
        except Exception:  # noqa: BLE001 - it fails again in `enrich`, which records it
            return [(command, None) for command in chunk]
        return [
            (command, EnrichLatest(id=ambient.new_id(), backfill=True, turn=command.id, work=work))
            for command, work in zip(chunk, works, strict=True)
        ]

    def _row(self, command: RecordTurn) -> TurnRow:
        return TurnRow(
            seq=0,
            turn_id=command.turn_id,
            conversation=command.conversation,
            turn=1,
            role=command.role,
            speaker=command.speaker,
            content=command.content,
            occurred_at=command.occurred_at or 0,
            recorded_at=0,
        )

    def _remember(self, row: TurnRow) -> list[TurnRow]:
        """The turns before this one in its conversation, which it then joins."""
        past = self._past.get(row.conversation)
        if past is None:
            past = self._view.turns.last(row.conversation, PAST_TURNS)
        self._past[row.conversation] = [*past, row][-PAST_TURNS:]
        return list(past)

    def _closes(self, command: RecordTurn) -> bool:
        """Whether this turn closes an episode, by the rule that `decide` will apply."""
        name = command.conversation
        if name not in self._open:
            seq = len(self._view.recorded_at)
            self._open[name] = [OpenTurn(row.seq, row.turn) for row in self._view.turns.window(name, seq)]
        turns = self._open[name] = [*self._open[name], OpenTurn(0, 0)]
        closed = list(closings(name, turns, 0, self._rules))
        if closed:
            self._open[name] = turns[self._rules.window - self._rules.keep or 1 :]
        return bool(closed)

    def _commit(self, commands: Sequence[Command]) -> None:
        if commands:
            acks(self._writer.execute(self._fresh.stream, commands))
            for phase, kind in (("recorded", RecordTurn), ("enriched", EnrichLatest)):
                self._progress(phase, sum(isinstance(command, kind) for command in commands))
            self._work_off()

    def _work_off(self) -> None:
        """What the commands left due: summaries, and turns whose work failed."""
        work_off(lambda: self._view.catch_up(self._log), self._enricher, self._writer, backfill=True)


def _chunks(commands: Sequence[RecordTurn], size: int) -> Iterator[Sequence[RecordTurn]]:
    return (commands[start : start + size] for start in range(0, len(commands), size))
