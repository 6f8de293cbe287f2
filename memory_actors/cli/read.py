"""Commands that read. They write nothing, not even what they served."""

from typing import Any

import click

from memory_actors.cli import answers, show
from memory_actors.cli.options import Chosen, as_of, common, valid_at
from memory_actors.memory import Memory
from memory_actors.user import Reads


def reads(memory: Memory, user: str, moment: str | None) -> Reads:
    """A handle that only reads."""
    return memory.user(user).as_of("now" if moment is None else moment)


def none(handle: Reads, what: str) -> str:
    """The sentence for an empty answer, which says when the stream begins where that is later."""
    return what if handle.begins is None else f"{what}: the stream begins at {answers.time(handle.begins)}"


@click.command()
@click.argument("user")
@click.argument("query")
@click.option("-k", "--k", type=int, help="how many turns  [10]")
@click.option("--conversation", help="only from this conversation")
@click.option("--role", help="only turns of this role")
@click.option("--speaker", help="only turns of this speaker")
@as_of
@valid_at
@common
def recall(chosen: Chosen, user: str, query: str, k: int | None, as_of: str | None, valid_at: str | None, **filters: Any) -> None:
    """The turns of USER that QUERY is about, best first, with facts and episodes."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        found = handle.recall(query, k=k, valid_at=valid_at, **filters)
    if chosen.json:
        show.as_json(answers.recall(found))
        return
    rows = [
        (f"{hit.score:.2f}", f"@{hit.seq}", f"{hit.occurred_at:%Y-%m-%d}", hit.speaker or hit.role, show.short(hit.content))
        for hit in found.hits
    ]
    show.table(("score", "turn", "when", "who", "what"), rows, none(handle, "nothing is remembered yet"))
    for hit in found.facts:
        show.line(f"[dim]{hit.fact.id}[/dim] {show.printable(f'{hit.fact.key}: {hit.fact.value}')}")
    if found.pending:
        show.line(f"[dim]{found.pending} turns are not enriched yet: `memory-actors enrich {show.printable(user)}`[/dim]")
    for leg in found.missing:
        show.line(f"[dim]without the {leg} leg of recall: no vectors of this embedder[/dim]")
    show.basis(found.basis)


@click.command()
@click.argument("user")
@click.argument("query", required=False)
@click.option("--budget", type=int, help="tokens  [2000]")
@click.option("--conversation", help="whose session to show  [the latest]")
@as_of
@valid_at
@common
def context(
    chosen: Chosen, user: str, query: str | None, budget: int | None, conversation: str | None, as_of: str | None, valid_at: str | None
) -> None:
    """The prompt block for USER's next answer, within a token budget."""
    with chosen.memory() as memory:
        found = reads(memory, user, as_of).context(query, budget=budget, valid_at=valid_at, conversation=conversation)
    if chosen.json:
        show.as_json(answers.context(found))
        return
    show.line(show.printable(found.text))
    show.console(error=True).print(f"[dim]{found.tokens} of {found.budget} tokens ({found.tokenizer})[/dim]")
    for warning in found.warnings:
        show.console(error=True).print(f"[dim]{show.printable(warning)}[/dim]")


@click.command()
@click.argument("user")
@click.option("--all", "everything", is_flag=True, help="whatever their status")
@as_of
@valid_at
@common
def facts(chosen: Chosen, user: str, everything: bool, as_of: str | None, valid_at: str | None) -> None:
    """What is believed of USER, most important first."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        rows = handle.facts(valid_at=valid_at, all=everything)
    if chosen.json:
        show.as_json([answers.fact(row) for row in rows])
        return
    titles = ("id", "whose", "key", "value", "since", "until", "confidence", *(("status",) if everything else ()))
    cells = [
        (row.id, row.subject, row.key, row.value, show.date(row.valid_from), show.date(row.valid_to), f"{row.confidence:.2f}", row.status)
        for row in rows
    ]
    show.table(titles, [row[: len(titles)] for row in cells], none(handle, f"no facts of {user}"))


@click.command()
@click.argument("user")
@as_of
@common
def episodes(chosen: Chosen, user: str, as_of: str | None) -> None:
    """Closed spans of USER's conversations, summarised."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        rows = handle.episodes()
    if chosen.json:
        show.as_json([answers.episode(row) for row in rows])
        return
    cells = [(row.id, row.conversation, f"{row.turn_start}-{row.turn_end}", row.title or "(not summarised yet)") for row in rows]
    show.table(
        ("id", "conversation", "turns", "title"),
        cells,
        none(handle, f"no episode of {user} has closed yet (one does when turn 21 arrives, or at `end`)"),
    )


@click.command()
@click.argument("user")
@click.option("--all", "everything", is_flag=True, help="forgotten ones too")
@as_of
@common
def topics(chosen: Chosen, user: str, everything: bool, as_of: str | None) -> None:
    """What USER talks about, strongest first, decaying."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        rows = handle.topics(all=everything)
    if chosen.json:
        show.as_json([answers.topic(row) for row in rows])
        return
    cells = [(row.id, f"{row.priority:.3g}", f"{row.half_life_days:g} d", row.accesses, row.messages, row.title) for row in rows]
    show.table(("id", "priority", "half-life", "accesses", "messages", "title"), cells, none(handle, f"no topics of {user}"))


@click.command()
@click.argument("user")
@click.option("--conversation", help="which  [the latest]")
@as_of
@common
def session(chosen: Chosen, user: str, conversation: str | None, as_of: str | None) -> None:
    """The turns of USER's conversation that have not left the session."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        name, rows = handle.session(conversation)
    if chosen.json:
        show.as_json(answers.session(name, rows))
        return
    cells = [(f"@{row.seq}", row.turn, show.date(row.occurred_at), row.speaker or row.role, show.short(row.content)) for row in rows]
    show.table(("seq", "turn", "when", "who", "what"), cells, none(handle, f"no open turns of {user}"))


@click.command()
@click.argument("user")
@click.option("--after", type=int, default=0, show_default=True, help="events beyond this seq")
@as_of
@common
def events(chosen: Chosen, user: str, after: int, as_of: str | None) -> None:
    """Everything that is recorded of USER, in order; with --json one object a line."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        found = list(handle.events(after=after))
    if chosen.json:
        show.as_lines(answers.event(event) for event in found)
        return
    cells = [
        (event.seq, answers.time(event.recorded_at), event.type, show.short(str(answers.event(event)["payload"]), 90)) for event in found
    ]
    show.table(("seq", "recorded at", "type", "payload"), cells, none(handle, f"no events of {user}"))


@click.command()
@common
def users(chosen: Chosen) -> None:
    """The users of the space."""
    with chosen.memory() as memory:
        names = memory.users()
    show.as_json([{"space": memory.space, "user": name} for name in names]) if chosen.json else show.table(
        ("user",), [(name,) for name in names], f"no users in space {memory.space!r} yet"
    )


@click.command()
@click.argument("user")
@as_of
@common
def conversations(chosen: Chosen, user: str, as_of: str | None) -> None:
    """USER's conversations."""
    with chosen.memory() as memory:
        handle = reads(memory, user, as_of)
        rows = handle.conversations()
    if chosen.json:
        show.as_json([answers.conversation(row) for row in rows])
        return
    cells = [
        (row.conversation, row.turns, row.open, show.date(row.first), show.date(row.last), "ended" if row.ended else "") for row in rows
    ]
    show.table(("conversation", "turns", "open", "first", "last", ""), cells, none(handle, f"no conversations of {user}"))
