"""What can be asked of a stream. Every command has an id that its client made, kept in the events that it causes."""

from typing import Any

import msgspec

from events.candidates import Candidate
from events.envelope import Vectors
from events.policy import Policy
from events.vocabulary import MemoryRecalled, Role

PAST_TURNS = 2
"""How many turns before it, in its conversation, background work of a turn may draw on."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """`backfill` stamps `recorded_at` from `occurred_at` and keeps the real time in `imported_at`."""

    id: str
    backfill: bool = False


class RecordTurn(Command, frozen=True, kw_only=True):
    """Keep one message. `turn_id` is the client's own name for it."""

    turn_id: str
    role: Role
    content: str
    conversation: str = "main"
    speaker: str | None = None
    channel: str | None = None
    agent: str | None = None
    importance: float | None = None
    meta: dict[str, Any] | None = None
    occurred_at: int | None = None


class EndConversation(Command, frozen=True, kw_only=True):
    """Close a conversation's window."""

    conversation: str
    note: str | None = None
    occurred_at: int | None = None


class TurnWork(msgspec.Struct, frozen=True, kw_only=True):
    """What background work made of one turn. `vector` is None where no embedder is on.

    `with_past`: the kinds of vectors that hold words of the turns before it, too.
    """

    seq: int
    candidates: tuple[Candidate, ...] = ()
    extractor: str = ""
    vector: Vectors | None = None
    kinds: tuple[str, ...] = ()
    with_past: tuple[str, ...] = ()
    model: str = ""


class EpisodeWork(msgspec.Struct, frozen=True, kw_only=True):
    """What background work made of one closed episode."""

    episode: str
    title: str
    summary: str
    topics: tuple[str, ...] = ()
    model: str
    embedder: str | None = None
    vector: Vectors | None = None
    generation_ms: float | None = None
    policy: str | None = None


class Enrich(Command, frozen=True, kw_only=True):
    """All that is derived from the raw log from `start` to `upto`; taken once, in order."""

    start: int
    upto: int
    basis_seq: int
    turns: tuple[TurnWork, ...] = ()
    episodes: tuple[EpisodeWork, ...] = ()


class EnrichLatest(Command, frozen=True, kw_only=True):
    """The work of a turn of the same batch, whose seq its sender cannot know yet: for backfills. `turn`: the id of its command."""

    turn: str
    work: TurnWork


class ReportFailure(Command, frozen=True, kw_only=True):
    """Background work from `start` to `upto` could not be done."""

    start: int
    upto: int
    stage: str
    error: str
    attempt: int


class Forget(Command, frozen=True, kw_only=True):
    """Withdraw these facts and turns, which the words `text` were found to mean."""

    text: str
    facts: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()


class Correct(Command, frozen=True, kw_only=True):
    """Put a fact right."""

    fact: str
    value: str


class RecordRecall(Command, frozen=True, kw_only=True):
    """Keep what a live recall or context served."""

    served: MemoryRecalled


class SetPolicy(Command, frozen=True, kw_only=True):
    """From now on this policy holds in the space: for the space's own stream, `(space, @space)`.

    Of the policy that holds already nothing is written, its id included: the same command, repeated when another policy has
    been set since, is then a new one, and sets it. A log that grew with every repeat would be the price of telling them apart.
    """

    policy: Policy
