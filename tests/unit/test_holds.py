"""Whether the log still holds what was read of it: through sealing, erasure, and files that go while they are looked at."""

from pathlib import Path

import pytest
from builders import ANN, counting_salt, erase, raise_floor, seal, small_store, write
from faults import ScriptedFiles

from events.log import Tail
from events.log.file_log import FileLog
from events.log.plan import file_name


@pytest.fixture
def files() -> ScriptedFiles:
    return ScriptedFiles()


@pytest.fixture
def log(tmp_path: Path, files: ScriptedFiles) -> FileLog:
    return FileLog(small_store(tmp_path), files, salt=counting_salt(), pause=lambda _: None)


def tails(log: FileLog) -> list[Tail]:
    return [Tail(row.seq, row.digest, row.recorded_at) for row in log.read(ANN).rows]


def test_sealing_changes_nothing(log: FileLog) -> None:
    """A window's file may begin after its window, where the last commit of the one before reaches into it."""
    write(log, log.open(ANN)[0], 1, 2, 3, 1, 2, 4)
    before = tails(log)
    for window in (1, 5, 9):
        seal(log, ANN, window)

    assert ["held"] * 13 == [log.holds(ANN, 1, tail) for tail in before]


def test_only_the_file_of_the_commit_is_read(log: FileLog, files: ScriptedFiles) -> None:
    write(log, log.open(ANN)[0], 1, 2, 1, 1)
    tail = tails(log)[1]
    files.steps.clear()

    log.holds(ANN, 1, tail)

    assert [file_name(2)] == [Path(path).name for path in files.paths("read")]


def test_a_floor_above_the_start_means_that_some_of_it_was_erased(log: FileLog) -> None:
    """Also where the last event is still there, or was the last before the floor; what was read from the floor on is held."""
    write(log, log.open(ANN)[0], 2, 2, 2)
    before = tails(log)
    raise_floor(log, ANN, 3, before[1].digest)

    assert ["erased"] * 6 == [log.holds(ANN, 1, tail) for tail in before]
    assert ["held"] * 4 == [log.holds(ANN, 3, tail) for tail in before[2:]]


def test_an_erased_stream_holds_nothing_of_before(log: FileLog) -> None:
    write(log, log.open(ANN)[0], 2, 2)
    before = tails(log)
    floor = erase(log, ANN)

    assert "erased" == log.holds(ANN, 1, before[-1])
    assert "held" == log.holds(ANN, floor, log.read(ANN).tail)


def test_a_lost_tail_is_seen(log: FileLog) -> None:
    """Evidence that only somebody outside the log can have."""
    write(log, log.open(ANN)[0], 2, 2)
    before = tails(log)
    (log.folder(ANN) / file_name(3)).unlink()

    assert ["held", "held", "ahead", "ahead"] == [log.holds(ANN, 1, tail) for tail in before]


def test_a_tail_that_was_lost_and_written_again_is_another(log: FileLog) -> None:
    write(log, log.open(ANN)[0], 2, 2)
    before = tails(log)
    (log.folder(ANN) / file_name(3)).unlink()
    write(log, log.open(ANN)[0], 1, 1)

    assert ["held", "held", "other", "other"] == [log.holds(ANN, 1, tail) for tail in before]


def test_a_file_that_is_sealed_away_meanwhile_is_looked_for_again(log: FileLog, files: ScriptedFiles) -> None:
    write(log, log.open(ANN)[0], 2, 2, 2)
    tail = tails(log)[0]
    files.at("read", 1, lambda: seal(log, ANN, 1), path=file_name(1))

    assert "held" == log.holds(ANN, 1, tail)
