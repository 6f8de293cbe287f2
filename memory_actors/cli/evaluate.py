"""Would it be remembered?"""

from collections.abc import Callable
from pathlib import Path

import click

from events.policy import Policy
from memory_actors.cli import show
from memory_actors.cli.options import Chosen, common
from memory_actors.evaluation.evaluate import Answer, Task, finished, tasks
from memory_actors.evaluation.evaluate import evaluate as evaluated
from memory_actors.policy_text import read_policy
from memory_actors.settings import Settings


@click.group()
@common
def evaluate(_chosen: Chosen) -> None:
    """Measure recall on conversations with questions and evidence."""


@evaluate.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--k", "ks", default="5,10,20", show_default=True, help="recall at these depths")
@click.option("--policy", "file", type=click.Path(path_type=Path), help="under this policy (TOML)")
@click.option("--leave-one-out", is_flag=True, help="instead: each conversation under weights fitted on the others")
@click.option("--resume", metavar="FILE", type=click.Path(path_type=Path), help="keep finished conversations in FILE, and go on from it")
@common
def locomo(chosen: Chosen, paths: tuple[Path, ...], ks: str, file: Path | None, leave_one_out: bool, resume: Path | None) -> None:
    """LoCoMo files: turn-level evidence recall and nDCG, beside BM25, dense search and rank fusion on the same text.

    With --ray it is one task a conversation, as many at once as there are cores. The shipped weights were fitted on five of
    LoCoMo's conversations; for these, --leave-one-out is the honest number.
    """
    settings, depths = chosen.settings(), _depths(ks)
    todo = tasks(paths, max(*depths, 10), settings.embedder, Policy() if file is None else read_policy(file))
    if leave_one_out and resume:
        raise click.UsageError("--leave-one-out keeps nothing to --resume from")
    with finished(resume) as kept, show.progress({"asked": len(todo)}, unit="conversations") as told:
        if leave_one_out:
            answer = _left_out(todo, settings, lambda count: told("asked", count))
        else:
            answer = evaluated(todo, depths, settings, lambda count: told("asked", count), kept)
    if leave_one_out:
        _show_left_out(answer, as_json=chosen.json)
        return
    if chosen.json:
        show.as_json(answer)
        return
    _show(answer, "categories 1 to 4, labels as published")
    if "audited" in answer:
        _show(answer["audited"], "the same with audited labels")
    show.line(f"[dim]ms: {', '.join(f'{name} {value}' for name, value in answer['latency_ms'].items())}[/dim]")


def _depths(ks: str) -> list[int]:
    try:
        depths = sorted({int(k) for k in ks.split(",")})
    except ValueError:
        depths = []
    if not depths or depths[0] < 1 or depths[-1] > 1000:
        raise click.UsageError(f"--k is a list of numbers from 1 to 1000, such as 5,10,20; not {ks!r}")
    return depths


def _show(block: Answer, title: str) -> None:
    systems = block["systems"]
    columns = list(next(iter(systems.values()))["1-4"])
    show.line(f"[bold]{title}[/bold], {block['questions']} questions in all")
    show.table(
        ("system", *columns), [(name, *(f"{found['1-4'][column]:.3f}" for column in columns)) for name, found in systems.items()], ""
    )


def _left_out(todo: list[Task], settings: Settings, progress: Callable[[int], None]) -> Answer:
    from memory_actors.evaluation.fit import report  # noqa: PLC0415 - SciPy, which nothing else here needs

    if len(todo) < 2:
        raise click.UsageError("--leave-one-out needs two conversations or more")
    return report(todo, settings, progress)


def _show_left_out(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        show.as_json(answer)
        return
    columns = list(answer["1-4"])
    rows = {**answer["left_out"], **{f"category {name}": row for name, row in answer["by_category"].items()}, "all": answer["1-4"]}
    show.table(("left out", *columns), [(name, *(f"{row[column]:.3f}" for column in columns)) for name, row in rows.items() if row], "")
