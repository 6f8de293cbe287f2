"""Fits the weights of the ranking's signals, and says what they are worth on conversations they were not fitted on.

    memory-actors evaluate locomo PATH... --leave-one-out

The score is linear in the signals; its weights are those of a softmax over all turns of a conversation, fitted to put the
probability on the evidence (maximum likelihood, each question's evidence turns sharing it equally), with a quadratic penalty
on the weights of standardised signals. Signals that speak for a turn may not get a negative weight, so that none is spent on
correcting another: that is what carries over to other conversations.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from memory_actors.cluster.tasks import mapped
from memory_actors.evaluation.evaluate import GROUPS, Answer, Task, questions, written
from memory_actors.evaluation.metrics import ndcg_at, recall_at
from memory_actors.models.embedder import embedder_named
from memory_actors.settings import Settings
from projections.index.signals import SIGNALS

Floats = npt.NDArray[np.float64]

PENALTY = 0.02
UNFITTED = frozenset({"recency"})
"""Questions of LoCoMo are asked about all times alike: there is nothing to learn from."""

AGAINST = frozenset({"asks"})
"""Signals that speak against a turn: their weights are at most 0, all others at least 0."""

CATEGORIES = GROUPS["1-4"]
MEASURES = ("recall@5", "recall@10", "recall@20", "ndcg@10")


class Example(NamedTuple):
    """One question: `signals` float64 [turns, signals], the places of the evidence, and the category."""

    signals: Floats
    evidence: tuple[int, ...]
    category: int


def examples(task: Task) -> list[Example]:
    """The conversation's questions of the fitted categories, asked at its end."""
    asked = [question for question in questions(task) if question.category in CATEGORIES and question.evidence]
    embedder = embedder_named(task.embedder)
    vectors = [None] * len(asked) if embedder is None else list(embedder.embed([question.question for question in asked]))
    with written(task) as (lines, reader):
        seq, now = reader.basis.seq, reader.basis.now
        places = {line.turn_id: place for place, line in enumerate(lines)}
        return [
            Example(
                reader.view.index.signals(question.question, vector, seq=seq, now=now).values.T,
                tuple(places[turn] for turn in question.evidence),
                question.category,
            )
            for question, vector in zip(asked, vectors, strict=True)
        ]


def fitted(asked: Sequence[Example], penalty: float = PENALTY) -> dict[str, float]:
    """Weights by signal; those above 0 sum to 1, so that a turn for which all speaks scores about 1."""
    scale = np.concatenate([one.signals for one in asked]).std(axis=0) + 1e-6
    scaled = [(one.signals / scale, list(one.evidence)) for one in asked]
    solved = minimize(
        _loss,
        np.zeros(len(SIGNALS)),
        (scaled, penalty),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 0.0) if name in UNFITTED else (None, 0.0) if name in AGAINST else (0.0, None) for name in SIGNALS],
    )
    weights = solved.x / scale
    return {name: round(float(weight / weights[weights > 0].sum()), 4) for name, weight in zip(SIGNALS, weights, strict=True)}


def _loss(weights: Floats, asked: Sequence[tuple[Floats, list[int]]], penalty: float) -> tuple[float, Floats]:
    """Mean negative log-likelihood of the evidence plus the penalty, and its gradient."""
    loss, gradient = 0.0, np.zeros_like(weights)
    for signals, evidence in asked:
        scores = signals @ weights
        likelihood = np.exp(scores - scores.max())
        total = likelihood.sum()
        loss -= float((scores[evidence] - scores.max()).mean() - np.log(total))
        gradient += (likelihood / total) @ signals - signals[evidence].mean(axis=0)
    return loss / len(asked) + penalty * float(weights @ weights) / 2, gradient / len(asked) + penalty * weights


def measured(one: Example, weights: Mapping[str, float]) -> tuple[float, ...]:
    """The MEASURES of one question; the later turn first among equal scores, as in recall."""
    scores = np.round(one.signals @ np.array([weights[name] for name in SIGNALS]), 9)
    ranked = [int(place) for place in np.lexsort((-np.arange(len(scores)), -scores))]
    return (*(recall_at(k, ranked, one.evidence) for k in (5, 10, 20)), ndcg_at(10, ranked, one.evidence))


def left_out(groups: Sequence[Sequence[Example]], penalty: float = PENALTY) -> list[list[tuple[float, ...]]]:
    """For each conversation the MEASURES of its questions, under weights fitted on all the others."""
    return [
        [
            measured(one, weights)
            for weights in [fitted([other for at, group in enumerate(groups) if at != held for other in group], penalty)]
            for one in groups[held]
        ]
        for held in range(len(groups))
    ]


def report(todo: Sequence[Task], settings: Settings, progress: Callable[[int], None]) -> Answer:
    """MEASURES of every conversation under weights fitted on the others, their mean over questions, and weights fitted on all."""
    by_place: dict[int, list[Example]] = {}
    for place, found in mapped(examples, todo, settings.ray, pinned=not settings.shared):
        by_place[place] = found
        progress(1)
    groups = [by_place[place] for place in range(len(todo))]
    rows = left_out(groups)
    asked = [one for group in groups for one in group]
    flat = list(zip((one.category for one in asked), (row for group in rows for row in group), strict=True))
    return {
        "questions": len(asked),
        "left_out": {task.user: _means(group) for task, group in zip(todo, rows, strict=True)},
        "by_category": {str(number): _means([row for category, row in flat if category == number]) for number in sorted(CATEGORIES)},
        "1-4": _means([row for _, row in flat]),
        "weights": fitted(asked),
    }


def _means(rows: Sequence[tuple[float, ...]]) -> dict[str, float]:
    return dict(zip(MEASURES, (round(float(mean), 4) for mean in np.mean(rows, axis=0)), strict=True)) if rows else {}
