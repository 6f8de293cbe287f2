"""What a writer knows of one stream: enough to decide, and no more. A fold of the stream, so it can always be made again.

`evolve` is total and ambient-free: it never refuses an event, and the same events give the same state. It changes the
state it is given and returns it: a state has one owner, who drops it when a commit is lost.
"""

import hashlib
import re
import uuid
from collections import OrderedDict
from typing import Any

import msgspec

from events.commands import PAST_TURNS
from events.deciding.fact_slots import FactSlots
from events.deciding.session_state import Conversation, OpenTurn
from events.deciding.topic_state import TopicState
from events.envelope import Envelope, Unknown
from events.vocabulary import (
    ConversationEnded,
    EnrichmentFailed,
    EpisodeClosed,
    EpisodeSummarised,
    FactCorrected,
    MemoryForgotten,
    Payload,
    PolicySet,
    TurnRecorded,
    TurnsEnriched,
)

REMEMBERED_COMMANDS = 1024
_UUID7 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)
"""As `ambient.new_id` writes it; other ways to write one are left to `uuid`, which takes ten times as long."""


class Done(msgspec.Struct, frozen=True):
    """A command that was carried out: the seqs it wrote, when, and a fingerprint of its body."""

    first: int
    last: int
    recorded_at: int
    body: bytes


class State:
    """The fold of one stream."""

    def __init__(self) -> None:
        self.seq = 0
        self.recorded_at = 0
        self.live = False
        self.conversations: dict[str, Conversation] = {}
        self.latest_conversation: str | None = None
        self.facts = FactSlots()
        self.topics = TopicState()
        self.enriched_upto = 0
        self.failures = 0
        self.pending: dict[int, PendingTurn] = {}
        self.episodes: dict[str, tuple[int, ...]] = {}
        self.unsummarised: dict[str, tuple[int, ...]] = {}
        self.forgotten_at = 0
        self.policy: dict[str, Any] | None = None
        self.commands: OrderedDict[str, Done] = OrderedDict()
        self.evicted: int | None = None

    def remember(self, envelope: Envelope) -> None:
        """Keep the command's seqs; the oldest of more than 1,024 go, leaving the largest timestamp among them."""
        if envelope.command_id is None:
            return
        done = self.commands.get(envelope.command_id)
        first, body = (envelope.seq, fingerprint(envelope.data)) if done is None else (done.first, done.body)
        self.commands[envelope.command_id] = Done(first, envelope.seq, envelope.recorded_at, body)
        while len(self.commands) > REMEMBERED_COMMANDS:
            oldest, _ = self.commands.popitem(last=False)
            self.evicted = max(self.evicted or 0, timestamp(oldest) or 0)

    def surely_new(self, command_id: str) -> bool:
        """Whether an id that is not among the remembered ones cannot be in the log: nothing was evicted, or only older ones."""
        if self.evicted is None:
            return True
        made_at = timestamp(command_id)
        return made_at is not None and made_at > self.evicted


class PendingTurn(msgspec.Struct, frozen=True):
    """A turn that background work has not covered. `past`: the seqs of the turns before it in its conversation."""

    role: str
    content: str
    importance: float | None
    happened_at: int
    past: tuple[int, ...]


def evolve(state: State, envelope: Envelope) -> State:
    """The state after one more event."""
    state.seq, state.recorded_at = envelope.seq, envelope.recorded_at
    state.live = state.live or envelope.imported_at is None
    state.remember(envelope)
    state.facts.evolve(envelope)
    state.topics.evolve(envelope)
    _session(state, envelope)
    _background(state, envelope)
    return state


def _session(state: State, envelope: Envelope) -> None:
    match envelope.data:
        case TurnRecorded() as data:
            conversation = state.conversations.setdefault(data.conversation, Conversation())
            conversation.turns = data.turn
            conversation.open = [*conversation.open, OpenTurn(envelope.seq, data.turn)]
            state.latest_conversation = data.conversation
            past, conversation.latest = conversation.latest, (*conversation.latest, envelope.seq)[-PAST_TURNS:]
            state.pending[envelope.seq] = PendingTurn(data.role, data.content, data.importance, envelope.happened_at, past)
        case EpisodeClosed() as data:
            state.conversations.setdefault(data.conversation, Conversation()).close(data.turn_end)
            state.episodes[data.episode] = state.unsummarised[data.episode] = data.turns
        case _:
            pass


def _background(state: State, envelope: Envelope) -> None:
    match envelope.data:
        case EpisodeSummarised(episode=episode):
            state.unsummarised.pop(episode, None)
        case TurnsEnriched(upto=upto):
            state.enriched_upto, state.failures = upto, 0
            state.pending = {seq: turn for seq, turn in state.pending.items() if seq > upto}
        case EnrichmentFailed(attempt=attempt):
            state.failures = attempt
        case MemoryForgotten() as data:
            _forget(state, envelope.seq, data)
        case PolicySet(policy=policy):
            state.policy = policy
        case _:
            pass


def _forget(state: State, seq: int, data: MemoryForgotten) -> None:
    """Episodes that hold withdrawn turns are due again, without them."""
    state.forgotten_at = seq
    for episode in data.episodes:
        turns = tuple(turn for turn in state.episodes.get(episode, ()) if not state.facts.is_withdrawn(turn))
        state.episodes[episode] = turns
        if turns:
            state.unsummarised[episode] = turns
        else:
            state.unsummarised.pop(episode, None)


def timestamp(command_id: str) -> int | None:
    """The milliseconds in a UUID of version 7; None for any other id."""
    if _UUID7.fullmatch(command_id):
        return int(command_id[:8] + command_id[9:13], 16)
    try:
        value = uuid.UUID(command_id)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None


def fingerprint(data: Payload) -> bytes:
    """Of what a command asked for, without what was decided about it: equal for a repeat, different for another body.

    A turn's body is who said what: a repeat with another time is still a repeat.
    """
    content = msgspec.json.encode((type(data).__name__, _asked(data)))
    return hashlib.blake2b(content, digest_size=16).digest()


def _asked(data: Payload) -> object:
    match data:
        case TurnRecorded():
            return data.conversation, data.turn_id, data.role, data.speaker, data.content
        case MemoryForgotten(text=text):
            return text
        case FactCorrected() | ConversationEnded() | Unknown():
            return data
        case PolicySet(hash=digest):
            return digest
        case _:
            return None
