"""Commands that compare and explain."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from events.errors import InvalidInput
from events.policy import Policy, parse_policy
from memory_actors.cli import answers, show
from memory_actors.cli.options import Chosen, as_of, common, valid_at
from memory_actors.cli.read import reads
from memory_actors.reads.difference import Difference
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


def differences(found: Difference) -> None:
    """A difference as lines with +, - and ~."""
    rows = [("+", row.id, f"{row.key}: {row.value}") for row in found.facts.gained]
    rows += [("-", row.id, f"{row.key}: {row.value}") for row in found.facts.lost]
    rows += [("~", change.after.id, f"{change.after.key}: {change.before.value} → {change.after.value}") for change in found.facts.changed]
    rows += [(sign, "episode", row["title"] or row["id"]) for sign, row in _listed(found.episodes)]
    rows += [(sign, "topic", row["title"]) for sign, row in _listed(found.topics)]
    show.table(("", "what", "text"), rows, "no difference")


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
@click.argument("user")
@click.option(
    "--policy", "file", required=True, type=click.Path(path_type=Path), help="a TOML file: tables session, facts, episodes, topics, ..."
)
@common
def replay(chosen: Chosen, user: str, file: Path) -> None:
    """What would be remembered of USER under another policy. The store is not touched, no model is called."""
    policy = read_policy(file)
    with chosen.memory() as memory:
        found = reads(memory, user, None).replay(policy)
    show.as_json(answers.difference(found)) if chosen.json else differences(found)


def read_policy(file: Path) -> Policy:
    """The policy in a TOML file. Raises InvalidInput."""
    try:
        return parse_policy(tomllib.loads(file.read_text()))
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is no TOML: {error}") from error


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
