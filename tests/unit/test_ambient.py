"""The one place where time, randomness and ids come from. Here alone the machine's clocks are replaced by patching."""

import time
import uuid

import pytest

from events import ambient
from events.deciding.state import timestamp
from events.errors import Busy


class Machine:
    """A wall clock and a boot clock, in milliseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.boot = 1_764_547_200_000, 5_000_000
        monkeypatch.setattr(time, "time", lambda: self.wall / 1000)
        monkeypatch.setattr(time, "time_ns", lambda: self.wall * 1_000_000)
        monkeypatch.setattr(time, "clock_gettime", lambda which: {time.CLOCK_BOOTTIME: self.boot / 1000}[which])

    def run(self, milliseconds: int) -> None:
        """Time passes for both clocks."""
        self.wall += milliseconds
        self.boot += milliseconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_ids_are_uuids_of_version_7(machine: Machine) -> None:
    """RFC 9562: version 7, variant 10, and the wall clock's milliseconds first."""
    made = uuid.UUID(ambient.new_id())

    assert (7, uuid.RFC_4122, 1_764_547_200_000) == (made.version, made.variant, made.int >> 80)


def test_ids_carry_their_time(machine: Machine) -> None:
    """The state reads from them whether a command can have been evicted."""
    machine.run(250)

    assert 1_764_547_200_250 == timestamp(ambient.new_id())


def test_ids_sort_by_the_millisecond_they_were_made_in(machine: Machine) -> None:
    """As text too."""
    ids = []
    for _ in range(50):
        machine.run(1)
        ids.append(ambient.new_id())

    assert sorted(ids) == ids
    assert 50 == len({timestamp(one) for one in ids})


def test_ids_of_one_millisecond_differ(machine: Machine) -> None:
    """By 74 random bits, all of which vary."""
    ids = {uuid.UUID(ambient.new_id()).int for _ in range(200)}
    low, high = (1 << 62) - 1, 0xFFF << 64
    ones, zeros = 0, (1 << 128) - 1
    for one in ids:
        ones, zeros = ones | one, zeros & one

    assert 200 == len(ids)
    assert (low, high, 0) == (ones & low, ones & high, zeros & (low | high))


def test_salts_and_secrets_are_fresh() -> None:
    """Sixteen and thirty-two bytes, never twice the same."""
    salts, secrets = {ambient.salt() for _ in range(50)}, {ambient.secret() for _ in range(50)}

    assert (50, {16}, 50, {32}) == (len(salts), {len(one) for one in salts}, len(secrets), {len(one) for one in secrets})


def test_the_clock_says_microseconds(machine: Machine) -> None:
    """Since the epoch."""
    clock = ambient.SystemClock()
    machine.run(500)

    assert 1_764_547_200_500_000 == clock.now()


@pytest.mark.parametrize("jump", [3601, -3601, 10**9])
def test_a_clock_that_jumped_is_refused(machine: Machine, jump: int) -> None:
    """An event stamped by it would stay wrong for ever. Nothing was written, so one may try again; set right, it works."""
    clock = ambient.SystemClock()
    machine.run(86_400_000)
    machine.wall += jump * 1000

    with pytest.raises(Busy, match=f"jumped by {jump} s") as caught:
        clock.now()
    machine.wall -= jump * 1000

    assert 60 == caught.value.retry_after
    assert machine.wall * 1000 == clock.now()


@pytest.mark.parametrize("jump", [3599, -3599, 0])
def test_small_corrections_are_accepted(machine: Machine, jump: int) -> None:
    """Up to an hour either way, and any time of running or sleeping."""
    clock = ambient.SystemClock()
    machine.run(10_000_000_000)
    machine.wall += jump * 1000

    assert machine.wall * 1000 == clock.now()
