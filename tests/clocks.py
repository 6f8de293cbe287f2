"""A clock for tests: it says what it is told, and moves by a fixed step at each look."""

START = 1_764_547_200_000_000  # 2025-12-01T00:00:00Z


class TickingClock:
    """Microseconds since the epoch. Each `now()` is `step` later than the one before; a step of 0 stands still."""

    def __init__(self, start: int = START, step: int = 1000) -> None:
        self._next, self.step = start, step

    def now(self) -> int:
        """The present, which moves on."""
        present = self._next
        self._next += self.step
        return present

    def set(self, instant: int) -> None:
        """The next `now()` is this instant, earlier or later."""
        self._next = instant
