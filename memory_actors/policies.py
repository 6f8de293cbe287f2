"""Which policy holds in a space: the one that this process was given, else the latest that was set, else the defaults.

A policy that is set is an event of the space's own stream, so it holds in every process within a second, and what held
at any moment can be asked for. A policy that this version cannot read is an error, never silently the defaults.
"""

import threading
from collections.abc import Callable
from time import monotonic

import msgspec

from events.commands import SetPolicy
from events.envelope import Envelope
from events.errors import InvalidInput, StoreTooNew
from events.ids import space_stream
from events.log import Log, Tail
from events.policy import Policy, parse_policy
from events.vocabulary import PolicySet
from memory_actors.actors.user_actor import Ack
from memory_actors.actors.writer import Writer, acks
from memory_actors.times import Moment


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, and since when it holds (microseconds): by event `seq` of the space's stream. `seq` 0: none was set; the defaults.

    `recorded`: the hash that the event names, which a version with other tunables computed: see `policy.hash` for this one's.
    """

    policy: Policy
    seq: int = 0
    since: int | None = None
    recorded: str | None = None


DEFAULT = InForce(policy=Policy())


class _Space:
    """What has been read of one space's stream."""

    def __init__(self) -> None:
        self.tail: Tail | None = None
        self.sets: list[Envelope] = []
        self.read_at: float | None = None
        self.live: InForce | None = None

    def catch_up(self, log: Log, space: str) -> None:
        """Read what is new. A floor that an erasure raised starts anew."""
        seen = 0 if self.tail is None else self.tail.seq
        reading = log.read(space_stream(space), self.tail if seen else None, vectors=False)
        if reading.start > seen + 1:
            self.sets, self.live = [], None
        fresh = [event for event in reading.events if event.type == PolicySet.__name__]
        self.sets += fresh
        self.tail = reading.tail
        if fresh:
            self.live = None


class Policies:
    """The policies of all spaces of a log. `given` holds in this process instead of what was set: for evaluations and tests.

    What was read is believed for `seconds` of `clock`. Any thread may ask.
    """

    def __init__(self, log: Log, given: Policy | None = None, seconds: float = 1.0, clock: Callable[[], float] = monotonic) -> None:
        self.given = given
        self._log, self._seconds, self._clock = log, seconds, clock
        self._lock = threading.Lock()
        self._spaces: dict[str, _Space] = {}

    def of(self, space: str) -> Policy:
        """The policy that holds. Raises StoreTooNew for one that a later version set."""
        return self.live(space).policy if self.given is None else self.given

    def live(self, space: str) -> InForce:
        """The policy that was set last, whatever this process was given."""
        with self._lock:
            known = self._read(space)
            if known.live is None:
                known.live = in_force(known.sets[-1]) if known.sets else DEFAULT
            return known.live

    def as_of(self, space: str, moment: Moment) -> InForce:
        """The policy that held then. A seq is a place in the space's own stream; beyond its end is InvalidInput."""
        with self._lock:
            known = self._read(space, anew=True)
            end = known.tail.seq if known.tail else 0
            if moment.seq is not None and moment.seq > end:
                raise InvalidInput(f"@{moment.seq} is beyond the end of {space_stream(space)}, which is @{end}")
            held = [event for event in known.sets if _by(event, moment)]
            return in_force(held[-1]) if held else DEFAULT

    def set(self, writer: Writer, space: str, policy: Policy, *, id: str) -> Ack:  # noqa: A002 - the word that callers have for it
        """From now on this policy holds in the space; here at once. `seq` 0: it did already, and nothing was written."""
        [ack] = acks(writer.execute(space_stream(space), [SetPolicy(id=id, policy=policy)]))
        self.refresh(space)
        return ack

    def refresh(self, space: str) -> None:
        """Look again at the next question."""
        with self._lock:
            if space in self._spaces:
                self._spaces[space].read_at = None

    def _read(self, space: str, *, anew: bool = False) -> _Space:
        known = self._spaces.setdefault(space, _Space())
        now = self._clock()
        if anew or known.read_at is None or now - known.read_at >= self._seconds:
            known.catch_up(self._log, space)
            known.read_at = now
        return known


def _by(event: Envelope, moment: Moment) -> bool:
    return event.seq <= moment.seq if moment.seq is not None else event.recorded_at <= (moment.at or 0)


def in_force(event: Envelope) -> InForce:
    """The policy that an event set. Raises StoreTooNew where this version does not know all of it."""
    data = event.data
    try:
        if not isinstance(data, PolicySet):
            raise InvalidInput(f"schema version {event.schema_version}")
        return InForce(policy=parse_policy(data.policy), seq=event.seq, since=event.recorded_at, recorded=data.hash)
    except InvalidInput as error:
        place = f"event {event.seq} of {event.space}/{event.user}"
        raise StoreTooNew(f"the policy of space {event.space!r} ({place}) was set by a later version: {error}") from error
