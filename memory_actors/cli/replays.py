"""`replay --all`: how much would be remembered differently, user by user."""

from pathlib import Path

import msgspec

from events.policy import Policy
from memory_actors.cli import show
from memory_actors.cli.options import Chosen
from memory_actors.evaluation.replays import Count, UserDifference, finished, replay_all, replay_tasks


def replay_everybody(chosen: Chosen, policy: Policy, resume: Path | None) -> None:
    """Every user of the space under `policy`, one task a user; `resume` names a file that keeps what is finished."""
    with msgspec.structs.replace(chosen, ray="off").memory() as memory:
        todo = replay_tasks(memory, policy)
    with finished(resume) as kept, show.progress({"replayed": len(todo)}, unit="users") as told:
        found = replay_all(todo, chosen.settings(), lambda count: told("replayed", count), kept)
    if chosen.json:
        show.as_json(msgspec.to_builtins(found))
    else:
        _show(found)


def _show(found: list[UserDifference]) -> None:
    rows = [(one.user, one.events, *map(_count, (one.facts, one.episodes, one.topics))) for one in found]
    show.table(("user", "events", "facts", "episodes", "topics"), rows, "")
    show.line(f"{sum(one.differs for one in found)} of {len(found)} users would be remembered differently")


def _count(count: Count) -> str:
    """As `+2 -1 ~1`: gained, lost, changed; nothing where there is nothing."""
    parts = (("+", count.gained), ("-", count.lost), ("~", count.changed))
    return " ".join(f"{sign}{number}" for sign, number in parts if number)
