"""The writer of streams: a plain class, sync, one command at a time. The Ray actor is made of it in one line elsewhere.

On success, the events of a command are durable and its reply holds their seqs. On an error of one command, nothing of
that command was written and the others stand. After a crash, or after somebody else has written the same stream, the
state is folded again from the log, and a repeat with the same command id is found there and not written twice.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from events.ambient import Clock
from events.commands import Command
from events.deciding.decide import asked, check_command_id, check_place, decide
from events.deciding.state import Done, State, evolve, fingerprint
from events.envelope import Envelope
from events.errors import Busy, InvalidInput, MemoryActorsError
from events.ids import StreamId
from events.log import MAX_COMMIT_BYTES, MAX_COMMIT_EVENTS, Handle, Log, Lost
from events.log.row import Stamped, size_of
from events.policy import Policy

LOST_IN_A_ROW = 3


class Ack(msgspec.Struct, frozen=True):
    """A command is durable: its last seq, when it was recorded, and whether it had been carried out before.

    `seq` is 0 for a command that was out of turn and left no event.
    """

    seq: int
    recorded_at: int
    duplicate: bool = False
    first: int = 0


Reply = Ack | MemoryActorsError


class Active:
    """A stream in memory: the handle on its end, the folded state, and the commands older than the state remembers."""

    def __init__(self, handle: Handle, state: State) -> None:
        self.handle = handle
        self.state = state
        self.older: dict[str, Done] | None = None


class UserActor:
    """Holds the state of the streams it has been asked about, and commits to them.

    `streams` bounds how many are held at once; the one that was used longest ago is let go.
    """

    def __init__(self, log: Log, clock: Clock, policy: Callable[[str], Policy], streams: int = 1024) -> None:
        self._log = log
        self._clock = clock
        self._policy = policy
        self._bound = streams
        self._active: OrderedDict[StreamId, Active] = OrderedDict()

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """Carry out commands in order; one reply each. Raises Busy, StoreFull, OutcomeUnknown, StoreDamaged for the whole."""
        replies: list[Reply] = []
        lost = 0
        while len(replies) < len(commands):
            try:
                replies += self._commit(stream, commands[len(replies) :])
                lost = 0
            except Lost as error:
                lost += 1
                self._drop(stream)
                if lost >= LOST_IN_A_ROW:
                    raise Busy(
                        f"{stream} is being written by others ({error}); repeat what was not acknowledged, with the same ids"
                    ) from error
            except BaseException:
                self._drop(stream)
                raise
        return replies

    def state(self, stream: StreamId) -> State:
        """The folded state, for background work to see what is due. Not to be changed."""
        return self._activate(stream).state

    def is_due(self, stream: StreamId) -> bool:
        """Whether there is background work to do for the stream."""
        state = self.state(stream)
        return bool(state.pending or (state.unsummarised and self._policy(stream.space).episodes.enabled))

    def passivate(self, stream: StreamId) -> None:
        """Let a stream go. Everything acknowledged is in the log."""
        self._drop(stream)

    def _activate(self, stream: StreamId) -> Active:
        active = self._active.get(stream)
        if active is None:
            handle, reading = self._log.open(stream)
            state = State()
            for event in reading.events:
                evolve(state, event)
            active = self._active[stream] = Active(handle, state)
            while len(self._active) > self._bound:
                self._active.popitem(last=False)
        self._active.move_to_end(stream)
        return active

    def _drop(self, stream: StreamId) -> None:
        self._active.pop(stream, None)

    def _commit(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """One commit of as many whole commands as fit, and the replies to these."""
        active = self._activate(stream)
        draft = Draft(stream, active, self._policy(stream.space), self._clock, self._log)
        for command in commands:
            draft.take(command)
            if draft.full:
                break
        if draft.stamped:
            self._log.append(active.handle, draft.stamped, expected_seq=active.handle.tail.seq)
            draft.committed()
        return draft.replies


class Draft:
    """A commit in the making: commands are taken one by one, each decided on the state that those before it leave."""

    def __init__(self, stream: StreamId, active: Active, policy: Policy, clock: Clock, log: Log) -> None:
        self._stream, self._active, self._policy, self._clock, self._log = stream, active, policy, clock, log
        self.stamped: list[Stamped] = []
        self.replies: list[Reply] = []
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether the commit has reached its bounds."""
        return len(self.stamped) >= MAX_COMMIT_EVENTS or self._bytes >= MAX_COMMIT_BYTES

    def take(self, command: Command) -> None:
        """Decide a command, or find that it was carried out before."""
        try:
            check_command_id(command.id)
            check_place(command, self._stream)
            self.replies.append(self._repeat(command) or self._decided(command))
        except InvalidInput as error:
            self.replies.append(error)

    def _repeat(self, command: Command) -> Ack | None:
        done = self._active.state.commands.get(command.id) or self._older(command.id)
        if done is None:
            return None
        body = asked(command)
        if body is not None and fingerprint(body) != done.body:
            raise InvalidInput(f"id {command.id} was used before for another content (event {done.first} of {self._stream})")
        return Ack(done.last, done.recorded_at, duplicate=True, first=done.first)

    def _older(self, command_id: str) -> Done | None:
        """Look in the log for a command that the state no longer remembers; its ids are read once a stream."""
        if self._active.state.surely_new(command_id):
            return None
        if self._active.older is None:
            events = self._log.read(self._stream, vectors=False).events
            opened = self._active.handle.tail.seq  # what lies beyond may not be durable yet; trying to write finds it
            self._active.older = commands_of(event for event in events if event.seq <= opened)
        return self._active.older.get(command_id)

    def _decided(self, command: Command) -> Ack:
        state = self._active.state
        recorded_at, imported_at = self._stamp(command)
        first = state.seq + 1
        for event in decide(command, state, self._policy):
            self.stamped.append(Stamped(event, command.id, recorded_at, imported_at))
            self._bytes += size_of(event)
            evolve(state, self.stamped[-1].envelope(self._stream, state.seq + 1))
        return Ack(state.seq, recorded_at, first=first) if state.seq >= first else Ack(0, recorded_at)

    def _stamp(self, command: Command) -> tuple[int, int | None]:
        """One time for a whole command: after everything in the stream, and the clock's unless it is a backfill."""
        state, now = self._active.state, self._clock.now()
        if not command.backfill:
            return max(now, state.recorded_at + 1), None
        if state.live:
            raise InvalidInput(f"{self._stream} has live events; what is recorded as of the past must come before them")
        occurred_at = getattr(command, "occurred_at", None) or 0
        return max(occurred_at, state.recorded_at + 1), now

    def committed(self) -> None:
        """Keep what was just written findable by its command id."""
        if self._active.older is not None:
            known = self._active.state.commands
            self._active.older.update((item.command_id, known[item.command_id]) for item in self.stamped if item.command_id in known)


def commands_of(events: Iterable[Envelope]) -> dict[str, Done]:
    """Every command in these events."""
    done: dict[str, Done] = {}
    for event in events:
        if event.command_id is not None:
            known = done.get(event.command_id)
            first, body = (known.first, known.body) if known else (event.seq, fingerprint(event.data))
            done[event.command_id] = Done(first, event.seq, event.recorded_at, body)
    return done
