"""Answers for people: tables and short lines on stdout; progress on stderr. Numbers and times as they are in the JSON."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memory_actors.cli.progress import Told, bars, lines, to_stderr
from memory_actors.reads.context import day
from memory_actors.times import show as show_time

WIDTH = 140
"""Columns where there is no terminal to ask."""


class Piped(Console):
    """A console whose reader may have gone: that is no error of ours to report as one."""

    def on_broken_pipe(self) -> None:
        """Leave it to the caller."""
        raise BrokenPipeError


def console(*, error: bool = False) -> Console:
    """Where to print; made anew, because tests and pipes replace the streams."""
    stream = sys.stderr if error else sys.stdout
    return Piped(stderr=error, highlight=False, emoji=False, width=None if stream.isatty() else WIDTH)


def as_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def as_lines(values: Iterable[Any]) -> None:
    """One JSON object a line on stdout."""
    for value in values:
        sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control characters shown as they are named, markup escaped."""
    return escape("".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text))


def line(text: str) -> None:
    """One line."""
    console().print(text, soft_wrap=True)


def table(titles: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
    """A table, or a sentence where there are no rows."""
    rows = list(rows)
    if not rows:
        if empty:
            line(printable(empty))
        return
    built = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        built.add_column(printable(title), overflow="fold", justify="right" if title in RIGHT else "left")
    for row in rows:
        built.add_row(*(printable(str(value)) for value in row))
    console().print(built)


RIGHT = ("score", "seq", "turns", "messages", "accesses", "confidence", "events", "priority")


def date(micros: int | None) -> str:
    """A day, or nothing."""
    return "" if micros is None else day(micros)


def short(text: str, limit: int = 100) -> str:
    """The beginning of a text, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def basis(found: Any) -> None:
    """Which moment the answer is about."""
    final = "" if found.final else ", the latest"
    console().print(f"[dim]as of event {found.seq}{final}, {show_time(found.now)}[/dim]")


@contextmanager
def progress(totals: dict[str, int], *, unit: str = "turns", seconds: Callable[[], float] = monotonic) -> Iterator[Told]:
    """How many of each phase's `unit` are done, on stderr; yields `(phase, count) -> None`."""
    with bars(totals, console(error=True)) if sys.stderr.isatty() else lines(totals, unit, to_stderr, seconds) as told:
        yield told
