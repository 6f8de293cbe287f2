"""`verify` finds whatever is not as it was written, says where, and changes nothing."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from builders import ANN, BOB, contents, counting_salt, erase, names, raise_floor, said, seal, small_store, stamp, stamped, write

from events.errors import StoreDamaged, StoreTooNew
from events.ids import StreamId
from events.log import commit_file
from events.log.file_log import FileLog
from events.log.files import Files
from events.log.plan import file_name
from events.log.row import Row, chain
from events.log.store import NAME, open_store
from events.log.verify import Problem, StreamCheck, Verification, verify
from events.vocabulary import TurnEmbedded


@pytest.fixture
def log(tmp_path: Path) -> FileLog:
    """Ann: a sealed window and small files; Bob: erased up to a floor in the middle. Ten files in all."""
    log = FileLog(small_store(tmp_path / "store"), salt=counting_salt(), pause=lambda _: None)
    handle, _ = log.open(ANN)
    write(log, handle, 2, 2, 1)
    vector = np.arange(16, dtype=np.int16).reshape(2, 8)
    log.append(handle, [stamp(TurnEmbedded(turn_seq=1, model="m", kinds=("a", "b")), 9000, vector=vector)], expected_seq=5)
    write(log, handle, 20)
    seal(log, ANN, 1)
    handle, _ = log.open(BOB)
    write(log, handle, 1, 1)
    erase(log, BOB)
    write(log, log.open(BOB)[0], 1, 1)
    return log


def folder(log: FileLog, stream: StreamId = ANN) -> Path:
    return log.folder(stream)


def found(log: FileLog) -> list[tuple[str, int | None, str]]:
    return [(Path(problem.file).name, problem.row, problem.what) for problem in verify(log).problems]


def rewrite(path: Path, change: Callable[[list[Row]], list[Row]]) -> None:
    """The file with other rows and a file digest that fits them: a forger who knows the format."""
    path.write_bytes(commit_file.encode(change(commit_file.decode(path.read_bytes(), str(path)))))


def test_a_sound_store(log: FileLog) -> None:
    """Every event of every stream is counted: sealed, small and above a floor."""
    assert Verification(ok=True, streams=2, events=29, problems=()) == verify(log)


def test_an_empty_store(tmp_path: Path) -> None:
    """Nothing is wrong with nothing."""
    assert Verification(ok=True, streams=0, events=0, problems=()) == verify(FileLog(small_store(tmp_path / "empty")))


def test_verify_changes_nothing(log: FileLog) -> None:
    """Not a file, not a time, not a folder."""
    before = {path: path.stat().st_mtime_ns for path in log.store.path.rglob("*")}

    verify(log)

    assert before == {path: path.stat().st_mtime_ns for path in log.store.path.rglob("*")}


def test_progress_is_told_after_each_stream(log: FileLog) -> None:
    """Also after a damaged one."""
    (folder(log) / file_name(5)).write_bytes(b"")
    told: list[int] = []

    verify(log, lambda: told.append(1))

    assert [1, 1] == told


def test_single_streams_can_be_checked(log: FileLog) -> None:
    """The others are not looked at."""
    (folder(log, BOB) / file_name(4)).write_bytes(b"")

    events, problems = StreamCheck(log, ANN).run()

    assert (26, []) == (events, problems)
    assert StreamCheck(log, BOB).run()[1]


def test_swapped_user_folders(log: FileLog) -> None:
    """Each stream's chain begins with its own name, and each row names its user."""
    one, other = StreamId("work", "carl"), StreamId("work", "dora")
    for stream in (one, other):
        write(log, log.open(stream)[0], 1, 1)
    aside = folder(log, one).with_name("aside")
    folder(log, one).rename(aside)
    folder(log, other).rename(folder(log, one))
    aside.rename(folder(log, other))

    problems = verify(log).problems

    assert {"log/" + one.folder, "log/" + other.folder} == {str(Path(problem.file).parent) for problem in problems}
    assert {"event 1 does not follow the event before it (prev_digest differs)", "it belongs to work/carl", "it belongs to work/dora"} == {
        problem.what for problem in problems
    }
    with pytest.raises(StoreDamaged):
        log.read(one)


def test_a_copied_user_folder(log: FileLog) -> None:
    """A stream under a second name is another's."""
    shutil.copytree(folder(log), folder(log).with_name("user=eve"))

    assert {"log/space=home/user=eve"} == {str(Path(problem.file).parent).removesuffix("/sealed") for problem in verify(log).problems}


def test_a_removed_middle_file(log: FileLog) -> None:
    """Named by the file behind the hole."""
    (folder(log) / file_name(6)).unlink()

    assert [(file_name(7), None, "event 6 is missing before it")] == found(log)


def test_a_removed_sealed_file(log: FileLog) -> None:
    """Nothing before the small files is there."""
    (folder(log) / "sealed" / file_name(1)).unlink()

    assert [(file_name(5), None, "event 1 is missing before it")] == found(log)


def test_a_removed_floor(log: FileLog) -> None:
    """What it had erased is missing now."""
    (folder(log, BOB) / "sealed" / "floor").unlink()

    assert [(file_name(3), None, "event 1 is missing before it")] == found(log)


def test_a_lowered_floor(log: FileLog) -> None:
    """It promises events that are gone."""
    raise_floor(log, BOB, 2, log.read(BOB).rows[0].prev_digest)

    assert [(file_name(3), None, "event 2 is missing before it")] == found(log)


def test_a_raised_floor(log: FileLog) -> None:
    """Nothing hides below it unseen."""
    row = log.read(BOB).rows[1]
    raise_floor(log, BOB, 5, row.digest)

    assert [
        (file_name(3), None, "not part of the stream; never read"),
        (file_name(4), None, "not part of the stream; never read"),
    ] == found(log)


@pytest.mark.parametrize("length", [0, 4, 500, -1, -9])
def test_a_truncated_file(log: FileLog, length: int) -> None:
    """And that nothing after it could be checked."""
    file = folder(log) / file_name(5)
    file.write_bytes(file.read_bytes()[:length])

    problems = found(log)

    assert [(file_name(5), None)] * 2 == [problem[:2] for problem in problems]
    assert "event 5 cannot be read; nothing after it was checked" == problems[1][2]


def test_a_folder_in_place_of_a_file(log: FileLog) -> None:
    """It cannot be read, and that is a finding, not a crash."""
    (folder(log) / file_name(5)).unlink()
    (folder(log) / file_name(5)).mkdir()

    assert "cannot be read: Is a directory" == found(log)[0][2]


@pytest.mark.parametrize("stray", ["notes.txt", "sealed/notes.txt", "7.parquet", file_name(0), "sealed/" + file_name(6)])
def test_a_stray(log: FileLog, stray: str) -> None:
    """Reported; the stream itself is sound and read to its end."""
    (folder(log) / stray).write_text("who put me here?")

    verification = verify(log)

    assert (Problem(f"log/{ANN.folder}/{stray}", None, "not part of the stream; never read"),) == verification.problems
    assert 29 == verification.events


def test_every_stray_is_reported(log: FileLog) -> None:
    """One does not hide the other."""
    (folder(log) / "notes.txt").write_text("x")
    shutil.copy(folder(log) / file_name(7), folder(log) / file_name(8))
    shutil.copy(folder(log) / file_name(7), folder(log) / file_name(9))

    off = "off the chain: another commit stands where it begins"
    assert [("notes.txt", None, "not part of the stream; never read"), (file_name(8), None, off), (file_name(9), None, off)] == found(log)


def test_leftovers_are_no_problem(log: FileLog) -> None:
    """Temporaries, the lock, and small files of a sealed window: maintenance sweeps them."""
    for leftover in (".tmp-1", ".lock", "sealed/.tmp-2"):
        (folder(log) / leftover).write_bytes(b"torn")
    shutil.copy(folder(log) / file_name(5), folder(log) / file_name(2))

    assert verify(log).ok


@pytest.mark.parametrize("name", ["space=%zz", "people", "space=home/user=%61", "space=home/alice", "space=home/user=A"])
def test_folders_that_are_no_streams(log: FileLog, name: str) -> None:
    """Events in them would never be read."""
    (log.store.log / name).mkdir()

    [problem] = verify(log).problems

    assert f"log/{name}" == problem.file
    assert "not the folder of a" in problem.what


def test_a_row_of_another_user(log: FileLog) -> None:
    """Though all digests hold: the file, the seq, and whose it is."""
    file = folder(log) / file_name(5)
    rewrite(file, lambda rows: [msgspec.structs.replace(row, user="eve") for row in rows])

    assert [(file_name(5), 5, "it belongs to home/eve")] == found(log)


def test_a_commit_of_another_user(log: FileLog) -> None:
    """Bob's fifth event in the place of Ann's."""
    shutil.copy(folder(log, BOB) / file_name(5), folder(log) / file_name(5))

    assert "event 5 does not follow the event before it (prev_digest differs)" in [problem[2] for problem in found(log)]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"payload": msgspec.json.encode(said("I never said that", 5))}, "the private columns are not those that were digested"),
        ({"occurred_at": 1}, "the private columns are not those that were digested"),
        ({"command_id": "other"}, "the private columns are not those that were digested"),
        ({"recorded_at": 1}, "the public columns are not those that were digested"),
        ({"imported_at": 1}, "the public columns are not those that were digested"),
        ({"type": "TurnForged"}, "the public columns are not those that were digested"),
        ({"salt": None}, "the salt is gone but the payload is not"),
        ({"salt": None, "payload": None, "command_id": None}, "its private columns are gone, and no erasure names it"),
    ],
)
def test_a_forged_row(log: FileLog, change: dict[str, object], what: str) -> None:
    """The file's digest was made to fit; the row's was not."""
    rewrite(folder(log) / "sealed" / file_name(1), lambda rows: [*rows[:2], msgspec.structs.replace(rows[2], **change), rows[3]])

    assert [(file_name(1), 3, what)] == found(log)


def test_a_forged_commit_breaks_the_chain(log: FileLog) -> None:
    """Sound in itself, but what follows it does not follow."""
    file = folder(log) / file_name(5)
    tail = commit_file.decode((folder(log) / "sealed" / file_name(1)).read_bytes(), "f")[-1]
    file.write_bytes(commit_file.encode(chain(ANN, 4, tail.digest, stamped("forged"), counting_salt(99))))

    assert [(file_name(6), None, "event 6 does not follow the event before it (prev_digest differs)")] == found(log)


def test_all_problems_are_reported(log: FileLog) -> None:
    """One stream's damage does not hide another's."""
    (folder(log) / file_name(7)).write_bytes(b"")
    (folder(log, BOB) / file_name(4)).write_bytes(b"")

    assert {str(Path("log") / stream.folder) for stream in (ANN, BOB)} == {
        str(Path(problem.file).parent) for problem in verify(log).problems
    }


def test_a_file_that_cannot_be_read(log: FileLog) -> None:
    """The operating system's reason is given."""

    class Failing(Files):
        def read(self, path: Path) -> bytes:
            if path.name == file_name(6):
                raise OSError(5, "Input/output error", str(path))
            return super().read(path)

    watched = FileLog(log.store, Failing(), pause=lambda _: None)

    assert "cannot be read: Input/output error" == found(watched)[0][2]


def test_every_flipped_bit_is_found(log: FileLog) -> None:
    """In any file below log/ (commits, a sealed window, a floor) by `verify`, and in store.json when it is opened."""
    seed = 20261121
    print("seed", seed)
    rng = random.Random(seed)
    files = [log.store.path / name for name in names(log.store.path)]
    small = [path for path in files if path.name in (NAME, "floor")]
    flips = [(path, rng.randrange(path.stat().st_size * 8)) for path in [rng.choice(files) for _ in range(200)] + small * 30]

    missed = [(path.name, bit) for path, bit in flips if not _finds(log, path, bit)]

    assert [] == missed
    assert len(files) <= 12
    assert verify(log).ok


def test_every_bit_of_the_small_files_counts(log: FileLog) -> None:
    """All of store.json and of a floor."""
    files = [log.store.path / NAME, folder(log, BOB) / "sealed" / "floor"]

    missed = [(path.name, bit) for path in files for bit in range(path.stat().st_size * 8) if not _finds(log, path, bit, BOB)]

    assert [] == missed


def _finds(log: FileLog, path: Path, bit: int, only: StreamId | None = None) -> bool:
    """Whether the flip of one bit is noticed; the file is mended afterwards."""
    sound = path.read_bytes()
    path.write_bytes(sound[: bit // 8] + bytes([sound[bit // 8] ^ 1 << bit % 8]) + sound[bit // 8 + 1 :])
    try:
        open_store(log.store.path)
        return bool(StreamCheck(log, only).run()[1] if only else verify(log).problems)
    except (StoreDamaged, StoreTooNew) as error:
        return isinstance(error, StoreDamaged) or sound[bit // 8 : bit // 8 + 1].isdigit()
    finally:
        path.write_bytes(sound)


def test_the_counted_events_are_those_that_are_read(log: FileLog) -> None:
    """`verify` walks as READ does."""
    readings = [log.read(stream) for stream in log.streams()]

    assert sum(len(reading.rows) for reading in readings) == verify(log).events
    assert ["event 4", "event 5"] == contents(readings[1].rows)
