"""Ratios in one run: steps taken in turn, many short rounds, medians. Printed, never asserted: machines differ and are shared."""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

Step = Callable[[int], object]


def interleaved(rounds: int, steps: dict[str, Step], warm: int = 5) -> dict[str, float]:
    """Median seconds of each step. Every round takes each once, so that what disturbs the machine disturbs them alike."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(warm + rounds):
        for name, step in steps.items():
            start = perf_counter()
            step(number)
            taken[name].append(perf_counter() - start)
    return {name: median(times[warm:]) for name, times in taken.items()}


def machine() -> str:
    """CPU model, cores and their load, Python."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    )
    model = names[0] if names else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def seconds(value: float) -> str:
    """With a unit that suits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value * 1e6:.0f} us"


def report(data: str, file: str, titles: Sequence[str], rows: Sequence[Sequence[object]], *notes: str) -> None:
    """The table, with what is needed to get it again."""
    cells = [[str(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles))]
    lines = [
        "  ".join(cell.ljust(width) if not at else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    command = f"python -m pytest -m benchmark -s tests/benchmarks/{Path(file).name}"
    head = ["", f"machine  {machine()}", f"data     {data}", f"command  {command}", "", lines[0], "-" * len(lines[0])]
    sys.stdout.write("\n".join([*head, *lines[1:], *notes, ""]) + "\n")
