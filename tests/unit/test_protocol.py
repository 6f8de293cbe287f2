"""The commit protocol, line by line (DESIGN.md): READ, OPEN, APPEND, LOST. SEAL and ERASE are done by hand here."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from builders import ANN, BOB, contents, counting_salt, erase, names, raise_floor, seal, small_store, stamped, turn, write
from clocks import START, TickingClock
from faults import ScriptedFiles, fail

from events.commands import EndConversation, Forget, RecordTurn
from events.deciding.state import REMEMBERED_COMMANDS
from events.errors import Busy, Erased, InvalidInput, OutcomeUnknown, StoreDamaged, StoreFull, StoreNotHere
from events.log import MAX_COMMIT_EVENTS, Lost, Tail, commit_file
from events.log.digest import genesis
from events.log.file_log import FileLog
from events.log.files import Files
from events.log.memory_log import MemoryLog
from events.log.plan import file_name
from events.log.row import chain
from events.policy import Policy
from memory_actors.actors.user_actor import Ack, UserActor


class World:
    """A store with small windows; `log` is watched and scripted, `other` is another process's view of it."""

    def __init__(self, path: Path) -> None:
        self.store = small_store(path)
        self.files = ScriptedFiles()
        self.pauses: list[float] = []
        self.log = FileLog(self.store, self.files, counting_salt(), self.pauses.append)
        self.other = FileLog(self.store, salt=counting_salt(10**6), pause=lambda _: None)
        self.folder = self.log.folder(ANN)

    def others_write(self, *sizes: int) -> None:
        """Another writer commits at the end of Ann's stream."""
        write(self.other, self.other.open(ANN)[0], *sizes)

    def said(self) -> list[str]:
        """What Ann's stream says."""
        return contents(self.other.read(ANN).rows)

    def watch(self) -> None:
        """Forget the steps so far."""
        self.files.steps.clear()
        self.pauses.clear()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store")


def events(first: int, last: int) -> list[str]:
    return [f"event {seq}" for seq in range(first, last + 1)]


def actor_on(log: FileLog | MemoryLog, clock: TickingClock | None = None, streams: int = 1024) -> UserActor:
    return UserActor(log, clock or TickingClock(), lambda _: Policy(), streams)


# -- READ


def test_read_lists_small_files_before_sealed_ones_before_the_floor(world: World) -> None:
    """In this order: sealed first shows holes and doubles."""
    world.others_write(2, 1)
    raise_floor(world.other, ANN, 1, genesis(ANN))

    world.log.read(ANN)

    listing = [(step, path.removeprefix(str(world.folder))) for step, path in world.files.steps[:3]]
    assert [("names", ""), ("names", "/sealed"), ("read", "/sealed/floor")] == listing


def test_read_finds_what_is_sealed_while_it_lists(world: World) -> None:
    """A window that is sealed between the two listings is read from its sealed file, and once."""
    world.others_write(2, 2, 1)
    world.files.at("names", 1, lambda: seal(world.other, ANN, 1), after=True)

    reading = world.log.read(ANN)

    assert (events(1, 5), []) == (contents(reading.rows), world.pauses)


def test_read_begins_again_when_a_file_vanished(world: World) -> None:
    """Between the listing and the reading a window was sealed and its small files went."""
    world.others_write(2, 2, 1)
    world.files.at("read", 1, lambda: seal(world.other, ANN, 1), path=".parquet")

    reading = world.log.read(ANN)

    assert (events(1, 5), 1) == (contents(reading.rows), len(world.pauses))


def test_read_begins_again_at_a_gap(world: World) -> None:
    """The listing showed a later commit but not an earlier one; the next listing shows both."""
    world.others_write(1, 1, 1)
    hidden = world.folder / file_name(2)
    hidden.rename(hidden.with_name(".hidden"))
    world.files.at("names", 3, lambda: hidden.with_name(".hidden").rename(hidden))

    reading = world.log.read(ANN)

    assert (events(1, 3), 1) == (contents(reading.rows), len(world.pauses))


def test_a_gap_that_stays_is_damage(world: World) -> None:
    """Five tries with growing pauses, then an error that names the file behind the gap. Nothing before it is given out."""
    world.others_write(1, 1, 1)
    (world.folder / file_name(2)).unlink()

    with pytest.raises(StoreDamaged, match="event 2 is missing before it") as caught:
        world.log.read(ANN)

    assert str(world.folder / file_name(3)) == caught.value.file
    assert (5, 4, sorted(set(world.pauses))) == (world.files.paths("names").count(str(world.folder)), len(world.pauses), world.pauses)


def test_a_file_that_keeps_vanishing_is_damage(world: World) -> None:
    """Five tries, then an error that names it: a dangling link, say."""
    (world.folder / "sealed").mkdir(parents=True)
    (world.folder / file_name(1)).symlink_to("nowhere")

    with pytest.raises(StoreDamaged, match="listed, but is not there") as caught:
        world.log.read(ANN)

    assert (str(world.folder / file_name(1)), 4) == (caught.value.file, len(world.pauses))


def test_a_sealed_window_beats_its_small_files(world: World) -> None:
    """Whatever these say: leftovers of a sealing, or a zombie's late file."""
    world.others_write(2, 2, 1)
    seal(world.other, ANN, 1, unlink=False)
    forged = chain(ANN, 2, b"x" * 32, stamped("forged", "too"), counting_salt())
    (world.folder / file_name(3)).write_bytes(commit_file.encode(forged))

    reading = world.log.read(ANN)

    assert (events(1, 5), ()) == (contents(reading.rows), reading.strays)


def test_a_commit_may_reach_over_windows(world: World) -> None:
    """It belongs to the window of its first seq, and windows inside it have no file."""
    world.others_write(3, 10, 2)
    seal(world.other, ANN, 1)

    reading = world.log.read(ANN)

    assert (["sealed/" + file_name(1), file_name(14)], events(1, 15)) == (
        [path.removeprefix(f"{world.folder}/") for path in world.files.paths("read")],
        contents(reading.rows),
    )


def test_read_begins_at_the_floor(world: World) -> None:
    """Below it all is erased; the chain goes on from the digest that it holds. What is left below is reported, not used."""
    world.others_write(2, 2, 1, 1)
    rows = world.other.read(ANN).rows
    raise_floor(world.other, ANN, 5, rows[3].digest)

    reading = world.log.read(ANN)

    assert (5, ["event 5", "event 6"], rows[5].digest) == (reading.start, contents(reading.rows), reading.tail.digest)
    assert (file_name(1), file_name(3)) == reading.strays


def test_a_floor_inside_a_sealed_window(world: World) -> None:
    """The sealed file holds events on both sides of it."""
    world.others_write(1, 1, 1, 1, 1)
    rows = world.other.read(ANN).rows
    seal(world.other, ANN, 1)
    raise_floor(world.other, ANN, 3, rows[1].digest)

    reading = world.log.read(ANN)

    assert (3, events(3, 5)) == (reading.start, contents(reading.rows))


def test_reading_after_a_tail_below_the_floor_starts_at_the_floor(world: World) -> None:
    """The reader is told by `start`; one that stands just before the floor, or beyond it, is not disturbed."""
    world.others_write(1, 1, 1, 1)
    tails = [Tail(row.seq, row.digest, row.recorded_at) for row in world.other.read(ANN).rows]
    floor = erase(world.other, ANN)

    starts = [world.log.read(ANN, tail).start for tail in (tails[0], tails[2], tails[3], world.other.read(ANN).tail)]

    assert (5, [5, 5, 5, 6]) == (floor, starts)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b'{"seq": 1}',
        b'{"seq": 0, "digest": "' + b"0" * 64 + b'"}',
        b'{"seq": 1, "digest": "xy"}',
        b'{"seq": 1, "digest": "' + b"A" * 64 + b'"}',
    ],
)
def test_a_torn_floor_is_damage(world: World, content: bytes) -> None:
    """The error names it; what lies below is never read instead."""
    world.others_write(1)
    raise_floor(world.other, ANN, 1, genesis(ANN)).write_bytes(content)

    with pytest.raises(StoreDamaged, match="not a floor") as caught:
        world.log.read(ANN)

    assert str(world.folder / "sealed" / "floor") == caught.value.file


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "3.parquet", file_name(3) + ".bak", file_name(0), "sealed/notes.txt", "sealed/" + file_name(2)]
)
def test_foreign_files_are_reported_and_not_used(world: World, foreign: str) -> None:
    """A copy of a real commit under another name, too."""
    world.others_write(2, 2)
    (world.folder / "sealed").mkdir()
    shutil.copy(world.folder / file_name(3), world.folder / foreign)

    reading = world.log.read(ANN)

    assert (events(1, 4), (foreign,)) == (contents(reading.rows), reading.strays)


def test_off_chain_files_are_reported_and_not_used(world: World) -> None:
    """A commit that begins inside another one: no chain leads to it."""
    world.others_write(3, 2)
    off = chain(ANN, 1, world.other.read(ANN).rows[0].digest, stamped("off", "the", "chain"), counting_salt())
    (world.folder / file_name(2)).write_bytes(commit_file.encode(off))

    reading = world.log.read(ANN)

    assert (events(1, 5), (file_name(2),)) == (contents(reading.rows), reading.strays)


def test_temporaries_and_locks_are_passed_over(world: World) -> None:
    """A crash or a maintenance in progress leaves them; they are no problem."""
    world.others_write(2)
    (world.folder / "sealed").mkdir()
    for leftover in (".tmp-1", ".lock", "sealed/.tmp-2"):
        (world.folder / leftover).write_bytes(b"torn")

    reading = world.log.read(ANN)

    assert (events(1, 2), ()) == (contents(reading.rows), reading.strays)


def test_a_commit_of_another_chain_is_damage(world: World) -> None:
    """Right name, right seqs, sound digests, but it follows another event."""
    world.others_write(2, 1)
    off = chain(ANN, 2, b"x" * 32, stamped("forged"), counting_salt())
    (world.folder / file_name(3)).write_bytes(commit_file.encode(off))

    with pytest.raises(StoreDamaged, match="event 3 does not follow") as caught:
        world.log.read(ANN)

    assert str(world.folder / file_name(3)) == caught.value.file


def test_a_commit_under_anothers_name_is_damage(world: World) -> None:
    """The file that should begin with event 3 holds others."""
    world.others_write(2, 1)
    shutil.copy(world.folder / file_name(1), world.folder / file_name(3))

    with pytest.raises(StoreDamaged, match="does not hold event 3"):
        world.log.read(ANN)


def test_a_changed_byte_is_damage_at_once(world: World) -> None:
    """No retry mends it; the error names the file."""
    world.others_write(2, 1)
    file = world.folder / file_name(1)
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)

    with pytest.raises(StoreDamaged, match="file digest differs") as caught:
        world.log.read(ANN)

    assert (str(file), []) == (caught.value.file, world.pauses)


# -- OPEN


def test_open_fsyncs_what_it_has_read(world: World) -> None:
    """The stream's folder, its sealed files and all parents up to the store: else a repeat could be acknowledged first."""
    world.others_write(2, 2, 1)
    seal(world.other, ANN, 1)

    handle, reading = world.log.open(ANN)

    last_read = max(index for index, (step, _) in enumerate(world.files.steps) if step == "read")
    synced = [path for step, path in world.files.steps[last_read:] if step == "fsync_folder"]
    assert [str(path) for path in (world.folder / "sealed", world.folder, *list(world.folder.parents)[:3])] == synced
    assert str(world.store.path) == synced[-1]
    assert (reading.tail, False) == (handle.tail, handle.closed)


def test_open_hands_out_nothing_that_may_not_be_durable(world: World) -> None:
    """Where the fsync fails, a repeat must not be told that the first one holds."""
    actor = actor_on(world.other)
    actor.execute(ANN, [turn(1)])
    late = actor_on(world.log)
    world.files.at("fsync_folder", 1, fail(errno.EIO))

    with pytest.raises(OutcomeUnknown):
        late.execute(ANN, [turn(1)])

    assert [Ack(1, START, duplicate=True, first=1)] == late.execute(ANN, [turn(1)])


def test_open_makes_the_streams_folder_durable(world: World) -> None:
    """A new folder is fsynced in its parent, and that one in its own."""
    world.log.open(ANN)

    made = world.files.paths("fsync_folder")[:2]
    assert [str(world.store.log), str(world.folder.parent)] == made


def test_open_never_makes_a_store(world: World) -> None:
    """A store that is gone, as seen from another node, stays gone."""
    shutil.rmtree(world.store.path)

    with pytest.raises(StoreNotHere):
        world.log.open(ANN)

    assert not world.store.path.exists()


def test_reading_makes_nothing(world: World) -> None:
    """A stream that never was has no folder afterwards."""
    reading = world.log.read(ANN)

    assert ([], False, []) == (list(reading.rows), world.folder.exists(), world.files.paths("make_folder", "fsync_folder", "link_new"))


# -- APPEND


@pytest.mark.parametrize("expected_seq", [0, 1, 3])
def test_a_stale_seq_is_refused_before_any_link(world: World, expected_seq: int) -> None:
    """No file is touched; the inside of a commit is no commit end."""
    world.others_write(2)
    handle, _ = world.log.open(ANN)
    world.watch()

    with pytest.raises(Lost):
        world.log.append(handle, stamped("x"), expected_seq=expected_seq)

    assert [] == world.files.steps


def test_append_takes_its_steps_in_order(world: World) -> None:
    """The bytes are durable before they have a name; sealed is looked at before the floor; the folder is fsynced last."""
    handle, _ = world.log.open(ANN)
    world.watch()

    write(world.log, handle, 1)

    folder = str(world.folder)
    [link, fsync, *rest] = world.files.steps
    assert (("link_new", f"{folder}/{file_name(1)}"), "fsync") == (link, fsync[0])
    assert [
        ("exists", f"{folder}/sealed/{file_name(1)}"),
        ("read", f"{folder}/sealed/floor"),
        ("fsync_folder", folder),
        ("fsync", folder),
    ] == rest


def test_append_looks_at_its_own_window(world: World) -> None:
    """The one of its first seq, whatever windows it reaches into."""
    world.others_write(3, 10)
    handle, _ = world.log.open(ANN)
    world.watch()

    write(world.log, handle, 9)

    assert [f"{world.folder}/sealed/{file_name(13)}"] == world.files.paths("exists")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_no_room_is_a_clean_failure(world: World, number: int) -> None:
    """Nothing is visible, the handle stands where it stood, and it works again once there is room."""
    world.others_write(1)
    handle, _ = world.log.open(ANN)
    before = names(world.store.path)
    world.files.at("fsync", 1, fail(number))

    with pytest.raises(StoreFull, match=os.strerror(number)):
        write(world.log, handle, 1)

    assert (before, 1) == (names(world.store.path), handle.tail.seq)
    write(world.log, handle, 1)
    assert events(1, 2) == world.said()


def test_no_room_half_way_through_the_bytes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that takes a part and then fails leaves nothing either."""
    handle, _ = world.log.open(ANN)
    real, calls = os.write, []

    def short(descriptor: int, data: bytes) -> int:
        calls.append(len(data))
        return real(descriptor, data[:100]) if len(calls) < 3 else fail(errno.ENOSPC)()

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        with pytest.raises(StoreFull):
            write(world.log, handle, 1)

    assert (["store.json"], 3, 100) == (names(world.store.path), len(calls), calls[0] - calls[1])


def test_short_writes_are_completed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may take fewer bytes than it is given."""
    handle, _ = world.log.open(ANN)
    real = os.write

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:97]))
        write(world.log, handle, 2)

    assert events(1, 2) == world.said()


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL])
@pytest.mark.parametrize("fsync", [None, errno.ENOSPC])
def test_a_file_system_without_unnamed_files(world: World, monkeypatch: pytest.MonkeyPatch, number: int, fsync: int | None) -> None:
    """The temporary has a name then, which is gone afterwards, whatever came of it."""
    handle, _ = world.log.open(ANN)
    real = os.open

    def without(path: Path, flags: int, *rest: int) -> int:
        return fail(number)() if flags & os.O_TMPFILE == os.O_TMPFILE else real(path, flags, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", without)
        if fsync:
            world.files.at("fsync", 1, fail(fsync))
            with pytest.raises(StoreFull):
                write(world.log, handle, 1)
        write(world.log, handle, 2)

    assert ([file_name(1)], events(1, 2)) == (names(world.folder), world.said())


def test_files_are_private(world: World) -> None:
    """Only their owner reads them."""
    world.others_write(1)

    assert [0o600, 0o700] == [path.stat().st_mode & 0o777 for path in (world.folder / file_name(1), world.folder)]


def test_a_taken_place_is_lost(world: World) -> None:
    """Somebody else's commit stands there: it stays, and ours leaves nothing."""
    handle, _ = world.log.open(ANN)
    world.files.at("link_new", 1, lambda: world.others_write(2))

    with pytest.raises(Lost):
        world.log.append(handle, stamped("x"), expected_seq=0)

    assert (events(1, 2), [file_name(1)], 0) == (world.said(), names(world.folder), handle.tail.seq)


def test_a_place_taken_by_oneself_is_won(world: World) -> None:
    """A file system that repeats a link on its own says that the name is taken: the digest tells whose it is."""

    class Repeating(Files):
        def link_new(self, folder: Path, name: str, content: bytes) -> bool:
            super().link_new(folder, name, content)
            return super().link_new(folder, name, content)

    log = FileLog(world.store, Repeating())
    handle, _ = log.open(ANN)

    write(log, handle, 2)

    assert (events(1, 2), 2) == (world.said(), handle.tail.seq)


def test_a_place_that_is_taken_and_freed_again_is_lost(world: World) -> None:
    """Between the link and the reading the small file was sealed away: open again and look there."""

    class Freed(Files):
        def link_new(self, folder: Path, name: str, content: bytes) -> bool:
            return False

    log = FileLog(world.store, Freed())
    handle, _ = log.open(ANN)

    with pytest.raises(Lost):
        write(log, handle, 1)


@pytest.mark.parametrize("moment", ["link_new", "fsync"])
def test_a_folder_that_is_gone_is_lost(world: World, moment: str) -> None:
    """Before the temporary is opened, or before it is linked: nothing is made anew."""
    handle, _ = world.log.open(ANN)
    world.files.at(moment, 1, lambda: shutil.rmtree(world.folder))

    with pytest.raises(Lost, match="is gone"):
        write(world.log, handle, 1)

    assert not world.folder.exists()


def test_sealed_with_mine_inside_is_mine(world: World) -> None:
    """Others saw the commit, wrote beyond its window and sealed it, all before its writer looked up."""
    handle, _ = world.log.open(ANN)

    def meanwhile() -> None:
        world.others_write(2, 1, 1)
        seal(world.other, ANN, 1)

    world.files.at("link_new", 1, meanwhile, after=True)

    write(world.log, handle, 1)

    assert (events(1, 5), 1, [file_name(5), "sealed/" + file_name(1)]) == (world.said(), handle.tail.seq, names(world.folder))


def test_sealed_without_mine_is_lost_and_taken_back(world: World) -> None:
    """The slot was free only because its window had been sealed: the late file goes, and was never in the log."""
    world.others_write(2)
    handle, _ = world.log.open(ANN)
    world.others_write(2, 1)
    seal(world.other, ANN, 1)

    with pytest.raises(Lost, match="covers"):
        world.log.append(handle, stamped("late"), expected_seq=2)

    assert (events(1, 5), [file_name(5), "sealed/" + file_name(1)], 2) == (world.said(), names(world.folder), handle.tail.seq)


def test_a_floor_above_takes_the_commit_back(world: World) -> None:
    """The stream was erased while its writer slept: nothing it had in hand comes back."""
    world.others_write(2)
    handle, _ = world.log.open(ANN)
    world.others_write(1)
    floor = erase(world.other, ANN)

    with pytest.raises(Erased, match=f"erased up to event {floor}"):
        world.log.append(handle, stamped("late"), expected_seq=2)

    assert ([file_name(4), "sealed/floor"], []) == (names(world.folder), world.said())


def test_a_floor_at_the_commit_is_no_matter(world: World) -> None:
    """Only what lies below it is erased; a writer goes on after an erasure."""
    world.others_write(2)
    erase(world.other, ANN)
    handle, _ = world.log.open(ANN)

    write(world.log, handle, 1)
    raise_floor(world.other, ANN, 5, handle.tail.digest)
    write(world.log, handle, 1)

    assert ["event 5"] == world.said()


def test_sealed_is_looked_at_before_the_floor(world: World) -> None:
    """An erasure between the two looks is seen: it raises the floor before it unlinks the sealed window."""
    world.others_write(2)
    handle, _ = world.log.open(ANN)
    world.others_write(2, 1)
    seal(world.other, ANN, 1)
    sealed = world.folder / "sealed" / file_name(1)
    hidden = sealed.rename(sealed.with_name(".hidden"))

    def meanwhile() -> None:
        hidden.rename(sealed)
        erase(world.other, ANN)

    world.files.at("exists", 1, meanwhile, after=True, path=file_name(1))

    with pytest.raises(Erased):
        world.log.append(handle, stamped("late"), expected_seq=2)

    assert [] == world.said()


def test_a_sealed_window_and_a_floor_above(world: World) -> None:
    """Where both cover the slot, the sealed window decides: lost, so that the writer opens again and looks for its command."""
    world.others_write(2)
    handle, _ = world.log.open(ANN)
    world.others_write(2, 1)
    rows = world.other.read(ANN).rows
    seal(world.other, ANN, 1)
    raise_floor(world.other, ANN, 5, rows[3].digest)

    with pytest.raises(Lost):
        world.log.append(handle, stamped("late"), expected_seq=2)

    assert not (world.folder / file_name(3)).exists()


@pytest.mark.parametrize("step", ["exists", "read", "fsync_folder"])
def test_an_error_behind_the_link_is_an_unknown_outcome(world: World, step: str) -> None:
    """It may be durable or not: the handle is closed for good, and does not retry."""
    handle, _ = world.log.open(ANN)
    world.files.at(step, 1, fail(errno.EIO))

    with pytest.raises(OutcomeUnknown, match="repeat with the same id"):
        write(world.log, handle, 1)

    assert (True, 0) == (handle.closed, handle.tail.seq)
    world.watch()
    with pytest.raises(OutcomeUnknown):
        write(world.log, handle, 1)
    assert [] == world.files.steps


def test_a_look_that_fails_is_not_a_no(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file system cannot say whether a window is sealed, nothing is acknowledged."""
    world.others_write(2)
    handle, _ = world.other.open(ANN)
    real = os.lstat

    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", lambda path, **named: fail(errno.ESTALE)() if "sealed" in str(path) else real(path, **named))
        with pytest.raises(OutcomeUnknown):
            write(world.other, handle, 1)

    assert handle.closed


def test_the_handle_advances_only_after_the_fsync(world: World) -> None:
    """Until then nobody may build on the commit."""
    handle, _ = world.log.open(ANN)
    seen: list[int] = []
    world.files.at("fsync_folder", 1, lambda: seen.append(handle.tail.seq), after=True)

    rows = world.log.append(handle, stamped("a", "b", at=7), expected_seq=0)

    assert ([0], Tail(2, rows[-1].digest, 7)) == (seen, handle.tail)


# -- LOST


def test_a_lost_writer_opens_again_and_decides_again(world: World) -> None:
    """On the state that the winner left: the turn gets the next place in its conversation."""
    actor = actor_on(world.log)
    actor.execute(ANN, [turn(1)])
    world.files.at("link_new", 1, lambda: actor_on(world.other).execute(ANN, [turn(2)]))

    [ack] = actor.execute(ANN, [turn(3)])

    turns = [event.data for event in world.other.read(ANN).events]
    assert [("t1", 1), ("t2", 2), ("t3", 3)] == [(data.turn_id, data.turn) for data in turns]
    assert (3, 3, False) == (ack.first, ack.seq, ack.duplicate)


def test_a_lost_writer_looks_for_its_command_first(world: World) -> None:
    """Another writer had carried it out: it is acknowledged, not written again."""
    actor = actor_on(world.log)
    actor.state(ANN)
    world.files.at("link_new", 1, lambda: actor_on(world.other).execute(ANN, [turn(1), turn(2)]))

    [ack] = actor.execute(ANN, [turn(2)])

    assert (2, True, ["turn 1", "turn 2"]) == (ack.seq, ack.duplicate, world.said())


def test_three_losses_in_a_row_are_busy(world: World) -> None:
    """Nothing was written; only this stream is dropped, and others are not opened again."""
    actor = actor_on(world.log)
    actor.execute(BOB, [turn(1)])
    rival = actor_on(world.other)
    for number in (1, 2, 3):
        world.files.at("link_new", number, lambda number=number: rival.execute(ANN, [turn(number)]))

    with pytest.raises(Busy) as caught:
        actor.execute(ANN, [turn(9)])

    assert (["turn 1", "turn 2", "turn 3"], True) == (world.said(), caught.value.retry_after > 0)
    world.watch()
    actor.execute(BOB, [turn(2)])
    assert [] == world.files.paths("names")
    actor.execute(ANN, [turn(9)])
    assert (["turn 1", "turn 2", "turn 3", "turn 9"], True) == (world.said(), str(world.folder) in world.files.paths("names"))


def test_two_losses_are_made_good(world: World) -> None:
    """The third try succeeds, and a later command begins to count anew."""
    actor, rival = actor_on(world.log), actor_on(world.other)
    for number in (1, 2, 4, 5):
        world.files.at("link_new", number, lambda number=number: rival.execute(ANN, [turn(number)]))

    acks = [actor.execute(ANN, [turn(number)])[0] for number in (3, 6)]

    assert ([3, 6], [f"turn {number}" for number in range(1, 7)]) == ([ack.seq for ack in acks], world.said())


def test_an_erasure_while_writing_is_told(world: World) -> None:
    """The command is refused, not decided anew; the next one goes on behind the floor."""
    actor = actor_on(world.log)
    actor.execute(ANN, [turn(1)])
    world.others_write(1)
    erase(world.other, ANN)

    with pytest.raises(Erased):
        actor.execute(ANN, [turn(2)])
    [ack] = actor.execute(ANN, [turn(3)])

    assert (4, ["turn 3"]) == (ack.seq, world.said())


# -- the writer's own part of APPEND 1: time, repeats, batches


def test_a_repeat_after_an_unknown_outcome_finds_the_first(world: World) -> None:
    """The commit had become visible: the repeat makes it durable and acknowledges it, once."""
    actor = actor_on(world.log)
    actor.execute(ANN, [turn(1)])
    world.files.at("fsync_folder", 1, fail(errno.EIO))
    with pytest.raises(OutcomeUnknown):
        actor.execute(ANN, [turn(2)])
    world.watch()

    [ack] = actor.execute(ANN, [turn(2)])

    assert (2, True, ["turn 1", "turn 2"]) == (ack.seq, ack.duplicate, world.said())
    assert str(world.folder) in world.files.paths("fsync_folder")


def test_a_repeat_after_an_unknown_outcome_writes_what_was_not_there(world: World) -> None:
    """The commit had not become visible: the repeat is the first."""
    actor = actor_on(world.log)
    actor.execute(ANN, [turn(1)])
    world.files.at("link_new", 1, fail(errno.EIO))
    with pytest.raises(OutcomeUnknown):
        actor.execute(ANN, [turn(2)])

    [ack] = actor.execute(ANN, [turn(2)])

    assert (2, False, ["turn 1", "turn 2"]) == (ack.seq, ack.duplicate, world.said())


def test_a_full_disk_leaves_no_trace_in_the_state(world: World) -> None:
    """What was decided but not written is forgotten; the repeat is no duplicate."""
    actor = actor_on(world.log)
    actor.execute(ANN, [turn(1)])
    world.files.at("fsync", 1, fail(errno.ENOSPC))
    with pytest.raises(StoreFull):
        actor.execute(ANN, [turn(2)])

    [ack] = actor.execute(ANN, [turn(2)])

    assert (2, False, 2, ["turn 1", "turn 2"]) == (ack.seq, ack.duplicate, actor.state(ANN).seq, world.said())


@pytest.fixture
def memory() -> MemoryLog:
    return MemoryLog()


@pytest.mark.parametrize("remembered", [True, False])
def test_a_repeat_is_answered_with_what_the_first_one_wrote(memory: MemoryLog, clock: TickingClock, remembered: bool) -> None:
    """Its first and last seq and its time, by the actor that wrote it and by one that reads it back."""
    actor = actor_on(memory, clock)
    actor.execute(ANN, [turn(number) for number in range(1, 21)])
    [first] = actor.execute(ANN, [turn(21)])
    actor.execute(ANN, [turn(22)])
    asked = actor if remembered else actor_on(memory, clock)

    [repeat] = asked.execute(ANN, [turn(21)])

    assert (21, 22) == (first.first, first.seq)
    assert msgspec.structs.replace(first, duplicate=True) == repeat
    assert 23 == memory.read(ANN).tail.seq


def test_a_repeat_within_one_batch(memory: MemoryLog) -> None:
    """The second of two equal commands is answered like the first."""
    first, second = actor_on(memory).execute(ANN, [turn(1), turn(1)])

    assert (msgspec.structs.replace(first, duplicate=True), 1) == (second, memory.read(ANN).tail.seq)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (turn(1), turn(1, "something else")),
        (turn(1), turn(1, role="assistant")),
        (turn(1), turn(1, turn_id="another")),
        (turn(1), turn(1, conversation="side")),
        (turn(1), Forget(id="c1", text="turn 1")),
        (Forget(id="c1", text="cats"), Forget(id="c1", text="dogs")),
        (EndConversation(id="c1", conversation="main"), EndConversation(id="c1", conversation="main", note="bye")),
    ],
)
@pytest.mark.parametrize("remembered", [True, False])
def test_an_id_with_another_body_is_a_mistake(memory: MemoryLog, first: RecordTurn, second: RecordTurn, remembered: bool) -> None:
    """Nothing is written, and the others of the batch stand."""
    actor = actor_on(memory)
    actor.execute(ANN, [turn(0), first])
    before = memory.read(ANN).tail.seq

    refused, taken = (actor if remembered else actor_on(memory)).execute(ANN, [second, turn(2)])

    assert isinstance(refused, InvalidInput)
    assert "c1 was used before" in str(refused)
    assert (before + 1, before + 1) == (taken.seq, memory.read(ANN).tail.seq)


@pytest.mark.parametrize("command_id", ["", "x\ud800", "x" * 1000])
def test_an_id_that_cannot_be_kept_is_a_mistake(memory: MemoryLog, command_id: str) -> None:
    """It is refused by itself; the others of the batch stand."""
    refused, taken = actor_on(memory).execute(ANN, [turn(1, id=command_id), turn(2)])

    assert (True, 1) == (isinstance(refused, InvalidInput), taken.seq)


@pytest.mark.parametrize(
    "bad",
    [
        turn(1, ""),
        turn(1, " \n"),
        turn(1, "x\ud800"),
        turn(1, "x" * (2**20 + 1)),
        turn(1, role="god"),
        turn(1, turn_id=""),
        turn(1, turn_id="x\ud800"),
        turn(1, conversation="x" * 257),
        turn(1, speaker=""),
        turn(1, importance=1.5),
        turn(1, importance=float("nan")),
        turn(1, meta={"x": "\ud800"}),
        turn(1, meta={"x": object()}),
        turn(1, meta={"x": "y" * 2**16}),
        turn(1, meta=["no", "object"]),
        EndConversation(id="c1", conversation="never was"),
        EndConversation(id="c1", conversation="main", note="x\ud800"),
        Forget(id="c1", text=" "),
        Forget(id="c1", text="x\ud800"),
    ],
)
def test_a_mistaken_command_is_refused_by_itself(memory: MemoryLog, bad: RecordTurn) -> None:
    """It leaves no trace; those before and after it are carried out, and the stream can be read."""
    before, refused, after = actor_on(memory).execute(ANN, [turn(0), bad, turn(2)])

    assert isinstance(refused, InvalidInput)
    assert (1, 2, ["turn 0", "turn 2"]) == (before.seq, after.seq, [event.data.content for event in memory.read(ANN).events])


@pytest.mark.parametrize("move", [0, -1_000_000, -(10**15)])
def test_recorded_at_rises_whatever_the_clock_does(memory: MemoryLog, move: int) -> None:
    """It stands still, or goes back: each command is a microsecond later than the one before; one command is one moment."""
    clock = TickingClock(step=0)
    actor = actor_on(memory, clock)
    for number in range(1, 23):
        actor.execute(ANN, [turn(number)])
        clock.set(START + move)

    events = memory.read(ANN).events

    assert [START + index for index in range(22)] == sorted({event.recorded_at for event in events})
    assert {("EpisodeClosed", START + 20)} == {(event.type, event.recorded_at) for event in events if event.type != "TurnRecorded"}
    assert [event.recorded_at for event in events] == sorted(event.recorded_at for event in events)


def test_recorded_at_is_the_clocks_where_that_is_later(memory: MemoryLog) -> None:
    """Also within one batch."""
    clock = TickingClock(step=50)

    acks = actor_on(memory, clock).execute(ANN, [turn(1), turn(2), turn(3)])

    assert [START, START + 50, START + 100] == [ack.recorded_at for ack in acks]


def test_recorded_at_rises_over_a_reopening(world: World) -> None:
    """An actor with a slow clock stamps behind what another one wrote."""
    actor_on(world.other, TickingClock(START + 10**9)).execute(ANN, [turn(1)])

    [ack] = actor_on(world.log).execute(ANN, [turn(2)])

    assert START + 10**9 + 1 == ack.recorded_at


def test_a_backfill_is_recorded_as_of_when_it_happened(memory: MemoryLog, clock: TickingClock) -> None:
    """The real time is kept beside it."""
    commands = [turn(number, backfill=True, occurred_at=number * 10**6) for number in (1, 2)]

    acks = actor_on(memory, clock).execute(ANN, commands)

    assert [10**6, 2 * 10**6] == [ack.recorded_at for ack in acks]
    assert [(10**6, START), (2 * 10**6, START + 1000)] == [(event.recorded_at, event.imported_at) for event in memory.read(ANN).events]


def test_a_backfill_never_goes_back(memory: MemoryLog, clock: TickingClock) -> None:
    """What is not sorted, has the same time, or none, comes a microsecond after the one before."""
    occurred = [5000, 5000, 10, None]
    commands = [turn(number, backfill=True, occurred_at=at) for number, at in enumerate(occurred)]

    acks = actor_on(memory, clock).execute(ANN, commands)

    assert [5000, 5001, 5002, 5003] == [ack.recorded_at for ack in acks]


@pytest.mark.parametrize("remembered", [True, False])
def test_a_backfill_ends_at_the_first_live_event(memory: MemoryLog, clock: TickingClock, remembered: bool) -> None:
    """Afterwards it is a mistake, and leaves nothing; live turns go on."""
    actor = actor_on(memory, clock)
    actor.execute(ANN, [turn(1, backfill=True, occurred_at=5), turn(2)])

    refused, live = (actor if remembered else actor_on(memory, clock)).execute(ANN, [turn(3, backfill=True, occurred_at=9), turn(4)])

    assert (True, 3) == (isinstance(refused, InvalidInput), live.seq)
    assert [START, None, None] == [event.imported_at for event in memory.read(ANN).events]


def test_a_repeated_backfill_is_a_repeat(memory: MemoryLog, clock: TickingClock) -> None:
    """Also when live events have followed."""
    actor = actor_on(memory, clock)
    actor.execute(ANN, [turn(1, backfill=True, occurred_at=5), turn(2)])

    [ack] = actor.execute(ANN, [turn(1, backfill=True, occurred_at=5)])

    assert (1, 5, True) == (ack.seq, ack.recorded_at, ack.duplicate)


def uuid7(milliseconds: int, number: int) -> str:
    digits = f"{milliseconds:012x}7{0:03x}8{number:015x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class CountingLog(MemoryLog):
    """Counts how often a stream is read to look for old commands."""

    def __init__(self) -> None:
        super().__init__()
        self.scans = 0

    def read(self, *arguments: object, **named: object) -> object:
        self.scans += named.get("vectors") is False
        return super().read(*arguments, **named)


@pytest.mark.parametrize("name", [lambda number: f"c{number}", lambda number: uuid7(10**12 + number, number)])
def test_commands_older_than_the_state_remembers_are_found(name: Callable[[int], str]) -> None:
    """By one scan of the log, for plain ids and for UUIDs; ids that are surely new cost none."""
    log = CountingLog()
    actor = actor_on(log)
    commands = [turn(number, id=name(number), conversation=f"c{number % 100}") for number in range(REMEMBERED_COMMANDS + 10)]
    first = actor.execute(ANN, commands)
    end, scans = log.read(ANN).tail.seq, log.scans

    again = actor.execute(ANN, [commands[index] for index in (0, 5, 9, -1)])

    assert [msgspec.structs.replace(first[index], duplicate=True) for index in (0, 5, 9, -1)] == again
    assert (end, True) == (log.read(ANN).tail.seq, log.scans <= max(scans, 1))
    assert name(1)[:1] == "c" or scans == 0


def test_an_old_command_with_another_body_is_a_mistake() -> None:
    """However long ago it was."""
    log = MemoryLog()
    actor = actor_on(log)
    actor.execute(ANN, [turn(number, conversation=f"c{number % 100}") for number in range(REMEMBERED_COMMANDS + 2)])

    refused = actor.execute(ANN, [turn(1, "another", conversation="c1")])[0]

    assert isinstance(refused, InvalidInput)


def test_commands_written_after_the_scan_are_found_when_they_too_are_forgotten() -> None:
    """What the scan found is kept up with what is written."""
    log = CountingLog()
    actor = actor_on(log)
    actor.execute(ANN, [turn(number, conversation=f"c{number % 100}") for number in range(REMEMBERED_COMMANDS + 1)])
    [first] = actor.execute(ANN, [turn(5000)])
    actor.execute(ANN, [turn(number, conversation=f"c{number % 100}") for number in range(2000, 2000 + REMEMBERED_COMMANDS + 1)])

    [again] = actor.execute(ANN, [turn(5000)])

    assert (msgspec.structs.replace(first, duplicate=True), 1) == (again, log.scans)


def test_a_large_batch_is_split_into_commits(tmp_path: Path) -> None:
    """At most 512 events or 8 MB each; all of it is acknowledged in order, and none of it twice."""
    world = World(tmp_path)
    commands = [turn(number, conversation=f"c{number % 200}") for number in range(1300)]

    acks = actor_on(world.log).execute(ANN, commands)

    sizes = [len(commit_file.decode(path.read_bytes(), "f")) for path in sorted(world.folder.glob("*.parquet"))]
    assert [512, 512, 276] == sizes
    assert (list(range(1, 1301)), MAX_COMMIT_EVENTS) == ([ack.seq for ack in acks], max(sizes))


def test_a_heavy_batch_is_split_into_commits(world: World) -> None:
    """Twelve turns of a megabyte: no file is much above 8 MB."""
    acks = actor_on(world.log).execute(ANN, [turn(number, "x" * 1_000_000) for number in range(12)])

    assert ([file_name(1), file_name(9)], 12) == (names(world.folder), acks[-1].seq)


def test_a_command_is_never_split(world: World) -> None:
    """The turn that closes an episode and the episode are one commit, even where the bound falls between them."""
    commands = [turn(number, conversation=f"c{number}") for number in range(MAX_COMMIT_EVENTS - 22)] + [
        turn(1000 + number) for number in range(42)
    ]

    actor_on(world.log).execute(ANN, commands)

    ends = [commit_file.decode(path.read_bytes(), "f")[-1] for path in sorted(world.folder.glob("*.parquet"))]
    rows = {row.seq: row for row in world.other.read(ANN).rows}
    assert [] == [end.seq for end in ends if end.seq + 1 in rows and rows[end.seq + 1].command_id == end.command_id]


def test_a_loss_in_the_middle_of_a_batch(world: World) -> None:
    """Its first commit stands; the rest is decided again behind the winner."""
    actor = actor_on(world.log)
    world.files.at("link_new", 2, lambda: actor_on(world.other).execute(ANN, [turn(9999, conversation="rival")]))

    acks = actor.execute(ANN, [turn(number, conversation=f"c{number % 200}") for number in range(600)])

    said = world.said()
    assert (600, 601, 601, {1}) == (len(acks), acks[-1].seq, len(said), {said.count(one) for one in said})
    assert ["turn 511", "turn 9999", "turn 512"] == said[511:514]


def test_losses_are_counted_anew_after_each_commit(world: World) -> None:
    """Two before the first commit of a batch and two before the second are not three in a row."""
    actor, rival = actor_on(world.log), actor_on(world.other)
    for number in (1, 2, 4, 5):
        world.files.at("link_new", number, lambda number=number: rival.execute(ANN, [turn(9000 + number, conversation="rival")]))

    acks = actor.execute(ANN, [turn(number, conversation=f"c{number % 200}") for number in range(600)])

    assert (600, 604, 604) == (len(acks), acks[-1].seq, len(world.said()))


def test_streams_beyond_the_bound_are_let_go(world: World) -> None:
    """The one that was used longest ago; it is opened again when it is asked for."""
    actor = actor_on(world.log, streams=1)
    actor.execute(ANN, [turn(1)])
    actor.execute(BOB, [turn(1)])
    world.watch()

    actor.execute(BOB, [turn(2)])
    assert [] == world.files.paths("names")
    [ack] = actor.execute(ANN, [turn(2)])

    assert (2, ["turn 1", "turn 2"]) == (ack.seq, world.said())


def test_a_passivated_stream_goes_on(world: World) -> None:
    """Everything acknowledged is in the log."""
    actor = actor_on(world.log)
    actor.execute(ANN, [turn(1)])
    actor.passivate(ANN)

    [repeat, ack] = actor.execute(ANN, [turn(1), turn(2)])

    assert (True, 2) == (repeat.duplicate, ack.seq)


def test_a_damaged_stream_is_an_error_reply_and_others_go_on(world: World) -> None:
    """It is not written to."""
    world.others_write(1, 1, 1)
    (world.folder / file_name(2)).unlink()
    actor = actor_on(world.log)

    with pytest.raises(StoreDamaged):
        actor.execute(ANN, [turn(1)])

    assert (1, [file_name(1), file_name(3)]) == (actor.execute(BOB, [turn(1)])[0].seq, names(world.folder))
