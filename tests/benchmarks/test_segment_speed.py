"""What graphs find of the exact answer on vectors of real text, and what they cost beside exact products.

The texts are the bundled conversation's and the sentences of the standard library's docstrings; or, where the environment
variable `SEGMENT_TEXTS` names a file, its lines.
"""

import ast
import inspect
import os
import random
import re
import sysconfig
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np
import pytest
from measure import interleaved, report, seconds

from events.errors import ModelMissing
from memory_actors import demo
from memory_actors.models.embedder import DEFAULT_MODEL, embedder_named
from projections.index.dense import DenseRows, quantised
from projections.index.ranking import TurnIndex
from projections.index.segments import CUT, Segmentation

TEXTS, QUERIES, SEGMENT, SEED, WORDS = 5000, 200, 2048, 7, 40
SIZES, DIMENSIONS, SITTING, ROUNDS = (25_000, 50_000, 100_000), 384, 40, 30
NEVER = Segmentation(crossover=10**9)
GRAPHS = Segmentation(rows=SEGMENT, crossover=0)

pytestmark = pytest.mark.benchmark


def texts() -> list[str]:
    """Different sentences, in an order that the seed makes."""
    named = os.environ.get("SEGMENT_TEXTS")
    found = Path(named).read_text().splitlines() if named else _bundled() + _docstrings()
    different = sorted({" ".join(text.split()[:WORDS]) for text in found if len(text.split()) >= 5})
    random.Random(SEED).shuffle(different)
    return different[: TEXTS + QUERIES]


def _bundled() -> list[str]:
    lines = (Path(inspect.getfile(demo)).parent / "conversation.jsonl").read_bytes().splitlines()
    return [sentence for line in lines for sentence in _sentences(msgspec.json.decode(line)["content"])]


def _docstrings() -> list[str]:
    found: list[str] = []
    for file in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                found += _sentences(ast.get_docstring(node) or "")
    return found


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+|\n\n", text)


def embedded(lines: list[str]) -> np.ndarray:
    """int16 [n, d] by the default model; skips where it cannot be loaded."""
    embedder = embedder_named(DEFAULT_MODEL)
    assert embedder is not None
    try:
        return embedder.embed(lines)
    except ModelMissing as error:
        pytest.skip(str(error))


def index_of(lines: list[str], vectors: np.ndarray, segmentation: Segmentation) -> TurnIndex:
    """A turn a line, in conversations of fifty."""
    index = TurnIndex(segmentation)
    for place, (line, row) in enumerate(zip(lines, vectors, strict=True)):
        seq, at = 2 * place + 1, 10**15 + place * 60_000_000
        index.add(seq, conversation=f"c{place // 50}", turn=place % 50 + 1, role="user", speaker=None, content=line, occurred_at=at)
        index.embed(seq + 1, seq, row[None], ("turn",))
    return index


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_recall_against_exact_on_real_vectors() -> None:
    """Of the ten nearest at least 98 % are found, and of the ten best turns at least as many."""
    lines = texts()
    vectors, count = embedded(lines), len(lines) - QUERIES
    graphs, exact = (index_of(lines[:count], vectors[:count], cut) for cut in (GRAPHS, NEVER))
    nobody, seq = np.zeros(count, np.bool_), 2 * count
    near, ranked = [], []
    for line, query in zip(lines[count:], vectors[count:], strict=True):
        cosines = exact._dense.best(query, seq, count)
        found = np.argsort(-graphs._dense.best(query, seq, count, nobody))[:10]
        near.append(np.count_nonzero(cosines[found] >= np.sort(cosines)[-10]) / 10)
        best, wanted = ({one.seq for one in index.search(line, query, seq=seq, now=10**15)} for index in (graphs, exact))
        ranked.append(len(best & wanted) / 10)
    rows = [
        ("nearest rows, as graphs find them", f"{np.mean(near):.4f}", f"{min(near):.1f}"),
        ("turns, as `TurnIndex.search` ranks them", f"{np.mean(ranked):.4f}", f"{min(ranked):.1f}"),
    ]
    data = f"{count:,} sentences, {QUERIES} others as queries, segments of {SEGMENT:,} rows; seed {SEED}"
    report(data, __file__, ("the first ten against exact ones", "mean", "worst"), rows, "aim: 0.98")

    assert np.mean(near) >= 0.98
    assert np.mean(ranked) >= 0.98


@pytest.mark.timeout(900)
def test_where_graphs_win() -> None:
    """The cosines of all turns for one query, exact and by graphs; made vectors, in clusters: for times only."""
    rng = np.random.default_rng(SEED)
    centres = rng.standard_normal((2000, DIMENSIONS), np.float32)
    dense, built = DenseRows(Segmentation(crossover=0)), 0.0
    rows: list[tuple[object, ...]] = []
    for size in SIZES:
        while len(dense) < size:
            made = centres[rng.integers(0, 2000, 1)] + 0.8 * rng.standard_normal((1, DIMENSIONS), np.float32)
            dense.add(len(dense) + 1, len(dense), quantised(made))
        queries = quantised(centres[:ROUNDS] + 0.8 * rng.standard_normal((ROUNDS, DIMENSIONS), np.float32))
        sure = np.repeat(rng.random(size // SITTING) < CUT.sure / (size // SITTING), SITTING)
        start = perf_counter()
        dense.best(queries[0], size, size, sure)
        built += perf_counter() - start
        steps = {
            "exact": lambda at, size=size, queries=queries: dense.best(queries[at % ROUNDS], size, size),
            "graphs": lambda at, size=size, queries=queries, sure=sure: dense.best(queries[at % ROUNDS], size, size, sure),
        }
        taken = interleaved(ROUNDS, steps)
        ratio = f"{taken['graphs'] / taken['exact']:.2f}"
        rows.append((f"{size:,}", seconds(taken["exact"]), seconds(taken["graphs"]), ratio, seconds(built)))
    data = f"vectors in 2,000 clusters, {DIMENSIONS} dimensions, segments of {CUT.rows:,} rows; crossover {CUT.crossover:,}; seed {SEED}"
    report(data, __file__, ("rows", "exact", "graphs", "ratio", "build, once"), rows)
