"""The one place where time, randomness and new ids come from. Lint bans them everywhere else; tests replace them."""

import os
import time
import uuid
from typing import Protocol

from events.errors import Busy

MAX_DRIFT_SECONDS = 3600.0


class Clock(Protocol):
    """Microseconds since the epoch, UTC."""

    def now(self) -> int:
        """The present."""


class SystemClock:
    """The machine's wall clock, watched against the clock that counts since boot.

    Refuses to stamp (Busy) when the two have drifted apart by more than an hour since this object was made: an event
    stamped by a clock that jumped would stay wrong for ever.
    """

    def __init__(self) -> None:
        self._offset = self._difference()

    @staticmethod
    def _difference() -> float:
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def now(self) -> int:
        """The wall clock's microseconds. Raises Busy after a jump."""
        drift = self._difference() - self._offset
        if abs(drift) > MAX_DRIFT_SECONDS:
            raise Busy(f"the clock of this machine jumped by {drift:.0f} s; set it right and start again", retry_after=60)
        return time.time_ns() // 1000


def salt() -> bytes:
    """Sixteen fresh bytes that key one event's payload digest."""
    return os.urandom(16)


def secret() -> bytes:
    """Thirty-two fresh bytes, made once a store."""
    return os.urandom(32)


def new_id() -> str:
    """A UUID of version 7 (RFC 9562): milliseconds of the wall clock, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (2**48 - 1)) << 80 | 0x7 << 76 | (random >> 64 & 0xFFF) << 64 | 0b10 << 62 | random & (2**62 - 1)
    return str(uuid.UUID(int=value))


def pause(seconds: float) -> None:
    """Wait, as a back-off does."""
    time.sleep(seconds)
