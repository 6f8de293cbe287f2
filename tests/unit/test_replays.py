"""Every user of a space under another policy: what differs, by user, and resumed."""

import json
from pathlib import Path

import msgspec
import pytest
from clocks import TickingClock
from histories import SMALL, open_memory, tell

from events.deciding.fact_slots import FactRules
from events.policy import Policy
from memory_actors.cli import run
from memory_actors.evaluation.replays import Count, UserDifference, finished, identity, replay_all, replay_one, replay_tasks
from memory_actors.memory import Memory
from memory_actors.settings import Settings

DEAF = Policy(
    session=SMALL.session, episodes=SMALL.episodes, topics=SMALL.topics, facts=FactRules(active_confidence=1.0, store_confidence=1.0)
)
NOTHING = Count(0, 0)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Ann says a fact, Bob says none, and the space itself has a stream too."""
    memory = open_memory(tmp_path / "store", policy=SMALL, clock=TickingClock())
    tell(memory, "ann", "I live in Porto.", "The boats left the harbour.", "A database was chosen.", "Boats came back.")
    tell(memory, "bob", "The boats left the harbour.")
    return memory


def ran(memory: Memory, policy: Policy, path: Path | None = None) -> list[UserDifference]:
    with finished(path) as kept:
        return replay_all(replay_tasks(memory, policy), Settings(), lambda _: None, kept)


def test_another_policy_differs_for_those_whom_it_concerns(memory: Memory) -> None:
    """A policy that believes nothing loses Ann's fact, and nothing of Bob's."""
    ann, bob = ran(memory, DEAF)

    assert ("ann", Count(0, 1), NOTHING, NOTHING) == (ann.user, ann.facts, ann.episodes, ann.topics)
    assert ("bob", False) == (bob.user, bob.differs)
    assert memory.log.read(memory.user("ann").stream).tail.seq == ann.events


def test_an_unchanged_policy_differs_for_nobody(memory: Memory) -> None:
    assert [False, False] == [one.differs for one in ran(memory, SMALL)]


def test_finished_users_are_not_replayed_again(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until their stream goes on, or the policy is another."""
    first = ran(memory, DEAF, tmp_path / "kept")
    made: list[str] = []

    def counting(task: object) -> UserDifference:
        made.append(task.user)
        return replay_one(task)

    monkeypatch.setattr("memory_actors.evaluation.replays.replay_one", counting)
    assert first == ran(memory, DEAF, tmp_path / "kept")
    assert [] == made

    tell(memory, "bob", "I live in Faro.")
    assert [True, True] == [one.differs for one in ran(memory, DEAF, tmp_path / "kept")]
    assert ["bob"] == made
    ran(memory, SMALL, tmp_path / "kept")
    assert ["bob", "ann", "bob"] == made


def test_the_same_stream_elsewhere_is_the_same_task(memory: Memory) -> None:
    """A store that was moved is still resumed; another end of the stream, or another policy, is another task."""
    task, other = replay_tasks(memory, DEAF)
    [again, _] = replay_tasks(memory, SMALL)

    assert identity(task) == identity(msgspec.structs.replace(task, store="/elsewhere"))
    assert 4 == len({identity(one) for one in (task, other, again, msgspec.structs.replace(task, seq=1))})


def test_the_command_prints_a_table(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Or JSON; a call that means two things is refused."""
    memory.close()
    policy = tmp_path / "deaf.toml"
    policy.write_text("[facts]\nactive_confidence = 1.0\nstore_confidence = 1.0\n")
    store = ["--store", str(memory.store.path), "--embedder", "none"]

    assert 0 == run(["replay", "--all", "--policy", str(policy), "--resume", str(tmp_path / "kept"), *store])
    out = capsys.readouterr().out
    assert ["user", "events", "facts", "episodes", "topics"] == out.splitlines()[0].split()
    assert "of 2 users would be remembered differently" in out.splitlines()[-1]
    assert 0 == run(["replay", "--all", "--policy", str(policy), "--resume", str(tmp_path / "kept"), *store, "--json"])
    assert ["ann", "bob"] == [one["user"] for one in json.loads(capsys.readouterr().out)]

    for wrong in (["ann", "--all"], [], ["ann", "--resume", "x"], ["--all", "--as-of", "now"]):
        assert 2 == run(["replay", *wrong, "--policy", str(policy), *store])
        assert capsys.readouterr().err.startswith("InvalidInput: ")
