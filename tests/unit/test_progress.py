"""Progress in a log: few lines, readable, and none for what ends quickly."""

import sys
from collections.abc import Iterable, Iterator

import pytest

from memory_actors.cli import show
from memory_actors.cli.progress import duration, speed


class Seconds:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def ran(seconds: Seconds, totals: dict[str, int], steps: Iterable[tuple[float, str, int]], unit: str = "turns") -> None:
    """Steps: seconds that pass, and what is then told."""
    with show.progress(totals, unit=unit, seconds=seconds) as told:
        for passed, phase, count in steps:
            seconds.at += passed
            told(phase, count)


def test_what_ends_quickly_says_nothing(seconds: Seconds, capsys: pytest.CaptureFixture[str]) -> None:
    """Two phases of 9 s each."""
    steps = [(1.0, "recorded", 1)] * 9 + [(1.0, "enriched", 1)] * 9
    ran(seconds, {"recorded": 9, "enriched": 9}, steps)

    assert ("", "") == capsys.readouterr()


def test_a_long_phase_says_where_it_stands_every_ten_seconds_and_how_it_ended(seconds: Seconds, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, a whole line each, no control characters; stdout stays the answer's."""
    steps = [(1.0, "recorded", 600)] + [(1.5, "enriched", 60)] * 10 + [(0.1, "unknown", 5)]
    ran(seconds, {"recorded": 600, "enriched": 600}, steps)
    out, err = capsys.readouterr()

    assert "" == out
    assert ["enriched 420 of 600 turns (70 %), 40/s, about 4 s left", "enriched 600 turns in 15 s"] == err.splitlines()
    assert err.replace("\n", "").isprintable()


def test_what_was_there_before_speeds_nothing_up(seconds: Seconds, capsys: pytest.CaptureFixture[str]) -> None:
    """A job that goes on with 5,000 of 6,000 done says the rate of what it does itself."""
    ran(seconds, {"enriched": 6000}, [(0.1, "enriched", 5000), (5.0, "enriched", 50), (5.0, "enriched", 50)])

    said, ended = capsys.readouterr().err.splitlines()
    assert "enriched 5,100 of 6,000 turns (85 %), 10/s, about 2 min left" == said
    assert "enriched 5,100 of 6,000 turns in 10 s" == ended


def test_few_long_items_have_a_rate_from_the_second_on(seconds: Seconds, capsys: pytest.CaptureFixture[str]) -> None:
    """The first may have waited for a model or for Ray: it says nothing about the others."""
    ran(seconds, {"asked": 4}, [(90.0, "asked", 1), (30.0, "asked", 1), (0.0, "asked", 0)], unit="conversations")

    expected = ["asked 1 of 4 conversations (25 %)", "asked 2 of 4 conversations (50 %), 2/min, about 1 min left"]
    assert expected == capsys.readouterr().err.splitlines()[:2]


def test_an_error_ends_without_a_line(seconds: Seconds, capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong is said by whoever reports it; nothing claims an end."""

    def broken() -> Iterator[tuple[float, str, int]]:
        yield 5.0, "enriched", 1
        seconds.at += 30.0
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        ran(seconds, {"enriched": 10}, broken())

    assert "" == capsys.readouterr().err


def test_a_terminal_gets_bars(seconds: Seconds, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And no lines of a log."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    ran(seconds, {"enriched": 2}, [(20.0, "enriched", 1), (20.0, "enriched", 1)])

    err = capsys.readouterr().err
    assert "2/2" in err
    assert "turns" not in err


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (59.4, "59 s"), (60, "1 min"), (150, "2 min"), (4800, "1 h 20 min")])
def test_durations_are_as_precise_as_matters(seconds: float, said: str) -> None:
    assert said == duration(seconds)


@pytest.mark.parametrize(("rate", "said"), [(1234.5, "1,234/s"), (1.0, "1/s"), (0.5, "30/min"), (0.01, "36.0/h")])
def test_rates_are_of_a_fitting_unit(rate: float, said: str) -> None:
    assert said == speed(rate)
