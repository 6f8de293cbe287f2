"""How far it has come, on stderr: bars for a person who watches, lines for a log that is read later.

In a log nothing steers a terminal, a line comes at most every ten seconds, and what ends sooner says nothing.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

EVERY_SECONDS = 10.0

Told = Callable[[str, int], None]
"""Told how many more of a phase are done; phases that are not shown are passed over."""


@contextmanager
def bars(totals: Mapping[str, int], console: Console) -> Iterator[Told]:
    """One a phase, with rate and time left."""
    columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=False) as shown:
        tasks = {name: shown.add_task(name, total=total) for name, total in totals.items()}

        def told(phase: str, count: int) -> None:
            if phase in tasks:
                shown.advance(tasks[phase], count)

        yield told


@contextmanager
def lines(totals: Mapping[str, int], unit: str, say: Callable[[str], None], seconds: Callable[[], float]) -> Iterator[Told]:
    """For a log; a phase that took long also says when it has ended. `seconds` is a clock that only goes forward."""
    shown = Lines(totals, unit, say, seconds)
    yield shown.told
    shown.end()


def to_stderr(text: str) -> None:
    """One line, at once: a log is read while it is written."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class Phase:
    """How much of `total` is done, and how fast since it was first heard of.

    What comes first counts for no rate: it may have been there before, or have waited for a model.
    """

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self.begun: float | None = None
        self.ended = False
        self._first: tuple[float, int] | None = None

    def add(self, count: int, now: float, begun: float) -> None:
        """So many more; `begun` is since when somebody may have been at it."""
        if self.begun is None:
            self.begun = begun
        self.done = min(self.done + count, self.total)
        if self._first is None and count:
            self._first = now, self.done

    def rate(self, now: float) -> float:
        """So many a second since the first were done; 0 when it cannot be said yet."""
        at, done = self._first or (now, 0)
        return (self.done - done) / (now - at) if now > at else 0.0

    def line(self, unit: str, now: float) -> str:
        """Where it stands: `enriched 1,200 of 5,882 turns (20 %), 41/s, about 2 min left`."""
        said = f"{self.name} {self.done:,} of {self.total:,} {unit} ({100 * self.done // self.total} %)"
        rate = self.rate(now)
        return f"{said}, {speed(rate)}, about {duration((self.total - self.done) / rate)} left" if rate else said

    def last_line(self, unit: str, now: float) -> str:
        """How it ended: `enriched 5,882 turns in 2 min`."""
        of = "" if self.done == self.total else f" of {self.total:,}"
        return f"{self.name} {self.done:,}{of} {unit} in {duration(now - (self.begun or now))}"


class Lines:
    """The phases of one command as lines for a log."""

    def __init__(self, totals: Mapping[str, int], unit: str, say: Callable[[str], None], seconds: Callable[[], float]) -> None:
        self._phases = {name: Phase(name, total) for name, total in totals.items() if total}
        self._unit, self._say, self._seconds = unit, say, seconds
        self._moved = self._said = seconds()

    def told(self, name: str, count: int) -> None:
        """So many more of a phase."""
        phase, now = self._phases.get(name), self._seconds()
        if phase is None or phase.ended:
            return
        phase.add(count, now, self._moved)
        self._moved = now
        if phase.done == phase.total:
            self._end(phase, now)
        elif now - max(self._said, phase.begun or now) >= EVERY_SECONDS:
            self._said = now
            self._say(phase.line(self._unit, now))

    def end(self) -> None:
        """Nothing more will come."""
        for phase in self._phases.values():
            if not phase.ended:
                self._end(phase, self._seconds())

    def _end(self, phase: Phase, now: float) -> None:
        phase.ended = True
        if phase.begun is not None and now - phase.begun >= EVERY_SECONDS:
            self._said = now
            self._say(phase.last_line(self._unit, now))


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """The speed, once there is one."""
        found = task.finished_speed or task.speed
        return Text(speed(found) if found else "", style="progress.data.speed")


def speed(rate: float) -> str:
    """So many a second, or, where that is less than one, a minute or an hour."""
    for unit, times in (("s", 1), ("min", 60)):
        if rate * times >= 1:
            return f"{rate * times:,.0f}/{unit}"
    return f"{rate * 3600:,.1f}/h"


def duration(seconds: float) -> str:
    """To the precision that matters: `40 s`, `2 min`, `1 h 20 min`."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
