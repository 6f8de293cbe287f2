"""The main job on a bundled conversation, shown step by step."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import msgspec

from events.log.verify import verify
from memory_actors import demo as bundled
from memory_actors.cli import answers, show
from memory_actors.cli.explain import differences, said
from memory_actors.cli.options import Chosen, common
from memory_actors.ingest import ingest
from memory_actors.inputs import read_inputs
from memory_actors.memory import Memory
from memory_actors.user import Reads

BUDGET = 420
NEXT = (
    "{command} recall {user} 'where does she work?' --as-of 2026-05-31 --store {store}",
    "{command} diff {user} 2026-02-28 now --store {store}",
    "{command} facts {user} --all --store {store}",
)


@click.command(name="demo")
@common
def demo(chosen: Chosen) -> int:
    """Ingest a bundled conversation through Ray actors; ask the same question now and as of an earlier date; explain."""
    store = Path(chosen.store or tempfile.mkdtemp(prefix="memory-actors-demo-"))
    settings = msgspec.structs.replace(chosen.settings(), store=str(store), ray=chosen.ray or "local")
    _step(1, f"eight months of {bundled.USER}'s conversations, through {_placement(settings.ray)}, into {store}")
    with Memory(store, settings=settings, naive="utc") as memory:
        _ingest(memory)
        maya = memory.user(bundled.USER).as_of("now")
        _questions(maya, memory.user(bundled.USER))
        _changes(maya)
        _reasons(maya)
        _withdrawal(memory)
        sound = verify(memory.log)
    _step(7, "the chain: every event's digest covers the one before it")
    show.line(f"  {'sound' if sound.ok else 'DAMAGED'}: {sound.events} events in {sound.streams} stream")
    show.line("\n[bold]Try next:[/bold]")
    for command in NEXT:
        show.line("  " + show.printable(command.format(command=_typed(), user=bundled.USER, store=store)))
    return 0 if sound.ok else 1


def _placement(ray: str) -> str:
    return "the actor in this process" if ray == "off" else "an actor on Ray"


def _typed() -> str:
    """What to type to get this program: its name, or where it is if it is not on the path."""
    return "memory-actors" if shutil.which("memory-actors") else os.path.relpath(sys.argv[0])


def _step(number: int, title: str) -> None:
    show.line(f"\n[bold cyan]{number}. {show.printable(title)}[/bold cyan]")


def _ingest(memory: Memory) -> None:
    lines = read_inputs([bundled.CONVERSATION], space=memory.space).lines
    with show.progress({"recorded": len(lines), "enriched": len(lines)}) as bars:
        done = ingest(memory, lines, as_recorded=True, progress=bars)
    show.line(f"  {done.recorded} turns recorded and enriched in {done.seconds:.1f} s; {done.already_there} were there already")


def _questions(now: Reads, user: Any) -> None:
    today, earlier = bundled.QUESTIONS[:2]
    _step(2, f"what a model is told, asked now: {today.query}")
    show.line(show.printable(str(now.context(today.query, budget=BUDGET))))
    _step(3, f"the same question as of {earlier.as_of}")
    show.line(show.printable(str(user.as_of(earlier.as_of).context(earlier.query, budget=BUDGET))))


def _changes(maya: Reads) -> None:
    start, stop = bundled.CHANGES
    _step(4, f"what is remembered differently on {stop} than on {start}")
    differences(maya.diff(start, stop))


def _reasons(maya: Reads) -> None:
    home = next(fact for fact in maya.facts() if fact.key == "home_city")
    _step(5, f"why {home.value} is believed to be her home ({home.id})")
    cells = [(event.seq, answers.time(event.recorded_at), event.type, said(answers.event(event)["payload"])) for event in maya.why(home.id)]
    show.table(("seq", "recorded at", "event", "what"), cells, "")


def _withdrawal(memory: Memory) -> None:
    _step(6, f"forget {bundled.WITHDRAWN!r}: withdrawn from now on, explainable as of before")
    user = memory.user(bundled.USER)
    found = user.forget(bundled.WITHDRAWN)
    show.table(
        ("withdrawn", "text"), [(f"@{turn.seq}", show.short(turn.content)) for turn in found.turns], "  nothing (it was withdrawn before)"
    )
    hits = user.as_of("now").recall(bundled.WITHDRAWN, k=20)
    left = [hit for hit in hits if hit.seq in found.turn_seqs]
    show.line(f"  a recall of {bundled.WITHDRAWN!r} now brings back {len(left)} of these")
