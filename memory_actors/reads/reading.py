"""All reads of one stream at one basis. Every answer is made of one view, one basis, one policy; nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from events.envelope import Envelope
from events.errors import Busy, ClusterUnavailable, OutcomeUnknown
from events.log.row import Row
from events.policy import Policy
from memory_actors.models.embedder import Embedder, embedded
from memory_actors.models.tokenizer import default_pieces
from memory_actors.reads import provenance
from memory_actors.reads.context import Context, Material, check_budget, render
from memory_actors.reads.difference import Difference, Remembered, difference
from memory_actors.reads.recall import Filters, Recall, Vector, check_k, check_query, recall
from memory_actors.times import Moment, Naive, parse_time
from projections.basis import Basis
from projections.episodes import EpisodeRow
from projections.facts import FactRow
from projections.topics import TopicRow
from projections.transcript import ConversationRow, TurnRow
from projections.view import StreamView

Time = str | date | datetime


class When(msgspec.Struct, frozen=True):
    """The moment of a read: None for the tail."""

    moment: Moment | None = None

    @classmethod
    def parse(cls, time: Time | None, now: int, naive: Naive = "error") -> When:
        """From what a caller says; None and "now" are the tail."""
        if time is None or (isinstance(time, str) and time.strip().casefold() == "now"):
            return cls()
        return cls(parse_time(time, now=now, use="as_of", naive=naive))

    def basis(self, view: StreamView, now: int) -> Basis:
        """What the moment means for this stream: no moment is the tail, never the wall clock."""
        if self.moment is None:
            return view.latest(now)
        return view.at_seq(self.moment.seq) if self.moment.seq is not None else view.as_of(self.moment.at or 0)

    def cut(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows of a stream that were recorded by the moment."""
        if self.moment is None:
            return rows
        seq, at = self.moment.seq, self.moment.at
        return [row for row in rows if (row.seq <= seq if seq is not None else row.recorded_at <= (at or 0))]


class Reader:
    """One stream, one basis."""

    def __init__(
        self, view: StreamView, basis: Basis, policy: Policy, embedder: Embedder | None, clock: int, naive: Naive = "error"
    ) -> None:
        self.view = view
        self.basis = basis
        self._policy = policy
        self._embedder = embedder
        self._clock = clock
        self._naive: Naive = naive
        self._legs = view.legs(basis.seq)

    @property
    def policy(self) -> Policy:
        """By which it ranks and renders."""
        return self._policy

    def valid_at(self, time: Time | None) -> int | None:
        """The instant of a `valid_at`."""
        return None if time is None else parse_time(time, now=self._clock, use="valid_at", naive=self._naive).at

    def facts(self, valid_at: Time | None = None, *, everything: bool = False) -> list[FactRow]:
        """Facts as known at the basis."""
        instant = self.valid_at(valid_at)
        if everything:
            return self._legs.facts.view(self.basis.seq, instant, self.basis.now)
        return self._legs.facts.active(self.basis.seq, instant, self.basis.now)

    def recall(self, query: str, k: int | None = None, valid_at: Time | None = None, filters: Filters | None = None) -> Recall:
        """Ranked memories."""
        if k is not None:
            check_k(k)
        return self.ranked(check_query(query), self._vector(query), k, self.valid_at(valid_at), filters)

    def ranked(
        self, query: str, vector: Vector | None, k: int | None = None, valid_at: int | None = None, filters: Filters | None = None
    ) -> Recall:
        """The same for a query whose vector [d] is known."""
        count = self._policy.recall.k if k is None else k
        return recall(self.view, query, k=count, basis=self.basis, policy=self._policy, vector=vector, valid_at=valid_at, filters=filters)

    def _vector(self, query: str) -> Vector | None:
        """The query's vector [d]; None without an embedder, or where there is nothing of its model to compare it with."""
        if self._embedder is None or not self._legs.has("turns"):
            return None
        dimensions = self._legs.turns.embedded(self.basis.seq, self._embedder.model)
        if not dimensions:
            return None
        try:
            vector: Vector = embedded(self._embedder, [query])[0]
        except (Busy, ClusterUnavailable, OutcomeUnknown, ValueError):
            return None  # it may be there the next time; the answer says what is missing
        return vector if len(vector) == dimensions else None

    def context(
        self, query: str | None = None, budget: int | None = None, valid_at: Time | None = None, conversation: str | None = None
    ) -> Context:
        """The prompt block. Without a query: facts, session and the latest episodes."""
        rules, seq, legs = self._policy.context, self.basis.seq, self._legs
        budget = check_budget(rules.budget if budget is None else budget, default_pieces())
        recalled = None if query is None else self.recall(query, rules.hits * 2, valid_at)
        hits = () if recalled is None else recalled.hits
        latest = self.episodes()[::-1] if legs.has("episodes") else []
        material = Material(
            facts=[fact for fact in self.facts(valid_at) if fact.importance >= rules.inject_importance] if legs.has("facts") else [],
            session=self.session(conversation)[1] if legs.has("turns") else [],
            recalled=recalled,
            episodes=[hit.episode for hit in recalled.episodes] if recalled and recalled.episodes else latest,
            turns={hit.seq: legs.turns.get(hit.seq) for hit in hits},
            pending=self.view.pending(seq),
            basis=self.basis,
            begins=self.view.begins(self.basis),
            missing={leg: legs.why(leg) for leg in legs.missing if leg != "topics" and (leg != "index" or recalled is not None)},
        )
        return render(material, budget, rules, default_pieces())

    def overview(self, budget: int | None = None, valid_at: Time | None = None, conversation: str | None = None) -> Context:
        """The prompt block without a query, for which no search is needed."""
        return self.context(None, budget, valid_at, conversation)

    def episodes(self) -> list[EpisodeRow]:
        """Closed episodes."""
        return self._legs.episodes.view(self.basis.seq)

    def topics(self, *, everything: bool = False) -> list[TopicRow]:
        """Topics, strongest first."""
        rows = self._legs.topics.view(self.basis, self._policy.topics)
        return [row for row in rows if everything or not row.forgotten]

    def session(self, conversation: str | None = None) -> tuple[str | None, list[TurnRow]]:
        """The open turns of a conversation; of the latest one, if none is named."""
        name = conversation or self._legs.turns.latest_conversation(self.basis.seq)
        return name, [] if name is None else self._legs.turns.window(name, self.basis.seq)

    def conversations(self) -> list[ConversationRow]:
        """All conversations."""
        return self._legs.turns.conversations(self.basis.seq)

    def events(self, after: int = 0) -> list[Envelope]:
        """Events beyond `after`, up to the basis."""
        return [event for event in self.view.recorded if after < event.seq <= self.basis.seq]

    def pending(self) -> int:
        """How many turns have not been enriched."""
        return self.view.pending(self.basis.seq)

    def begins(self) -> int | None:
        """When the stream does, where that is later than the basis."""
        return self.view.begins(self.basis)

    def why(self, fact: str) -> list[Envelope]:
        """The events that made a fact what it is."""
        return provenance.why(self.view, fact, self.basis.seq)

    def remembered(self, valid_at: Time | None = None) -> Remembered:
        """What a comparison looks at."""
        return Remembered(facts=self.facts(valid_at), episodes=self.episodes(), topics=self.topics())

    def difference(self, other: Reader, valid_at: Time | None = None) -> Difference:
        """From this basis to the other's."""
        return difference(self.basis, self.remembered(valid_at), other.basis, other.remembered(valid_at))

    def since(self, start: When, valid_at: Time | None = None) -> Difference:
        """From a moment to this basis."""
        before = Reader(self.view, start.basis(self.view, self._clock), self._policy, self._embedder, self._clock, self._naive)
        return before.difference(self, valid_at)
