"""What a read stands on: one point of one stream, the same for every leg of the answer."""

import bisect
from collections.abc import Sequence

import msgspec


class Basis(msgspec.Struct, frozen=True):
    """`seq`: the last event that is visible. `now`: the moment from which ages are counted, in microseconds.

    `final`: a later event exists, so this answer can never change (an erasure aside).
    """

    seq: int
    now: int
    final: bool


def latest(times: Sequence[int], clock: int) -> Basis:
    """The tail: all that is recorded. `times[i]` is when event i + 1 was recorded."""
    return Basis(len(times), max(clock, times[-1] if times else 0), final=False)


def as_of(times: Sequence[int], moment: int) -> Basis:
    """The last event recorded at or before `moment`."""
    seq = bisect.bisect_right(times, moment)
    return Basis(seq, moment, final=seq < len(times))


def at_seq(times: Sequence[int], seq: int) -> Basis:
    """Event `seq`, at the moment when it was recorded."""
    return Basis(seq, times[seq - 1] if seq else 0, final=seq < len(times))
