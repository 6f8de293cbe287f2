"""Commands that write."""

import sys

import click

from events.errors import InvalidInput, MemoryActorsError
from events.ids import StreamId
from memory_actors.actors.writer import acks
from memory_actors.cli import answers, show
from memory_actors.cli.options import Chosen, common
from memory_actors.ingest import enrich as enrich_stream
from memory_actors.ingest import ingest as ingest_lines
from memory_actors.inputs import TurnLine, read_inputs
from memory_actors.memory import Memory
from memory_actors.times import parse_instant
from memory_actors.user import identity_of, turn_command


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--as-recorded", is_flag=True, help="as if the memory had been there when it was said")
@click.option("--no-wait", is_flag=True, help="end when all is durable, before it is enriched")
@click.option("--skip-bad", is_flag=True, help="leave out lines that cannot be read, and list them")
@common
def ingest(chosen: Chosen, paths: tuple[str, ...], as_recorded: bool, no_wait: bool, skip_bad: bool) -> None:
    """Record conversations: JSON Lines, one turn a line ('-' for standard input), or LoCoMo files.

    The whole input is checked before anything is written. The same turn again is found, not written twice.
    """
    with chosen.memory(write=True) as memory:
        inputs = read_inputs(list(paths), skip_bad=skip_bad, space=memory.space)
        for note in () if chosen.json else (*inputs.notes, *inputs.problems):
            sys.stderr.write(f"{note}\n")
        totals = {"recorded": len(inputs.lines)} | ({} if no_wait else {"enriched": len(inputs.lines)})
        with show.progress(totals) as bars:

            def progress(phase: str, count: int) -> None:
                for name in totals if phase == "already there" else (phase,):
                    bars(name, count)

            done = ingest_lines(memory, inputs.lines, as_recorded=as_recorded, wait=not no_wait, progress=progress)
    if chosen.json:
        show.as_json(answers.ingested(done) | ({"skipped": inputs.problems} if skip_bad else {}))
    else:
        users = "user" if done.streams == 1 else "users"
        show.line(
            f"recorded {done.recorded} turns of {done.streams} {users} in {done.seconds:.1f} s; {done.already_there} were there already"
        )


@click.command()
@click.argument("user")
@click.argument("text")
@click.option("--role", default="user", show_default=True, type=click.Choice(["user", "assistant", "system", "tool"]))
@click.option("--conversation", default="main", show_default=True)
@click.option("--id", "turn_id", help="your own id: the same one again is not written twice")
@click.option("--speaker", help="who spoke, if it was not the user")
@click.option("--occurred-at", metavar="T", help="when it was said (ISO)")
@click.option("--no-wait", is_flag=True, help="end when it is durable, before it is enriched")
@common
def record(
    chosen: Chosen,
    user: str,
    text: str,
    role: str,
    conversation: str,
    turn_id: str | None,
    speaker: str | None,
    occurred_at: str | None,
    no_wait: bool,
) -> None:
    """Record one turn of USER."""
    with chosen.memory(write=True) as memory:
        stream = memory.user(user).stream
        line = TurnLine(
            user=user,
            space=stream.space,
            role=role,  # type: ignore[arg-type]  # click refuses any other
            content=text,
            conversation=conversation,
            speaker=speaker,
            occurred_at=None if occurred_at is None else _instant(occurred_at),
            turn_id=turn_id,
            origin="record",
            line=1,
        )
        [ack] = acks(memory.writer.execute(stream, [turn_command(line, identity_of(line, memory.store.secret))]))
        if not no_wait:
            _enriched(memory, stream)
    if chosen.json:
        show.as_json(answers.ack(ack))
    else:
        show.line(f"{'was there already' if ack.duplicate else 'recorded'} as event {ack.seq} at {answers.time(ack.recorded_at)}")


def _enriched(memory: Memory, stream: StreamId) -> None:
    """Wait for background work. The turn is durable: what keeps it from being enriched is said, and is no failure of this command."""
    try:
        memory.background.drain(stream)
    except MemoryActorsError as error:
        sys.stderr.write(f"recorded, but not enriched: {error}\n")


def _instant(text: str) -> int:
    try:
        return parse_instant(text, naive="utc")
    except ValueError as error:
        raise InvalidInput(f"--occurred-at: {error}") from error


@click.command()
@click.argument("user")
@click.option("--conversation", default="main", show_default=True)
@click.option("--note", help="how it ended")
@common
def end(chosen: Chosen, user: str, conversation: str, note: str | None) -> None:
    """End a conversation of USER: what is open becomes an episode."""
    with chosen.memory(write=True) as memory:
        memory.known(memory.user(user).stream)
        ack = memory.user(user).end(conversation, note)
    show.as_json(answers.ack(ack)) if chosen.json else show.line(f"ended {show.printable(repr(conversation))} at event {ack.seq}")


@click.command()
@click.argument("user")
@click.argument("text")
@common
def forget(chosen: Chosen, user: str, text: str) -> None:
    """Withdraw what TEXT means: the facts, and the turns that would bring them back. The past stays explainable."""
    with chosen.memory(write=True) as memory:
        found = memory.user(user).forget(text)
    if chosen.json:
        show.as_json(answers.forgotten(found))
        return
    if not found.found:
        show.line(show.printable(f"nothing of {user} matches {text!r}; nothing was changed. `facts {user}` lists what is known"))
        return
    show.line(f"withdrew {len(found.facts)} facts and {len(found.turns)} turns")
    show.table(("what", "id", "text"), [("fact", row.id, f"{row.key}: {row.value}") for row in found.facts], "")
    show.table(("what", "id", "text"), [("turn", f"@{row.seq}", show.short(row.content)) for row in found.turns], "")


@click.command()
@click.argument("user")
@click.argument("fact")
@click.argument("value")
@common
def correct(chosen: Chosen, user: str, fact: str, value: str) -> None:
    """Put FACT (an id, as `facts` shows it) right: the old value was never so, VALUE is."""
    with chosen.memory(write=True) as memory:
        ack = memory.user(user).correct(fact, value)
    show.as_json(answers.ack(ack)) if chosen.json else show.line(f"{show.printable(fact)} is corrected by event {ack.seq}")


@click.command()
@click.argument("users", nargs=-1)
@click.option("--all", "everybody", is_flag=True, help="all users of the space, also those who never came back")
@common
def enrich(chosen: Chosen, users: tuple[str, ...], everybody: bool) -> None:
    """Do the background work that is due: vectors, topics, facts, summaries."""
    if bool(users) == everybody:
        raise click.UsageError("name users, or say --all")
    with chosen.memory(write=True) as memory:
        streams = [memory.known(memory.user(user).stream) for user in (users or memory.users())]
        with show.progress({"enriched": _pending(memory, streams)}) as bars:
            for stream in streams:
                enrich_stream(memory, stream, bars)
    show.as_json({"streams": len(streams)}) if chosen.json else show.line(f"nothing is due for {len(streams)} users")


def _pending(memory: Memory, streams: list[StreamId]) -> int:
    return sum(memory.user(stream.user, space=stream.space).as_of("now").pending() for stream in streams)
