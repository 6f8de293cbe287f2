"""Summaries without a language model: the sentences of an episode that stand for the rest of it.

Turns are ranked by centrality (mean cosine similarity to the episode's other turns) and picked by maximal marginal
relevance (Carbonell and Goldstein 1998), so that the picked ones do not say the same. Pure: vectors come from outside.
"""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from events.envelope import Vectors
from events.policy import EpisodeRules
from projections.index.tokens import STOP_WORDS
from projections.transcript import TurnRow

MODEL = "extractive-1"
RELEVANCE = 0.7
SENTENCE_CHARACTERS = 160
MIN_TOPIC_CHARACTERS = 3
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"[^\W\d_][\w'-]{2,}")


class Summary(msgspec.Struct, frozen=True):
    """What an episode was about."""

    title: str
    text: str
    topics: tuple[str, ...]


def summarise(turns: Sequence[TurnRow], vectors: Vectors | None, rules: EpisodeRules) -> Summary:
    """An extract of at most `summary_characters`. `vectors` [n, d], one row a turn, or None: then earlier turns come first."""
    order = _picked(vectors) if vectors is not None and len(vectors) == len(turns) else list(range(len(turns)))
    topics = key_topics([turn.content for turn in turns], rules.key_topics)
    central = next((turns[i] for i in order if turns[i].role == "user"), turns[order[0]])
    return Summary(_title(central, topics, rules.title_characters), _text(turns, order, rules.summary_characters), topics)


def _picked(vectors: Vectors) -> list[int]:
    """All turns, in the order in which maximal marginal relevance picks them."""
    unit = vectors.astype(np.float64)
    similar = np.round(unit @ unit.T / np.maximum(np.outer(*2 * [np.linalg.norm(unit, axis=1)]), 1), 6)
    central = np.round(similar.mean(axis=1), 6)
    picked: list[int] = []
    while len(picked) < len(unit):
        rest = [i for i in range(len(unit)) if i not in picked]
        said = [max((float(similar[i, j]) for j in picked), default=0.0) for i in rest]
        gains = [RELEVANCE * float(central[i]) - (1 - RELEVANCE) * known for i, known in zip(rest, said, strict=True)]
        picked.append(rest[int(np.argmax(gains))])
    return picked


def _text(turns: Sequence[TurnRow], order: Sequence[int], limit: int) -> str:
    """The picked sentences in the order in which they were said."""
    kept: dict[int, str] = {}
    for i in order:
        line = f"{turns[i].speaker or turns[i].role}: {_sentence(turns[i].content)}"
        if sum(len(one) + 1 for one in kept.values()) + len(line) <= limit:
            kept[i] = line
    return "\n".join(kept[i] for i in sorted(kept)) or _sentence(turns[order[0]].content)[:limit]


def _sentence(content: str) -> str:
    """The sentence that says most: the one with the most different words that are no stop words, the first of equals."""
    sentences = [" ".join(found.split()) for found in _SENTENCE.findall(content[:4000]) if found.strip()] or [content.strip()]
    best = max(sentences, key=lambda sentence: len(_words(sentence)))
    return best if len(best) <= SENTENCE_CHARACTERS else best[: SENTENCE_CHARACTERS - 3].rpartition(" ")[0] + "..."


def _title(turn: TurnRow, topics: Sequence[str], limit: int) -> str:
    sentence = _sentence(turn.content)
    return sentence if len(sentence) <= limit else ", ".join(topics)[:limit] or sentence[:limit]


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - STOP_WORDS


def key_topics(contents: Sequence[str], count: int) -> tuple[str, ...]:
    """The words that most turns share; of equals those of the earlier turn, in the order of the alphabet."""
    seen: Counter[str] = Counter()
    for content in contents:
        seen.update(sorted(word for word in _words(content[:4000]) if len(word) > MIN_TOPIC_CHARACTERS))
    return tuple(word for word, _ in seen.most_common(count))
