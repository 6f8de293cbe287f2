"""What is remembered in a space: shown, set, and compared. The policy is an event of the space's own stream."""

from pathlib import Path
from typing import Any

import click

from events import ambient
from events.errors import InvalidInput
from events.ids import space_stream
from events.policy import Policy
from memory_actors.cli import answers, show
from memory_actors.cli.options import Chosen, common
from memory_actors.memory import Memory
from memory_actors.policies import InForce, Policies
from memory_actors.policy_text import Changed, changes, read_policy, said, toml


@click.group()
@common
def policy(_chosen: Chosen) -> None:
    """What is remembered in a space: show, set, diff."""


@policy.command(name="show")
@click.option("--as-of", metavar="T", help="the policy that held then; @2: event 2 of the space's own stream")
@common
def show_policy(chosen: Chosen, as_of: str | None) -> None:
    """The policy that holds, as TOML that `policy set` takes: its hash, since when, and the default beside what deviates."""
    with chosen.memory() as memory:
        space, found = memory.space, at(memory, as_of)
    deviating = changes(Policy(), found.policy)
    if chosen.json:
        show.as_json(answer(space, found) | {"changed": rows_of(deviating)})
        return
    for line in (*heading(space, found, len(deviating)), "", toml(found.policy)):
        click.echo(line)


def heading(space: str, found: InForce, deviating: int) -> list[str]:
    """What stands above a policy, as comments."""
    since = (
        f"by event {found.seq} of {space_stream(space)}, since {answers.time(found.since)}" if found.seq else "none was set: the defaults"
    )
    differ = "no value differs" if not deviating else "1 value differs" if deviating == 1 else f"{deviating} values differ"
    lines = [f"# policy {found.policy.hash}: {since}", f"# {differ} from the defaults"]
    if found.recorded not in (None, found.policy.hash):
        lines.append(f"# recorded as {found.recorded}, by a version with other tunables")
    return lines


@policy.command(name="set")
@click.argument("file", type=click.Path(path_type=Path))
@common
def set_policy(chosen: Chosen, file: Path) -> None:
    """From now on the policy in FILE holds in the space: a TOML file that names what deviates from the defaults.

    What was decided before stays as it is; `replay` shows what it would have been. An equal policy is not set again.
    """
    wanted = read_policy(file)
    with writing(chosen) as memory:
        policies = Policies(memory.log)
        before = policies.live(memory.space)
        ack = policies.set(memory.writer, memory.space, wanted, id=ambient.new_id())
        space, found = memory.space, policies.live(memory.space)
    changed = changes(before.policy, wanted)
    if chosen.json:
        show.as_json(answer(space, found) | {"set": ack.seq > 0, "from": before.policy.hash, "changed": rows_of(changed)})
        return
    table(changed, "from", "to", "" if ack.seq else "no value differs")
    done = f"set by event {ack.seq} of {space_stream(space)}" if ack.seq else f"held already, by event {found.seq} of {space_stream(space)}"
    show.line(show.printable(f"policy {wanted.hash}: {done}"))


def writing(chosen: Chosen) -> Memory:
    """A memory that makes its store if there is none. No model and no Ray is needed to set a policy."""
    settings = chosen.settings()
    return Memory(settings.store, ray="off", settings=settings, embedder="none", naive="utc")


@policy.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", default="live")
@common
def diff(chosen: Chosen, before: str, after: str) -> None:
    """The values in which two policies differ. Each is a TOML file, `live`, `default`, or a time (2026-03-01, @2).  [B: live]"""
    with chosen.memory() as memory:
        one, other = named(memory, before), named(memory, after)
    changed = changes(one, other)
    if chosen.json:
        sides = {"from": {"name": before, "hash": one.hash}, "to": {"name": after, "hash": other.hash}}
        show.as_json(sides | {"changed": rows_of(changed)})
        return
    table(changed, before, after, f"no difference: both are policy {one.hash}")


def named(memory: Memory, name: str) -> Policy:
    """The policy that `live`, `default`, a file or a time means."""
    if name == "default":
        return Policy()
    if name == "live":
        return at(memory, None).policy
    if name.endswith(".toml") or Path(name).is_file():
        return read_policy(Path(name))
    try:
        return at(memory, name).policy
    except InvalidInput as error:
        raise InvalidInput(f"{name!r} is no policy: name a TOML file, live, default, or a time. {error}") from error


def at(memory: Memory, time: str | None) -> InForce:
    """The policy of the memory's space that held then; None: the one that holds."""
    moment, policies = memory.when(time).moment, Policies(memory.log)
    return policies.live(memory.space) if moment is None else policies.as_of(memory.space, moment)


def answer(space: str, found: InForce) -> dict[str, Any]:
    """A policy as JSON."""
    return {"space": space, "hash": found.policy.hash, "seq": found.seq, "since": answers.time(found.since), "policy": found.policy}


def rows_of(changed: list[Changed]) -> list[dict[str, Any]]:
    """What differs as JSON."""
    return [{"key": one.key, "from": one.before, "to": one.after} for one in changed]


def table(changed: list[Changed], before: str, after: str, empty: str) -> None:
    """What differs, for people."""
    show.table(("key", before, after), [(one.key, said(one.before), said(one.after)) for one in changed], empty)
