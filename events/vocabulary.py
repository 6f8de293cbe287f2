"""What can happen to a memory: the payloads of all events, one class a type.

A type is never changed, only given further optional fields; a change of meaning is a new schema version with an
upcaster (see `events.log.upcast`). Fields are the facts of the moment: what a threshold or a window size decided is
written here, so that changing a default never rewrites the past. Times are microseconds since the epoch, UTC.
Seqs point into the event's own stream.
"""

from typing import Any, Literal

import msgspec

Category = Literal["identity", "preference", "constraint", "instruction", "fact", "decision", "entity", "procedure", "goal"]
Role = Literal["user", "assistant", "system", "tool"]


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an event says, apart from when and where it was recorded."""


class TurnRecorded(Payload, frozen=True, kw_only=True):
    """One message of one speaker. `turn` is its place in its conversation, from 1."""

    turn_id: str
    conversation: str
    turn: int
    role: Role
    content: str
    speaker: str | None = None
    channel: str | None = None
    agent: str | None = None
    importance: float | None = None
    meta: dict[str, Any] | None = None


class ConversationEnded(Payload, frozen=True, kw_only=True):
    """A conversation was closed by its user, with an optional note."""

    conversation: str
    note: str | None = None


class EpisodeClosed(Payload, frozen=True, kw_only=True):
    """A span of turns left the session. Decided in the commit of the turn that causes it.

    `policy`: the hash of the one whose window was full; absent where the conversation was ended.
    """

    episode: str
    conversation: str
    turn_start: int
    turn_end: int
    turns: tuple[int, ...]
    policy: str | None = None


class EpisodeSummarised(Payload, frozen=True, kw_only=True):
    """The title, summary and key topics of a closed episode, by `model`; its vector, by `embedder`, is the event's.

    `policy`: the hash of the one that said how long they may be.
    """

    episode: str
    title: str
    summary: str
    topics: tuple[str, ...] = ()
    model: str
    embedder: str | None = None
    generation_ms: float | None = None
    policy: str | None = None


class TurnEmbedded(Payload, frozen=True, kw_only=True):
    """The vectors of one turn, one row a text: `kinds[i]` says what text row i stands for."""

    turn_seq: int
    model: str
    kinds: tuple[str, ...]


class TopicStarted(Payload, frozen=True, kw_only=True):
    """A user turn that resembled no live topic opened one."""

    topic: str
    title: str
    importance: float
    turn_seq: int


class TopicAssigned(Payload, frozen=True, kw_only=True):
    """A turn joined a topic. `similarity` is absent for turns that follow the active topic without a comparison."""

    topic: str
    turn_seq: int
    similarity: float | None = None


class TopicForgotten(Payload, frozen=True, kw_only=True):
    """More topics than the limit: this one's priority had fallen below the threshold."""

    topic: str
    priority: float


class TopicRevived(Payload, frozen=True, kw_only=True):
    """A forgotten topic was touched again."""

    topic: str


class FactAsserted(Payload, frozen=True, kw_only=True):
    """A value entered a slot `(subject, category, key)`; `supersedes` lists the facts of the slot that it replaced."""

    fact: str
    subject: str
    category: Category
    key: str
    value: str
    confidence: float
    importance: float
    status: Literal["active", "pending"] = "active"
    valid_from: int | None = None
    valid_to: int | None = None
    many: bool = False
    extractor: str
    quote: str | None = None
    supersedes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class FactConfirmed(Payload, frozen=True, kw_only=True):
    """The same value was said again, with at least the old confidence, perhaps with since when (`valid_from`)."""

    fact: str
    confidence: float
    valid_from: int | None = None


class FactEnded(Payload, frozen=True, kw_only=True):
    """The world changed: the fact held until `valid_to` (exclusive)."""

    fact: str
    valid_to: int
    reason: str


class FactRetracted(Payload, frozen=True, kw_only=True):
    """It was never so, or was withdrawn."""

    fact: str
    reason: str


class FactRefused(Payload, frozen=True, kw_only=True):
    """A candidate that was not stored, and why."""

    subject: str
    category: Category
    key: str
    value: str
    confidence: float
    reason: str


class MemoryForgotten(Payload, frozen=True, kw_only=True):
    """The user withdrew something: these facts, and these turns from recall and context from now on."""

    text: str
    facts: tuple[str, ...]
    turns: tuple[int, ...]
    episodes: tuple[str, ...] = ()


class FactCorrected(Payload, frozen=True, kw_only=True):
    """The user put a fact right: the old one is retracted, a new one asserted, by the events that follow."""

    fact: str
    value: str


class MemoryRecalled(Payload, frozen=True, kw_only=True):
    """What a live recall or context served. Ids and scores, never text."""

    kind: Literal["recall", "context"]
    basis_seq: int
    now: int
    policy: str
    conversation: str | None = None
    turns: tuple[tuple[int, float], ...] = ()
    facts: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    tokens: int | None = None


class TurnsEnriched(Payload, frozen=True, kw_only=True):
    """Background work has covered the raw log up to `upto`, reading nothing beyond `basis_seq`.

    `policy`: the hash of the one whose thresholds decided the facts and topics of the same command.
    """

    start: int
    upto: int
    basis_seq: int
    policy: str | None = None


class EnrichmentFailed(Payload, frozen=True, kw_only=True):
    """Background work could not be done; it is retried, and ends in a dead-letter view."""

    start: int
    upto: int
    stage: str
    error: str
    attempt: int


class PolicySet(Payload, frozen=True, kw_only=True):
    """What is remembered in this space from now on: the whole policy, as nested tables, with the hash it had when it was set.

    Tables, not a `Policy`, so that any version can carry and show what another one set.
    """

    policy: dict[str, Any]
    hash: str


class StreamErased(Payload, frozen=True, kw_only=True):
    """All before this event is erased: the floor rises to it."""

    reason: str = ""


TYPES: dict[str, type[Payload]] = {
    kind.__name__: kind
    for kind in (
        TurnRecorded,
        ConversationEnded,
        EpisodeClosed,
        EpisodeSummarised,
        TurnEmbedded,
        TopicStarted,
        TopicAssigned,
        TopicForgotten,
        TopicRevived,
        FactAsserted,
        FactConfirmed,
        FactEnded,
        FactRetracted,
        FactRefused,
        MemoryForgotten,
        FactCorrected,
        MemoryRecalled,
        TurnsEnriched,
        EnrichmentFailed,
        PolicySet,
        StreamErased,
    )
}
"""Every event type by name. A type that is not here is carried through untouched and passed over by folds."""
