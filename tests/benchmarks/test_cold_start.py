"""`memory-actors facts USER` from the shell, in a process that has imported nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from measure import interleaved, report, seconds

from memory_actors.demo import CONVERSATION, USER

HEAVY = ("torch", "ray", "duckdb", "sentence_transformers", "transformers", "sklearn", "scipy", "matplotlib")
ROUNDS, TOP, AIM = 11, 10, 1.0
IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")

pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments of `facts` over the bundled conversation, ingested without an embedder."""
    store = str(tmp_path_factory.mktemp("cold") / "store")
    start(["-m", "memory_actors", "--store", store, "--embedder", "none", "ingest", str(CONVERSATION)])
    return ["--store", store, "facts", USER]


def start(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_ACTORS_", "PYTEST"))}
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True, env=environment)


def test_cold_facts(facts: list[str]) -> None:
    """Against Python's own start, and the aim of one second."""
    command = [str(Path(sys.executable).with_name("memory-actors")), *facts]
    steps = {
        "python -c pass": lambda _: start(["-c", "pass"]),
        "python -c 'import numpy, pyarrow.parquet'": lambda _: start(["-c", "import numpy, pyarrow.parquet"]),
        "memory-actors facts": lambda _: subprocess.run(command, check=True, capture_output=True),
    }
    taken = interleaved(ROUNDS, steps, warm=1)
    bare = taken["python -c pass"]
    rows = [(name, seconds(value), f"{value / bare:.1f}") for name, value in taken.items()]
    note = f"aim: at most {AIM:.0f} s; here {taken['memory-actors facts']:.2f} s"
    report(f"the bundled conversation, {ROUNDS} rounds", __file__, ("cold process", "median", "x python"), rows, note)


def test_what_it_imports(facts: list[str]) -> None:
    """Nothing heavy; and what takes longest of the rest. The numbers are Python's own, and slower for being taken."""
    run = f"import sys; from memory_actors.cli import run; run({facts!r}); print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = start(["-X", "importtime", "-c", run])
    lines = done.stderr.splitlines()
    imports = [(int(found[1]), int(found[2]), found[4]) for line in lines if (found := IMPORT.match(line))]
    modules = {line.partition(".")[0] for line in lines if not line.startswith("import time:")}
    rows = [(name, seconds(own / 1e6), seconds(whole / 1e6)) for own, whole, name in sorted(imports, reverse=True)[:TOP]]
    total = sum(own for own, _, _ in imports)
    report(
        f"{len(imports)} modules",
        __file__,
        ("slowest imports", "itself", "with its own"),
        rows,
        f"all imports together: {seconds(total / 1e6)}",
    )

    assert [] == [name for name in HEAVY if name in modules]
