"""Fits the weights of the ranking's signals, and says what they are worth on conversations they were not fitted on.

    python -m memory_actors.evaluation.fit FOLDER_OF_LOCOMO_CONVERSATIONS

The score is linear in the signals; its weights are those of a softmax over all turns of a conversation, fitted to put the
probability on the evidence (maximum likelihood, each question's evidence turns sharing it equally), with a quadratic penalty
on the weights of standardised signals. Signals that speak for a turn may not get a negative weight, so that none is spent on
correcting another: that is what carries over to other conversations.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from memory_actors.embedder import Embedder, SentenceTransformerEmbedder
from memory_actors.evaluation.locomo import CATEGORIES, Conversation, Turn, load
from memory_actors.evaluation.metrics import ndcg_at, recall_at
from projections.embedding_text import PAST_TURNS, Line, embedding_texts
from projections.ranking import TurnIndex
from projections.signals import SIGNALS

Floats = npt.NDArray[np.float64]

PENALTY = 0.02
UNFITTED = frozenset({"recency"})
"""Questions of LoCoMo are asked about all times alike: there is nothing to learn from."""

AGAINST = frozenset({"asks"})
"""Signals that speak against a turn: their weights are at most 0, all others at least 0."""

MEASURES = ("recall@5", "recall@10", "recall@20", "nDCG@10")


class Example(NamedTuple):
    """One question: `signals` float64 [turns, signals], the places of the evidence, and the category."""

    signals: Floats
    evidence: tuple[int, ...]
    category: int


def indexed(conversation: Conversation, embedder: Embedder) -> TurnIndex:
    """An index of one conversation; the turn at place i has seq i + 1, its vectors come later."""
    index = TurnIndex()
    for place, turn in enumerate(conversation.turns):
        index.add(
            place + 1,
            conversation=conversation.id,
            turn=place + 1,
            role="user",
            speaker=turn.speaker,
            content=turn.content,
            occurred_at=turn.occurred_at,
        )
    lines = [_line(turn) for turn in conversation.turns]
    texts = [embedding_texts(line, lines[max(0, place - PAST_TURNS) : place], embedder.count_tokens) for place, line in enumerate(lines)]
    rows = embedder.embed([text for group in texts for _, text in group])
    start = 0
    for place, group in enumerate(texts):
        index.embed(len(lines) + place + 1, place + 1, rows[start : start + len(group)], tuple(kind for kind, _ in group))
        start += len(group)
    return index


def examples(conversation: Conversation, embedder: Embedder) -> list[Example]:
    """The conversation's questions, asked at its end."""
    index = indexed(conversation, embedder)
    places = {turn.key: place for place, turn in enumerate(conversation.turns)}
    vectors = embedder.embed([question.text for question in conversation.questions])
    end, now = 2 * len(places), max(turn.occurred_at for turn in conversation.turns)
    return [
        Example(
            index.signals(question.text, vector, seq=end, now=now).values.T,
            tuple(places[key] for key in question.evidence),
            question.category,
        )
        for question, vector in zip(conversation.questions, vectors, strict=True)
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


def _line(turn: Turn) -> Line:
    return Line(turn.speaker, turn.content, turn.occurred_at)


def _row(title: str, measures: Sequence[tuple[float, ...]]) -> str:
    means = np.mean(measures, axis=0) if measures else np.full(len(MEASURES), np.nan)
    return f"{title:<24}{len(measures):>6}" + "".join(f"{mean:>11.4f}" for mean in means)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Fits on all conversations of a FOLDER, after a report in which each is left out in turn."""
    conversations = load(folder)
    embedder = SentenceTransformerEmbedder()
    groups = [examples(conversation, embedder) for conversation in conversations]
    by_group = left_out(groups)
    click.echo(f"{'left out':<24}{'asked':>6}" + "".join(f"{name:>11}" for name in MEASURES))
    for conversation, measures in zip(conversations, by_group, strict=True):
        click.echo(_row(conversation.id, measures))
    flat = [(one.category, row) for group, rows in zip(groups, by_group, strict=True) for one, row in zip(group, rows, strict=True)]
    for category, name in CATEGORIES.items():
        click.echo(_row(f"category {category} {name}", [row for of, row in flat if of == category]))
    click.echo(_row("all", [row for _, row in flat]))
    click.echo("\nfitted on all:")
    for name, weight in fitted([one for group in groups for one in group]).items():
        click.echo(f'    "{name}": {weight},')


if __name__ == "__main__":
    main()
