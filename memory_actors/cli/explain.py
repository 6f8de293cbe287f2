"""Commands that compare and explain."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from memory_actors.cli import answers, show
from memory_actors.cli.options import Chosen, as_of, common, valid_at
from memory_actors.cli.read import reads
from memory_actors.cli.replays import replay_everybody
from memory_actors.policy_text import read_policy
from memory_actors.reads.difference import Difference, Place, Ranking, TopicChange
from memory_actors.replay import Replayed
from projections.sql import select


@click.command()
@click.argument("user")
@click.argument("start", metavar="T1")
@click.argument("stop", metavar="T2")
@valid_at
@common
def diff(chosen: Chosen, user: str, start: str, stop: str, valid_at: str | None) -> None:
    """What is remembered of USER differently at T2 than at T1."""
    with chosen.memory() as memory:
        found = reads(memory, user, None).diff(start, stop, valid_at=valid_at)
    show.as_json(answers.difference(found)) if chosen.json else differences(found)


def differences(found: Difference, more: Sequence[tuple[str, str, str]] = ()) -> None:
    """A difference as lines with +, - and ~, and more of these."""
    rows = [("+", row.id, f"{row.key}: {row.value}") for row in found.facts.gained]
    rows += [("-", row.id, f"{row.key}: {row.value}") for row in found.facts.lost]
    rows += [("~", change.after.id, f"{change.after.key}: {change.before.value} → {change.after.value}") for change in found.facts.changed]
    rows += [(sign, "episode", row["title"] or row["id"]) for sign, row in _listed(found.episodes)]
    rows += [(sign, "topic", row["title"]) for sign, row in _listed(found.topics)]
    show.table(("", "what", "text"), [*rows, *more], "no difference")


def _listed(found: Any) -> list[tuple[str, dict[str, str]]]:
    return [("+", row) for row in found.gained] + [("-", row) for row in found.lost]


@click.command()
@click.argument("user")
@click.argument("fact")
@as_of
@common
def why(chosen: Chosen, user: str, fact: str, as_of: str | None) -> None:
    """The events that made FACT (an id, as `facts` shows it) what it is, back to what was said."""
    with chosen.memory() as memory:
        found = reads(memory, user, as_of).why(fact)
    if chosen.json:
        show.as_json([answers.event(event) for event in found])
        return
    cells = [(event.seq, answers.time(event.recorded_at), event.type, said(answers.event(event)["payload"])) for event in found]
    show.table(("seq", "recorded at", "event", "what"), cells, "")


def said(payload: dict[str, Any]) -> str:
    """What an event says, in a few words."""
    if "content" in payload:
        return f"{payload.get('speaker') or payload['role']}: {show.short(payload['content'], 160)}"
    return ", ".join(
        f"{name}={value}"
        for name, value in payload.items()
        if name in ("fact", "key", "value", "reason", "extractor", "confidence", "text")
    )


@click.command()
@click.argument("user", required=False)
@click.option("--all", "everybody", is_flag=True, help="every user of the space: how much differs, one task a user")
@click.option(
    "--resume", metavar="FILE", type=click.Path(path_type=Path), help="with --all: keep finished users in FILE, and go on from it"
)
@click.option(
    "--policy", "file", required=True, type=click.Path(path_type=Path), help="a TOML file: tables session, facts, episodes, topics, ..."
)
@click.option("--query", "queries", multiple=True, metavar="TEXT", help="rank turns for it under both policies; may be repeated")
@as_of
@common
def replay(
    chosen: Chosen, user: str | None, everybody: bool, resume: Path | None, file: Path, queries: tuple[str, ...], as_of: str | None
) -> None:
    """What would be remembered of USER under another policy. The store is not touched; a model only embeds queries."""
    policy = read_policy(file)
    if everybody:
        if user or queries or as_of:
            raise click.UsageError("--all is every user, as it is now: neither USER nor --query nor --as-of goes with it")
        replay_everybody(chosen, policy, resume)
        return
    if user is None or resume:
        raise click.UsageError("name a USER, or say --all; --resume goes with --all")
    with chosen.memory() as memory:
        found = reads(memory, user, as_of).replay(policy, queries=queries)
    if chosen.json:
        show.as_json(replayed(found))
        return
    differences(found.difference, _decayed(found))
    for ranking in found.rankings:
        ranked(ranking)
    show.line(f"[dim]from {found.difference.before} to {found.difference.after}[/dim]")
    show.basis(found.basis)


def replayed(found: Replayed) -> dict[str, Any]:
    """What differs as JSON: as `diff` has it, with topics that changed, and rankings."""
    answer = answers.difference(found.difference)
    changed = [{"from": answers.topic(change.before), "to": answers.topic(change.after)} for change in found.topics]
    topics = answer["topics"] | {"changed": changed}
    return answer | {"basis": answers.basis(found.basis), "topics": topics, "rankings": msgspec.to_builtins(found.rankings)}


def _decayed(found: Replayed) -> list[tuple[str, str, str]]:
    return [("~", "topic", f"{show.short(change.after.title, 60)}: {_decay(change)}") for change in found.topics]


def _decay(change: TopicChange) -> str:
    """What of a topic differs, in words."""
    sides = (
        ("priority", change.before.priority, change.after.priority),
        ("half-life in days", change.before.half_life_days, change.after.half_life_days),
        ("turns", change.before.messages, change.after.messages),
        ("accesses", change.before.accesses, change.after.accesses),
    )
    return ", ".join(f"{name} {before:.4g} → {after:.4g}" for name, before, after in sides if before != after)


def ranked(found: Ranking) -> None:
    """One query's turns on both sides; those that moved are marked."""
    show.line(f"\n[bold]{show.printable(found.query)}[/bold]")
    cells = [
        (_moved(one.before, one.after), *_place(one.before), *_place(one.after), f"@{one.turn}", show.short(one.content))
        for one in found.turns
    ]
    show.table(("", "before", "score", "after", "score", "turn", "what"), cells, "no turn is recalled under either policy")
    for leg in found.missing:
        show.line(f"[dim]without the {leg} leg of recall: no vectors of this embedder[/dim]")


def _moved(before: Place | None, after: Place | None) -> str:
    if before is None or after is None:
        return "+" if before is None else "-"
    return "" if before.rank == after.rank else "↑" if after.rank < before.rank else "↓"


def _place(place: Place | None) -> tuple[str, str]:
    return ("", "") if place is None else (str(place.rank), f"{place.score:.3f}")


@click.command()
@click.argument("query")
@as_of
@common
def sql(chosen: Chosen, query: str, as_of: str | None) -> None:
    """One SELECT over the relation `events` of the space (payload is JSON: payload->>'content')."""
    with chosen.memory() as memory:
        when = memory.when(as_of)
        rows = [row for stream in memory.streams() for row in when.cut(memory.log.read(stream, vectors=False).rows)]
        found = select(query, rows)
    if chosen.json:
        show.as_json([dict(zip(found.columns, map(_plain, row), strict=True)) for row in found.rows])
    else:
        show.table(found.columns, found.rows, "no rows")


def _plain(value: Any) -> Any:
    """A value that JSON has; times as they are everywhere, decimals and the rest as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z" if value.tzinfo else value.isoformat()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)
