"""Items as Ray tasks: as many as fit, tried again when a worker dies, and never when the work itself is wrong."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from events.errors import ClusterUnavailable, UnknownUser
from memory_actors.cluster.tasks import RETRIES, SUBMITTED, mapped

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def cores() -> Iterator[int]:
    """A Ray of this file's own, and how many cores it has."""
    from memory_actors.cluster.connection import start, stop

    owner = start("local")
    yield os.cpu_count() or 1
    stop(owner)


class Asked(Sequence[int]):
    """Numbers, and which of them have been taken."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.taken: list[int] = []

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> int:  # type: ignore[override]
        if place >= self._count:
            raise IndexError
        self.taken.append(place)
        return place * 10


def test_every_item_is_done_and_few_are_submitted_ahead(cores: int) -> None:
    """Before the first is done, twice as many as there are cores; `mapped` itself looks at each once, for what is kept."""
    items = Asked(40)
    results = mapped(lambda item: item + 1, items, "local", pinned=True)

    first = next(results)
    assert 40 + SUBMITTED * cores == len(items.taken)
    assert [(place, place * 10 + 1) for place in range(40)] == sorted([first, *results])


def test_a_killed_worker_is_made_good(cores: int, tmp_path: Path) -> None:
    """The task runs again, elsewhere."""

    def dies_once(item: int) -> int:
        try:
            (tmp_path / str(item)).touch(exist_ok=False)
        except FileExistsError:
            return item
        os.kill(os.getpid(), signal.SIGKILL)
        return -1

    assert [(0, 7), (1, 8)] == sorted(mapped(dies_once, [7, 8], "local"))


def test_a_worker_that_always_dies_is_an_error(cores: int, tmp_path: Path) -> None:
    """After so many tries."""

    def dies(item: int) -> int:
        with (tmp_path / "tries").open("a") as tries:
            tries.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
        return item

    with pytest.raises(ClusterUnavailable, match="lost 4 times"):
        list(mapped(dies, [1], "local"))
    assert RETRIES + 1 == len((tmp_path / "tries").read_text())


def test_what_the_work_raises_is_raised_once_and_keeps_its_type(cores: int, tmp_path: Path) -> None:
    """As it would be without Ray."""

    def refuses(item: int) -> int:
        with (tmp_path / "tries").open("a") as tries:
            tries.write("x")
        raise UnknownUser("ann", "default", ("anna",))

    with pytest.raises(UnknownUser) as caught:
        list(mapped(refuses, [1], "local"))
    assert (UnknownUser, ("anna",)) == (type(caught.value), caught.value.near)
    assert "x" == (tmp_path / "tries").read_text()


def test_what_no_call_can_carry_is_done_here_when_all_else_is(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for it, and nothing is lost behind it, however many there are before the first that fits."""
    monkeypatch.setattr("memory_actors.cluster.tasks.CALL_BYTES", 1000)
    items = [b"x" * 5000] * (SUBMITTED * cores + 1) + [b"y", b"z" * 5000, b"w"]
    here = os.getpid()
    done = list(mapped(lambda item: (len(item), os.getpid() == here), items, "local"))

    assert [(1, False)] * 2 == [result for _, result in done[:2]]
    assert {(5000, True)} == {result for _, result in done[2:]}
    assert list(range(len(items))) == sorted(place for place, _ in done)
