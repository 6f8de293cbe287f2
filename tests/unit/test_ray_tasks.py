"""Items one by one, and what was finished before a crash."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from events.errors import Busy, InvalidInput
from events.log.files import Files
from memory_actors.cluster.kept import HEADER, digest, kept_in
from memory_actors.cluster.tasks import mapped


class Square(msgspec.Struct, frozen=True):
    """A result."""

    of: int
    is_: float


class Calls:
    """A function that counts, and may raise at an item."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.made: list[int] = []
        self._dies_at = dies_at

    def __call__(self, item: int) -> Square:
        if item == self._dies_at:
            raise KeyboardInterrupt
        self.made.append(item)
        return Square(item, item * item / 7)


EXPECTED = [(place, Square(item, item * item / 7)) for place, item in enumerate([3, 4, 5])]


def by_item(item: int) -> str:
    return digest(item)


def run(path: Path, function: Callable[[int], Square], key: Callable[[int], str] = by_item) -> list[tuple[int, Square]]:
    with kept_in(path, Square, key) as kept:
        return list(mapped(function, [3, 4, 5], "off", kept))


def test_items_come_with_their_places() -> None:
    """Without Ray in order, and lazily: the second is not begun before the first is taken."""
    calls = Calls()
    items = mapped(calls, [3, 4, 5], "off")

    assert EXPECTED[0] == next(items)
    assert [3] == calls.made
    assert EXPECTED[1:] == list(items)


def test_a_job_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """What was finished is not done again, and comes out equal."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "kept", Calls(dies_at=5))
    calls = Calls()

    assert EXPECTED == run(tmp_path / "kept", calls)
    assert [5] == calls.made


def test_every_torn_end_is_ignored_and_done_again(tmp_path: Path) -> None:
    """The file cut at every byte: whole lines are taken, and the file is whole again afterwards."""
    path = tmp_path / "kept"
    run(path, Calls())
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]

    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        calls = Calls()

        assert EXPECTED == run(path, calls)
        assert 3 - max(sum(end <= cut for end in ends) - 1, 0) == len(calls.made)
        assert whole == path.read_bytes()


def test_zeros_that_a_crash_left_are_ignored(tmp_path: Path) -> None:
    """A file system may lengthen a file before its bytes are there."""
    path = tmp_path / "kept"
    run(path, Calls())
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(100))

    assert EXPECTED == run(path, Calls(dies_at=3))
    assert whole == path.read_bytes()


def test_results_of_other_inputs_are_not_taken(tmp_path: Path) -> None:
    """They stay for whoever asks for them."""
    path = tmp_path / "kept"
    run(path, Calls())
    calls = Calls()

    assert EXPECTED == run(path, calls, lambda item: digest(item, "another policy"))
    assert [3, 4, 5] == calls.made
    assert EXPECTED == run(path, Calls(dies_at=3))


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A mistyped name costs nothing."""
    path = tmp_path / "conv.json"
    path.write_text(json.dumps([{"conversation": "mine"}]))
    before = path.read_bytes()

    with pytest.raises(InvalidInput, match="no file of finished items"):
        run(path, Calls())
    assert before == path.read_bytes()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """In the middle it is no torn end: somebody should look."""
    path = tmp_path / "kept"
    path.write_bytes(HEADER + b"{broken\n")

    with pytest.raises(InvalidInput, match=":2 is damaged"):
        run(path, Calls())


def test_two_jobs_do_not_share_a_file(tmp_path: Path) -> None:
    """The second is told, and may come when the first has ended."""
    path = tmp_path / "kept"
    with kept_in(path, Square, by_item), pytest.raises(Busy, match="held by a job"):
        run(path, Calls())

    assert EXPECTED == run(path, Calls())


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """As a mistaken call."""
    with pytest.raises(InvalidInput, match="No such file"):
        run(tmp_path / "nowhere" / "kept", Calls())


def test_a_new_file_is_durable_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first item is done: what is kept in a file that a crash takes away is not kept."""
    synced: list[Path] = []
    monkeypatch.setattr(Files, "fsync_folder", lambda _, folder: synced.append(folder))
    with kept_in(tmp_path / "kept", Square, by_item):
        assert [tmp_path] == synced
