"""Ranked memories for a query, as of a basis: turns, facts and episodes.

Every leg is computed from what is visible at the basis and nothing else, so that
`recall(log, at=seq, now=T) == recall(log[:seq], at=seq, now=T)`: ids, scores and bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from events.errors import InvalidInput
from events.policy import MAX_K, Policy
from events.vocabulary import Category
from memory_actors.extraction.slots import describe
from memory_actors.times import as_datetime
from projections.basis import Basis
from projections.episodes import EpisodeRow
from projections.facts import FactRow
from projections.index.ranking import TurnFilter
from projections.index.signals import SIGNALS
from projections.index.tokens import terms
from projections.index.weights import WEIGHTS
from projections.legs import Leg
from projections.transcript import TurnRow
from projections.view import StreamView

Vector = npt.NDArray[np.int16]
LEGS: Final[tuple[Leg, ...]] = ("turns", "index", "facts", "episodes")
"""What a recall is made of."""


class Filters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which turns may be recalled; None: any. Times are microseconds, half-open, of when the turn happened."""

    conversation: str | None = None
    role: str | None = None
    speaker: str | None = None
    channel: str | None = None
    since: int | None = None
    until: int | None = None

    def turns(self, view: StreamView, seq: int) -> TurnFilter:
        """The same for the index. A channel is looked up here, because few streams have any."""
        elsewhere = (
            () if self.channel is None else (turn.seq for turn in view.legs(seq).turns.after(0, seq) if turn.channel != self.channel)
        )
        return TurnFilter(
            conversations=_only(self.conversation),
            roles=_only(self.role),
            speakers=_only(self.speaker),
            occurred_from=self.since,
            occurred_to=self.until,
            excluded=frozenset(elsewhere),
        )


def _only(name: str | None) -> frozenset[str] | None:
    return None if name is None else frozenset({name})


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One recalled turn. `score` ranks it; `legs` are the signals that made the score."""

    seq: int
    turn_id: str
    conversation: str
    turn: int
    role: str
    speaker: str | None
    content: str
    occurred_at: datetime
    score: float
    legs: dict[str, float]


class FactHit(msgspec.Struct, frozen=True):
    """A fact that the query is about; `score` is the share of the query's terms that it covers."""

    fact: FactRow
    score: float


class EpisodeHit(msgspec.Struct, frozen=True):
    """An episode whose summary resembles the query; `score` is the cosine similarity."""

    episode: EpisodeRow
    score: float


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """What was remembered. `exact`: no approximate index was used. `pending`: turns that are not enriched yet.

    `missing`: the legs without which it was made: "dense" without a vector of the query, "turns" or "index" (then there
    are no hits), "facts" or "episodes" where an event could not be folded.

    `begins`: when the stream does, where the basis lies before its first event.
    """

    user: str
    query: str
    basis: Basis
    exact: bool
    pending: int
    hits: tuple[Hit, ...]
    facts: tuple[FactHit, ...]
    episodes: tuple[EpisodeHit, ...]
    missing: tuple[str, ...] = ()
    begins: int | None = None

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many hits."""
        return len(self.hits)


def check_query(query: str) -> str:
    """The query, if there is something in it."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("an empty query asks for nothing; say what to recall")
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("the query holds a lone surrogate (half of a character); it is not valid text") from error
    return query


def check_k(k: int) -> int:
    """k, if it is a sensible number of hits."""
    if not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InvalidInput(f"k is 1 to {MAX_K}, not {k!r}")
    return k


def check_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """A policy's weights, if there are such signals."""
    if unknown := sorted(set(weights) - set(SIGNALS)):
        raise InvalidInput(f"policy: recall.weights has no signal {unknown[0]!r}; there are: {', '.join(SIGNALS)}")
    return weights


def recall(
    view: StreamView,
    query: str,
    *,
    k: int,
    basis: Basis,
    policy: Policy,
    vector: Vector | None,
    valid_at: int | None = None,
    filters: Filters | None = None,
) -> Recall:
    """The `k` best turns for a query, with the facts and episodes that it is about. `vector`: the query's [d], or None."""
    check_query(query)
    check_k(k)
    legs, allowed = view.legs(basis.seq), (filters or Filters()).turns(view, basis.seq)
    ranked = legs.has("turns", "index")
    hits = _hits(view, query, k, basis, policy, vector, allowed) if ranked else ()
    return Recall(
        user=view.stream.user,
        query=query,
        basis=basis,
        exact=not ranked or legs.index.is_exact(vector, seq=basis.seq, allowed=allowed),
        pending=view.pending(basis.seq),
        hits=hits,
        facts=tuple(fact_hits(view, query, basis, valid_at, k)) if legs.has("facts") else (),
        episodes=tuple(_episode_hits(view, vector, basis.seq, k)) if legs.has("episodes") else (),
        missing=(*(leg for leg in LEGS if not legs.has(leg)), *(() if vector is not None else ("dense",))),
        begins=view.begins(basis),
    )


def _hits(
    view: StreamView, query: str, k: int, basis: Basis, policy: Policy, vector: Vector | None, allowed: TurnFilter
) -> tuple[Hit, ...]:
    legs = view.legs(basis.seq)
    ranked = legs.index.search(
        query,
        vector,
        seq=basis.seq,
        now=basis.now,
        weights={**WEIGHTS, **check_weights(policy.recall.weights)},
        allowed=allowed,
        k=k,
    )
    return tuple(_hit(legs.turns.get(turn), score, signals) for turn, score, signals in ranked)


def _hit(turn: TurnRow, score: float, legs: Mapping[str, float]) -> Hit:
    return Hit(
        seq=turn.seq,
        turn_id=turn.turn_id,
        conversation=turn.conversation,
        turn=turn.turn,
        role=turn.role,
        speaker=turn.speaker,
        content=turn.content,
        occurred_at=as_datetime(turn.occurred_at),
        score=score,
        legs=dict(legs),
    )


def fact_hits(view: StreamView, query: str, basis: Basis, valid_at: int | None, k: int) -> list[FactHit]:
    """The facts that share terms with the query, by the share of its terms that they cover."""
    asked = set(terms(query))
    rows = view.legs(basis.seq).facts.active(basis.seq, valid_at, basis.now)
    scored = [FactHit(row, round(len(asked & fact_terms(row)) / len(asked), 6)) for row in rows] if asked else []
    return sorted((hit for hit in scored if hit.score), key=lambda hit: -hit.score)[:k]


def fact_terms(row: FactRow) -> frozenset[str]:
    """The terms by which a fact can be asked for: of its key and the key's aliases, its value, and whose it is."""
    return _terms_of(row.category, row.key, row.value, row.subject)


@lru_cache(maxsize=1 << 13)
def _terms_of(category: Category, key: str, value: str, subject: str) -> frozenset[str]:
    """Kept, because every recall asks for those of every active fact."""
    names = (key.replace("_", " "), *describe(category, key).aliases, value, subject)
    return frozenset(term for name in names for term in terms(name))


def _episode_hits(view: StreamView, vector: Vector | None, seq: int, k: int) -> Sequence[EpisodeHit]:
    found = [] if vector is None else view.legs(seq).episodes.nearest(vector, seq, k)
    return [EpisodeHit(row, score) for row, score in found if score > 0]
