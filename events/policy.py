"""Every tunable of what is remembered. Only `decide` and the reads see a policy; folds never do.

A policy is a value: two that are equal have the same hash, and a changed default never rewrites the past, because what
was decided is written into the events. Unknown keys are refused.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from events.errors import InvalidInput

SECONDS_A_DAY = 86_400
MICROS_A_DAY = SECONDS_A_DAY * 1_000_000
MAX_K = 1000
"""The most turns that one recall gives."""


class SessionRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seed 1, flow 1 and seed 3, chunking: when turn `window` + 1 arrives, the oldest `window - keep` close."""

    window: int = 20
    keep: int = 10


class FactRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thresholds of storing (seed 1: .4 and .2) and of believing (.7).

    pending   True: a candidate in [store_confidence, active_confidence) waits; False: it is active at once
    """

    store_confidence: float = 0.4
    store_importance: float = 0.2
    active_confidence: float = 0.7
    pending: bool = True


class EpisodeRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Summaries of closed episodes."""

    enabled: bool = True
    summary_characters: int = 400
    title_characters: int = 80
    key_topics: int = 5


class TopicRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seed 4. `similarity` belongs to an embedder: .7 is the seed's; the default suits all-MiniLM-L6-v2, by eye, on two conversations."""

    enabled: bool = True
    similarity: float = 0.4
    limit: int = 20
    forget_below: float = 0.05
    base_half_life_days: float = 1.0
    max_half_life_days: float = 30.0
    accesses_to_double: int = 5
    importance: float = 0.5
    title_characters: int = 80


class RecallRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How legs are fused. `weights` overrides single weights of the fitted defaults, by signal name."""

    k: int = 10
    weights: dict[str, float] = {}


class ContextRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prompt block. Facts from `inject_importance` on (seed 1, stage 1)."""

    budget: int = 2000
    inject_importance: float = 0.5
    facts_share: float = 0.3
    session_share: float = 0.4
    hits: int = 10
    episodes: int = 3


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is remembered, and how it is found again."""

    session: SessionRules = SessionRules()
    facts: FactRules = FactRules()
    episodes: EpisodeRules = EpisodeRules()
    topics: TopicRules = TopicRules()
    recall: RecallRules = RecallRules()
    context: ContextRules = ContextRules()

    def __post_init__(self) -> None:
        _check(all(map(math.isfinite, self._numbers())), "numbers must be finite")
        _check(1 <= self.session.keep <= self.session.window, "session.keep must be 1 to session.window")
        _check(0 <= self.topics.similarity <= 1, "topics.similarity must be 0 to 1")
        _check(self.topics.limit >= 1, "topics.limit must be at least 1")
        _check(self.topics.accesses_to_double >= 1, "topics.accesses_to_double must be at least 1")
        _check(
            0 < self.topics.base_half_life_days <= self.topics.max_half_life_days, "topics half-lives must be positive, base at most max"
        )
        _check(1 <= self.recall.k <= MAX_K, f"recall.k must be 1 to {MAX_K}")
        _check(1 <= self.context.hits <= MAX_K // 2, f"context.hits must be 1 to {MAX_K // 2}")
        _check(all(0 <= one <= 1 for one in self._shares()), "shares, confidences and importances must be 0 to 1")
        _check(all(one >= 1 for one in self._sizes()), "sizes of episodes and titles, and the budget, must be at least 1")
        _check(min(self.episodes.key_topics, self.context.episodes) >= 0, "counts of episodes and key topics must be at least 0")

    def _numbers(self) -> Iterator[float]:
        tables = (getattr(self, table) for table in self.__struct_fields__)
        values = (getattr(table, name) for table in tables for name in table.__struct_fields__)
        yield from (value for value in values if isinstance(value, int | float))
        yield from self.recall.weights.values()

    def _shares(self) -> tuple[float, ...]:
        facts, context, topics = self.facts, self.context, self.topics
        thresholds = facts.store_confidence, facts.store_importance, facts.active_confidence, context.inject_importance
        return *thresholds, context.facts_share, context.session_share, topics.importance

    def _sizes(self) -> tuple[int, ...]:
        return self.episodes.summary_characters, self.episodes.title_characters, self.topics.title_characters, self.context.budget

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of the canonical JSON."""
        return hashlib.blake2b(msgspec.json.encode(self, order="deterministic"), digest_size=8).hexdigest()


def _check(holds: bool, law: str) -> None:
    if not holds:
        raise InvalidInput(f"policy: {law}")


def parse_policy(values: dict[str, Any]) -> Policy:
    """A policy from nested tables, as TOML gives them. Raises InvalidInput that names the key."""
    try:
        return msgspec.convert(values, Policy)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"policy: {error}. Tables: {', '.join(Policy.__struct_fields__)}") from error
