"""Would it be remembered?"""

import sys
from pathlib import Path

import click

from events.policy import Policy
from memory_actors.cli import show
from memory_actors.cli.explain import read_policy
from memory_actors.cli.options import Chosen, common
from memory_actors.evaluation.evaluate import Answer, tasks
from memory_actors.evaluation.evaluate import evaluate as evaluated


@click.group()
@common
def evaluate(_chosen: Chosen) -> None:
    """Measure recall on conversations with questions and evidence."""


@evaluate.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--k", "ks", default="5,10,20", show_default=True, help="recall at these depths")
@click.option("--policy", "file", type=click.Path(path_type=Path), help="under this policy (TOML)")
@common
def locomo(chosen: Chosen, paths: tuple[Path, ...], ks: str, file: Path | None) -> None:
    """LoCoMo files: turn-level evidence recall and nDCG, beside BM25, dense search and rank fusion on the same text."""
    settings, depths = chosen.settings(), _depths(ks)
    todo = tasks(paths, max(*depths, 10), settings.embedder, Policy() if file is None else read_policy(file))
    with show.progress({"conversations": len(todo)}, quiet=not sys.stderr.isatty()) as bars:
        answer = evaluated(todo, depths, settings.ray, lambda count: bars("conversations", count))
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
    show.table(("system", *columns), [(name, *(f"{found['1-4'][column]:.3f}" for column in columns)) for name, found in systems.items()], "")
