"""What another policy would have remembered, of every user of a space: one stream a task. Nothing is written, no model is called.

Each stream is replayed up to where it ended when the tasks were made, so that a task gives the same whenever it is run.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from events.policy import Policy
from memory_actors.cluster.kept import Kept, digest, kept_in
from memory_actors.cluster.tasks import mapped
from memory_actors.memory import Memory
from memory_actors.replay import Replayed
from memory_actors.settings import Settings


class ReplayTask(msgspec.Struct, frozen=True, kw_only=True):
    """One stream: where it is, its end (`seq` and digest), the policy it lives under, and the one to replay it under."""

    store: str
    space: str
    user: str
    seq: int
    tail: str
    live: Policy
    policy: Policy


class Count(msgspec.Struct, frozen=True):
    """How many came, went, and changed their value."""

    gained: int
    lost: int
    changed: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.gained + other.gained, self.lost + other.lost, self.changed + other.changed)


class UserDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How much differs for one user."""

    user: str
    events: int
    facts: Count
    episodes: Count
    topics: Count

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return self.facts + self.episodes + self.topics != Count(0, 0)


def replay_tasks(memory: Memory, policy: Policy) -> list[ReplayTask]:
    """One a user of the memory's space."""
    found = []
    for stream in memory.streams():
        if not stream.user.startswith("@"):
            tail = memory.log.read(stream, vectors=False).tail
            found.append(
                ReplayTask(
                    store=str(memory.store.path.absolute()),
                    space=stream.space,
                    user=stream.user,
                    seq=tail.seq,
                    tail=tail.digest.hex(),
                    live=memory.policy_of(stream.space),
                    policy=policy,
                )
            )
    return found


def finished(path: Path | None) -> AbstractContextManager[Kept[ReplayTask, UserDifference] | None]:
    """The replays that have been finished, kept at `path`; None: not kept."""
    return nullcontext() if path is None else kept_in(path, UserDifference, identity)


def identity(task: ReplayTask) -> str:
    """Of all that a replay depends on. The digest of a stream's end stands for all of it, wherever the store lies."""
    return digest("replay", task.space, task.user, task.seq, task.tail, task.live.hash, task.policy.hash)


def replay_all(
    todo: Sequence[ReplayTask], settings: Settings, progress: Callable[[int], None], kept: Kept[ReplayTask, UserDifference] | None = None
) -> list[UserDifference]:
    """What differs, by user, in the order of the tasks."""
    by_place: dict[int, UserDifference] = {}
    for place, one in mapped(replay_one, todo, settings.ray, kept, pinned=not settings.shared):
        by_place[place] = one
        progress(1)
    return [by_place[place] for place in range(len(todo))]


def replay_one(task: ReplayTask) -> UserDifference:
    """Opens the store, reads one stream, and folds it again."""
    settings = Settings(recalls="never", embedder="none", streams=1)
    with Memory(task.store, space=task.space, policy=task.live, settings=settings, create=False) as memory:
        found = memory.user(task.user).as_of(f"@{task.seq}").replay(task.policy)
    return counted(task, found)


def counted(task: ReplayTask, replayed: Replayed) -> UserDifference:
    """The difference as numbers: ids of one fold mean nothing beside those of another."""
    found = replayed.difference
    return UserDifference(
        user=task.user,
        events=task.seq,
        facts=Count(len(found.facts.gained), len(found.facts.lost), len(found.facts.changed)),
        episodes=Count(len(found.episodes.gained), len(found.episodes.lost)),
        topics=Count(len(found.topics.gained), len(found.topics.lost), len(replayed.topics)),
    )
