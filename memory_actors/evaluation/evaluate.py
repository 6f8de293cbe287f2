"""Would it be remembered? Questions with known evidence, asked through the same `recall` as everything else.

Each conversation is written into a store of its own through the UserActor, and asked; beside it stand BM25, dense search
and reciprocal-rank fusion over the same text in the same run.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from events.errors import InvalidInput
from events.policy import Policy
from memory_actors.cluster.kept import Kept, digest, kept_in
from memory_actors.cluster.tasks import mapped
from memory_actors.evaluation import baselines
from memory_actors.evaluation.metrics import ndcg_at, recall_at
from memory_actors.ingest import ingest
from memory_actors.inputs import TurnLine, locomo, read_inputs
from memory_actors.inputs.locomo import Question
from memory_actors.memory import Memory
from memory_actors.models.embedder import Embedder, embedder_named
from memory_actors.reads.reading import Reader
from memory_actors.settings import Settings

SPACE = "locomo"
GROUPS: dict[str, frozenset[int]] = {"1-4": frozenset({1, 2, 3, 4}), "1-5": frozenset({1, 2, 3, 4, 5})}
NDCG_K = 10
Answer = dict[str, Any]


class Task(msgspec.Struct, frozen=True):
    """One conversation to be asked. `depth`: how much of each ranking is kept."""

    path: str
    user: str
    depth: int
    embedder: str
    policy: Policy


class Asked(msgspec.Struct, frozen=True):
    """One question: its category, its evidence as labelled and as audited, and each system's ranking of turn ids."""

    category: int
    evidence: tuple[str, ...]
    audited: tuple[str, ...]
    rankings: dict[str, tuple[str, ...]]
    embed_ms: float
    recall_ms: float


class Outcome(msgspec.Struct, frozen=True):
    """All questions of one conversation, and whether there was an audit of its labels."""

    asked: tuple[Asked, ...]
    has_audit: bool


def tasks(paths: Sequence[Path], depth: int, embedder: str, policy: Policy) -> list[Task]:
    """One a conversation. Corrections of labels that lie beside the files are no conversations."""
    files = [path for path in paths if not path.name.endswith(locomo.AUDIT_SUFFIX)]
    found = [
        Task(str(path), user, depth, embedder, policy) for path in files for user in dict.fromkeys(q.user for q in locomo.questions(path))
    ]
    if not found:
        raise InvalidInput("no LoCoMo conversation among these files; a file is a JSON list of objects with `conversation` and `qa`")
    return found


def finished(path: Path | None) -> AbstractContextManager[Kept[Task, Outcome] | None]:
    """The conversations that an evaluation has finished, kept at `path`; None: not kept."""
    return nullcontext() if path is None else kept_in(path, Outcome, identity)


def identity(task: Task) -> str:
    """Of all that a conversation's outcome depends on: the bytes of its file and of its labels' corrections, not where they lie."""
    files = [hashlib.blake2b(path.read_bytes()).hexdigest() for path in (Path(task.path), audit_of(task)) if path.exists()]
    return digest("locomo", files, task.user, task.depth, task.embedder, task.policy.hash)


def evaluate(
    todo: Sequence[Task],
    ks: Sequence[int],
    settings: Settings,
    progress: Callable[[int], None],
    kept: Kept[Task, Outcome] | None = None,
) -> Answer:
    """Ask everything, one task a conversation; see `report` for the shape."""
    by_place: dict[int, Outcome] = {}
    for place, outcome in mapped(ask, todo, settings.ray, kept, pinned=not settings.shared):
        by_place[place] = outcome
        progress(1)
    outcomes = [by_place[place] for place in range(len(todo))]
    return report([one for outcome in outcomes for one in outcome.asked], ks, audited=any(outcome.has_audit for outcome in outcomes))


def ask(task: Task) -> Outcome:
    """Write one conversation and ask its questions."""
    asked = questions(task)
    corrections = locomo.audit(Path(task.path)) if audit_of(task).exists() else []
    mended = locomo.corrected(asked, corrections)
    with written(task) as (lines, reader):
        conversation = Conversation(reader, lines, embedder_named(task.embedder), task.depth)
        return Outcome(tuple(conversation.ask(*pair) for pair in zip(asked, mended, strict=True)), bool(corrections))


def audit_of(task: Task) -> Path:
    """Where corrections of the labels would lie."""
    path = Path(task.path)
    return path.with_name(path.name.removesuffix(".json") + locomo.AUDIT_SUFFIX)


def questions(task: Task) -> list[Question]:
    """The conversation's questions, with the evidence as published."""
    return [question for question in locomo.questions(Path(task.path)) if question.user == task.user]


@contextmanager
def written(task: Task) -> Iterator[tuple[list[TurnLine], Reader]]:
    """The conversation in a store of its own, which is gone afterwards: its lines, and a reader at its end."""
    lines = [line for line in read_inputs([task.path], space=SPACE).lines if line.user == task.user]
    settings = Settings(recalls="never", embedder=task.embedder)
    with (
        tempfile.TemporaryDirectory(prefix="memory-actors-evaluate-") as folder,
        Memory(folder, space=SPACE, policy=task.policy, settings=settings) as memory,
    ):
        ingest(memory, lines)
        yield lines, memory.user(task.user).as_of("now").reader(index=True)


class Conversation:
    """One conversation in a store, with the rankings of all systems."""

    def __init__(self, reader: Reader, lines: Sequence[TurnLine], embedder: Embedder | None, depth: int) -> None:
        self._reader = reader
        self._embedder = embedder
        self._depth = depth
        self._ids = [line.turn_id or "" for line in lines]
        self._texts = [f"{line.speaker}: {line.content}" for line in lines]
        self._vectors = None if embedder is None else embedder.embed(self._texts)

    def ask(self, question: Question, mended: Question) -> Asked:
        """One question, by all systems."""
        before = perf_counter()
        vector = None if self._embedder is None else self._embedder.embed([question.question])[0]
        embedded = perf_counter()
        found = self._reader.ranked(question.question, vector, k=min(self._depth, 1000))
        recalled = perf_counter()
        return Asked(
            category=question.category,
            evidence=question.evidence,
            audited=mended.evidence,
            rankings={"memory_actors": tuple(hit.turn_id for hit in found.hits), **self._baselines(question.question, vector)},
            embed_ms=(embedded - before) * 1e3,
            recall_ms=(recalled - embedded) * 1e3,
        )

    def _baselines(self, query: str, vector: Any) -> dict[str, tuple[str, ...]]:
        rankings = {"bm25": baselines.ranking(baselines.bm25(self._texts, query))}
        if vector is not None and self._vectors is not None:
            rankings["dense"] = baselines.ranking(baselines.dense(self._vectors, vector))
            rankings["rrf"] = baselines.rrf([rankings["bm25"], rankings["dense"]])
        return {name: tuple(self._ids[place] for place in order[: self._depth]) for name, order in rankings.items()}


def report(asked: Sequence[Asked], ks: Sequence[int], *, audited: bool) -> Answer:
    """The measures, with the labels as published, and a second block with the audited ones where there are any."""
    answer = block(asked, [one.evidence for one in asked], ks, "as published")
    if audited:
        answer["audited"] = block(asked, [one.audited for one in asked], ks, "audited")
    embed, recall = ([getattr(one, name) for one in asked] for name in ("embed_ms", "recall_ms"))
    answer["latency_ms"] = {
        "embed_p50": round(median(embed), 2),
        "recall_p50": round(median(recall), 2),
        "recall_p95": round(quantiles(recall, n=20)[-1], 2) if len(recall) > 1 else round(recall[0], 2),
    }
    return {"dataset": "locomo", **answer}


def block(asked: Sequence[Asked], evidence: Sequence[Sequence[str]], ks: Sequence[int], labels: str) -> Answer:
    """All systems over the questions that have evidence."""
    kept = [(one, relevant) for one, relevant in zip(asked, evidence, strict=True) if relevant]
    if not kept:
        raise InvalidInput("none of these questions has evidence that exists in its conversation")
    names = list(kept[0][0].rankings)
    return {"questions": len(kept), "labels": labels, "systems": {name: system(name, kept, ks) for name in names}}


def system(name: str, asked: Sequence[tuple[Asked, Sequence[str]]], ks: Sequence[int]) -> Answer:
    """One system's measures by group and by category."""
    categories = sorted({one.category for one, _ in asked})
    groups = {group: measures(name, [pair for pair in asked if pair[0].category in members], ks) for group, members in GROUPS.items()}
    by_category = {str(number): measures(name, [pair for pair in asked if pair[0].category == number], ks) for number in categories}
    return {**groups, "by_category": by_category}


def measures(name: str, asked: Iterable[tuple[Asked, Sequence[str]]], ks: Sequence[int]) -> Mapping[str, float]:
    """Means over questions: recall at each k, and nDCG at 10. Empty where there are no questions."""
    pairs = [(one.rankings[name], relevant) for one, relevant in asked]
    if not pairs:
        return {}
    recalls = {f"recall@{k}": float(np.mean([recall_at(k, ranked, relevant) for ranked, relevant in pairs])) for k in ks}
    found = recalls | {f"ndcg@{NDCG_K}": float(np.mean([ndcg_at(NDCG_K, ranked, relevant) for ranked, relevant in pairs]))}
    return {measure: round(value, 4) for measure, value in found.items()}
