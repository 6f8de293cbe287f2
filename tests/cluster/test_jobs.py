"""Jobs: submitted to a head with a token, read in their log, killed in the middle and submitted again."""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from heads import BIN, LOOPBACK, SECONDS, Head, Job, end, head, listening, running

from events.log.file_log import FileLog
from events.log.store import open_store
from events.log.verify import verify
from memory_actors.cli import run

MEMORY_ACTORS = str(BIN / "memory-actors")
WORDS = ("kite", "harbour", "violin", "lemon", "glacier")
USERS, TURNS = 6, 300

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def ray_head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """One for all tests of this file."""
    with head(tmp_path_factory.mktemp("head")) as started:
        yield started


def locomo(path: Path, conversations: int) -> Path:
    """Conversations in LoCoMo's form: a turn and a question a word."""
    found = []
    for number in range(conversations):
        turns = [{"speaker": "Ana", "dia_id": f"D1:{at}", "text": f"I bought a {word} in {number}"} for at, word in enumerate(WORDS, 1)]
        asked = [
            {"question": f"Who bought a {word}?", "answer": "Ana", "evidence": [f"D1:{at}"], "category": 4}
            for at, word in enumerate(WORDS, 1)
        ]
        conversation = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1": turns, "session_1_date_time": "1:01 pm on 1 May, 2023"}
        found.append({"sample_id": f"conv-{number}", "conversation": conversation, "qa": asked})
    path.write_text(json.dumps(found))
    return path


def chats(path: Path) -> Path:
    """Turns of several users, turn about."""
    lines = [
        {"user": f"u{user}", "role": "user", "content": f"Turn {turn} of u{user}.", "turn_id": f"{turn}"}
        for turn in range(TURNS)
        for user in range(USERS)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def answer(job: Job) -> dict[str, Any]:
    """The JSON document at the end of a job's log; before it there is nothing but our progress."""
    lines = job.log.splitlines()
    start = lines.index("{")
    assert all(line.startswith("asked ") for line in lines[:start]), job.log
    found: dict[str, Any] = json.loads("\n".join(lines[start:]))
    return found


def recorded(store: Path) -> list[str]:
    """Every turn in a store's log, as user and id, in no order."""
    log = FileLog(open_store(store))
    return [
        f"{stream.user} {event.data.turn_id}"
        for stream in log.streams()
        for event in log.read(stream).events
        if event.type == "TurnRecorded"
    ]


@pytest.mark.slow
def test_an_evaluation_is_a_job_whose_log_is_its_answer(ray_head: Head, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One task a conversation; the log holds the one JSON document and nothing of Ray's. What was finished is not asked again."""
    options = ["--embedder", "none", "--resume", str(tmp_path / "kept"), "--json"]
    words = ["evaluate", "locomo", str(locomo(tmp_path / "l.json", 3)), *options]

    job = ray_head.submit(MEMORY_ACTORS, *words, "--ray", "auto")
    kept = (tmp_path / "kept").read_bytes()

    assert (0, 15) == (job.code, answer(job)["questions"]), job.log
    assert 4 == len(kept.splitlines())
    assert 0 == run(words)
    assert answer(job) == json.loads(capsys.readouterr().out)
    assert kept == (tmp_path / "kept").read_bytes()


def test_an_ingest_whose_driver_was_killed_goes_on(ray_head: Head, tmp_path: Path) -> None:
    """SIGKILL when some of it is durable; the same job again: every turn is there once, and the log is sound."""
    store = tmp_path / "store"
    words = ("ingest", str(chats(tmp_path / "chats.jsonl")))
    command = [MEMORY_ACTORS, *words, "--no-wait", "--store", str(store), "--embedder", "none", "--ray", "auto"]

    assert 0 == ray_head.submit(*command, wait=False).code
    killed = when_some_is_durable(ray_head, store, words)
    before = recorded(store)
    job = ray_head.submit(*command)

    assert 1 == len(killed)
    assert 0 < len(before) < USERS * TURNS
    assert 0 == job.code, job.log
    [said] = re.findall(r"recorded (\d+) turns of 6 users in .* s; (\d+) were there already", job.log)
    assert USERS * TURNS == sum(int(number) for number in said)
    assert len(before) <= int(said[1])
    assert sorted(f"u{user} {turn}" for user in range(USERS) for turn in range(TURNS)) == sorted(recorded(store))
    assert verify(FileLog(open_store(store))).ok


@pytest.mark.slow
def test_two_jobs_write_the_same_at_once(ray_head: Head, tmp_path: Path) -> None:
    """Through the same pool: every turn is there once, whichever job recorded it."""
    store = tmp_path / "store"
    command = [MEMORY_ACTORS, "ingest", str(chats(tmp_path / "chats.jsonl")), "--store", str(store), "--embedder", "none", "--ray", "auto"]

    with ThreadPoolExecutor(2) as threads:
        jobs = list(threads.map(lambda _: ray_head.submit(*command), range(2)))

    assert [0, 0] == [job.code for job in jobs], [job.log for job in jobs]
    assert sorted(f"u{user} {turn}" for user in range(USERS) for turn in range(TURNS)) == sorted(recorded(store))
    assert verify(FileLog(open_store(store))).ok


def when_some_is_durable(ray_head: Head, store: Path, words: tuple[str, ...]) -> list[int]:
    """Kills the job's driver at the first commit, and says its process id."""
    ends = time.monotonic() + SECONDS
    while not list(store.glob("log/*/*/*.parquet")):
        assert time.monotonic() < ends
        time.sleep(0.001)
    drivers = running(ray_head.pid, *words)
    for pid in drivers:
        end(pid)
    return drivers


@pytest.mark.slow
def test_an_evaluation_that_was_killed_goes_on(ray_head: Head, tmp_path: Path) -> None:
    """What was finished before the SIGKILL is not done again, and the answer is that of a run without one."""
    file, kept = locomo(tmp_path / "l.json", 40), tmp_path / "kept"
    words = ("evaluate", "locomo", str(file))
    command = [MEMORY_ACTORS, *words, "--embedder", "none", "--ray", "auto", "--json"]
    assert 0 == ray_head.submit(*command, "--resume", str(kept), wait=False).code
    ends = time.monotonic() + SECONDS
    while not kept.exists() or len(kept.read_bytes().splitlines()) < 4:
        assert time.monotonic() < ends
        time.sleep(0.001)
    for pid in running(ray_head.pid, *words):
        end(pid)
    before = kept.read_bytes()

    job = ray_head.submit(*command, "--resume", str(kept))
    whole = ray_head.submit(*command)

    assert 3 <= len(before.splitlines()) - 1 < 40
    assert kept.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert 41 == len(kept.read_bytes().splitlines())
    assert answer(job)["systems"] == answer(whole)["systems"]


def test_everything_listens_on_the_loopback_address_only(ray_head: Head) -> None:
    """The head's own processes, and those of its workers."""
    found = listening(ray_head.pid)

    assert "0100007F" in found
    assert found <= LOOPBACK


def test_a_head_takes_no_job_without_the_token(ray_head: Head, tmp_path: Path) -> None:
    """Nor does it run one."""
    stranger = ray_head._replace(environment={**ray_head.environment, "RAY_AUTH_TOKEN": "0" * 64})
    job = stranger.submit("touch", str(tmp_path / "run"))

    assert 0 != job.code
    assert "Invalid authentication token" in job.log
    assert not (tmp_path / "run").exists()
