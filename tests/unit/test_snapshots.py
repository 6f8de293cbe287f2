"""Snapshots as files: one a user, private, replaced in one step, disposable; and what they tell of a log that lost something."""

import logging
import pickle
import stat
from pathlib import Path

import pytest
from builders import ANN, BOB, erase, write

from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.plan import file_name
from events.log.store import Store, create_store
from memory_actors.actors import snapshots as module
from memory_actors.actors.snapshots import Snapshots, check_snapshots, fingerprint
from projections.view import StreamView
from projections.views import SNAPSHOT_EVERY, Views

AWKWARD = StreamId("Home", "ann.snapshot/../x")


@pytest.fixture
def snapshots(store: Store) -> Snapshots:
    return Snapshots(store)


def kept(log: FileLog, snapshots: Snapshots, *streams: StreamId, events: int = 3) -> None:
    """A commit to each stream, and a snapshot of all that it holds."""
    for stream in streams:
        write(log, log.open(stream)[0], events)
        snapshots.save(StreamView(stream).catch_up(log))


def files(store: Store) -> list[str]:
    return sorted(str(path.relative_to(store.path)) for path in (store.path / "snapshots").rglob("*") if path.is_file())


def test_a_view_is_kept_and_found(log: FileLog, snapshots: Snapshots) -> None:
    """By the process that wrote it and by another."""
    kept(log, snapshots, ANN, BOB)
    for one in (snapshots, Snapshots(log.store)):
        view = one.load(ANN)

        assert view is not None
        assert (ANN, 3, log.read(ANN).events) == (view.stream, view.tail.seq, view.recorded)


def test_there_is_one_file_a_user_for_nobody_elses_eyes(log: FileLog, snapshots: Snapshots) -> None:
    """In folders named as the log's are, whatever the user is called; a second snapshot takes the place of the first."""
    kept(log, snapshots, ANN, ANN, AWKWARD)
    path, folder = snapshots.path(ANN), snapshots.path(ANN).parent

    assert [f"snapshots/{stream.folder}.snapshot" for stream in (AWKWARD, ANN)] == files(log.store)
    assert (0o600, 0o700, 0o700) == tuple(stat.S_IMODE(one.stat().st_mode) for one in (path, folder, folder.parent))
    assert snapshots.load(ANN).tail.seq == 6  # type: ignore[union-attr]


def test_what_is_not_there_is_none(snapshots: Snapshots) -> None:
    assert (None, []) == (snapshots.load(ANN), snapshots.headers())


@pytest.mark.parametrize("content", [b"", b"memory-actors snapshot 1\n", b"torn" * 1000])
def test_a_torn_file_is_not_used_and_that_is_logged(
    log: FileLog, snapshots: Snapshots, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    """The log is folded instead."""
    kept(log, snapshots, ANN)
    snapshots.path(ANN).write_bytes(content)

    with caplog.at_level(logging.INFO):
        view = Views(log, snapshots=snapshots).get(ANN)

    assert ((), 3) == (view.problems, view.tail.seq)
    assert ["the snapshot of home/ann is not used"] == [record.message.partition(",")[0] for record in caplog.records]


def test_a_folder_in_its_place_is_not_used(log: FileLog, snapshots: Snapshots) -> None:
    """Nor is it replaced: no error, no snapshot, no litter."""
    write(log, log.open(ANN)[0], 3)
    snapshots.path(ANN).mkdir(parents=True)

    snapshots.save(StreamView(ANN).catch_up(log))

    assert (None, []) == (snapshots.load(ANN), files(log.store))


def test_a_snapshot_of_another_user_or_store_is_not_used(log: FileLog, snapshots: Snapshots, tmp_path: Path) -> None:
    """However it got there."""
    kept(log, snapshots, ANN)
    snapshots.path(BOB).write_bytes(snapshots.path(ANN).read_bytes())
    other = Snapshots(create_store(tmp_path / "other"))
    other.path(ANN).parent.mkdir(parents=True)
    other.path(ANN).write_bytes(snapshots.path(ANN).read_bytes())

    assert (None, None) == (snapshots.load(BOB), other.load(ANN))
    assert ([ANN], []) == ([header.stream for header in snapshots.headers()], other.headers())


def test_a_snapshot_of_other_code_is_not_used_but_still_counts_as_evidence(
    log: FileLog, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(log, snapshots, ANN)
    monkeypatch.setattr(module, "fingerprint", lambda: "other code")
    upgraded = Snapshots(log.store)

    assert (None, [3]) == (upgraded.load(ANN), [header.tail.seq for header in upgraded.headers()])


def test_the_fingerprint_is_of_the_code() -> None:
    """It does not change by itself, and does when a file of ours does."""
    first = fingerprint()
    fingerprint.cache_clear()

    assert first == fingerprint()
    assert 32 == len(first)


def test_what_cannot_be_written_is_no_error(
    log: FileLog, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A read that would have kept a snapshot answers all the same, and nothing half-written stays."""
    kept(log, snapshots, ANN)
    before = snapshots.path(ANN).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    write(log, log.open(ANN)[0], SNAPSHOT_EVERY)
    view = Views(log, snapshots=snapshots, save=True).get(ANN)

    assert 3 + SNAPSHOT_EVERY == view.tail.seq
    assert (before, 1) == (snapshots.path(ANN).read_bytes(), len(files(log.store)))
    assert "no snapshot of home/ann could be written" in caplog.text


@pytest.mark.parametrize("error", [ValueError, RecursionError, pickle.PicklingError])
def test_what_cannot_be_packed_is_no_error(
    log: FileLog, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    """The read answers, the snapshot counts as not kept, and it is tried again at the next read."""
    tries: list[int] = []

    def dump(view: StreamView, _: object) -> bytes:
        tries.append(view.tail.seq)
        raise error("too deep")

    monkeypatch.setattr(module.snapshot, "dump", dump)
    write(log, log.open(ANN)[0], SNAPSHOT_EVERY)
    views = Views(log, snapshots=snapshots, save=True)

    assert [(SNAPSHOT_EVERY, 0)] * 2 == [(view.tail.seq, view.saved) for view in (views.get(ANN), views.get(ANN))]
    assert [SNAPSHOT_EVERY] * 2 == tries
    assert "no snapshot of home/ann could be made" in caplog.text


def test_it_is_said_whether_a_view_was_kept(log: FileLog, snapshots: Snapshots) -> None:
    write(log, log.open(ANN)[0], 3)
    view = StreamView(ANN).catch_up(log)

    assert snapshots.save(view)
    snapshots.path(ANN).unlink()
    snapshots.path(ANN).mkdir()
    assert not snapshots.save(view)


def test_dropping_leaves_nothing_of_the_user(log: FileLog, snapshots: Snapshots) -> None:
    """Not even what a writer left that died between writing and renaming; other users keep theirs."""
    ann_b = StreamId(ANN.space, "ann-b")
    kept(log, snapshots, ANN, ann_b)
    snapshots.path(ANN).with_name(snapshots.path(ANN).name + ".new").write_bytes(b"private")
    snapshots.drop(ANN)
    snapshots.drop(ANN)

    assert [f"snapshots/{ann_b.folder}.snapshot"] == files(log.store)


def test_left_overs_of_a_writer_that_died_go_with_the_next_save(log: FileLog, snapshots: Snapshots) -> None:
    kept(log, snapshots, ANN)
    snapshots.path(ANN).with_name(snapshots.path(ANN).name + ".new").write_bytes(b"private")
    kept(log, snapshots, ANN)

    assert [f"snapshots/{ANN.folder}.snapshot"] == files(log.store)


# -- what they tell of the log


def test_a_sound_log_has_no_problems(log: FileLog, snapshots: Snapshots) -> None:
    """Whether it went on, was erased, or has no snapshots."""
    kept(log, snapshots, ANN, BOB)
    write(log, log.open(ANN)[0], 2)
    erase(log, BOB)

    assert [] == check_snapshots(log, snapshots)


def test_a_lost_tail_is_reported(log: FileLog, snapshots: Snapshots) -> None:
    """By the check of all, and by whoever reads the view."""
    kept(log, snapshots, ANN, ANN, BOB)
    (log.folder(ANN) / file_name(4)).unlink()

    [problem] = check_snapshots(log, snapshots)
    view = Views(log, snapshots=snapshots).get(ANN)

    assert "the snapshot of home/ann reaches event 6, but its log ends before it: events were lost" == problem
    assert ((problem,), 3) == (view.problems, view.tail.seq)


def test_a_log_that_is_gone_is_reported(log: FileLog, snapshots: Snapshots) -> None:
    kept(log, snapshots, ANN)
    (log.folder(ANN) / file_name(1)).unlink()

    assert ["the snapshot of home/ann reaches event 3, but its log ends before it: events were lost"] == check_snapshots(log, snapshots)


def test_another_history_is_reported(log: FileLog, snapshots: Snapshots) -> None:
    """As after a backup was put back, and written to."""
    kept(log, snapshots, ANN, ANN)
    (log.folder(ANN) / file_name(4)).unlink()
    write(log, log.open(ANN)[0], 4)

    assert ["the snapshot of home/ann was made of another event 6 than its log holds: the log was replaced or forked"] == check_snapshots(
        log, snapshots
    )


def test_a_log_that_cannot_be_read_is_a_finding_and_the_others_are_checked(log: FileLog, snapshots: Snapshots) -> None:
    """Whoever examines a damaged store wants to know all of it."""
    kept(log, snapshots, ANN, ANN, BOB, BOB)
    damage(log.folder(ANN) / file_name(4))
    (log.folder(BOB) / file_name(4)).unlink()

    found = check_snapshots(log, snapshots)

    assert ["the snapshot of home/ann cannot be held against its log", "the snapshot of home/bob reaches event 6, but its log ends"] == [
        problem.partition(mark)[0] for problem, mark in zip(found, (":", " before it"), strict=True)
    ]


def damage(path: Path) -> None:
    """One bit of a file."""
    path.chmod(0o600)
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)
