"""`decide(command, state, policy) -> events`: the one place where something comes to have happened. Pure.

A decision is an iterator: the caller folds each event into the state before it asks for the next, so that what comes
later in a command sees what came before. What thresholds and window sizes decide is written into the events. A command
that is mistaken is refused with InvalidInput before its first event.
"""

from collections.abc import Iterator
from functools import singledispatch

import msgspec

from events.commands import (
    Command,
    Correct,
    EndConversation,
    Enrich,
    EnrichLatest,
    EpisodeWork,
    Forget,
    RecordRecall,
    RecordTurn,
    ReportFailure,
    SetPolicy,
    TurnWork,
)
from events.deciding.fact_slots import decide_candidates, decide_correction
from events.deciding.session_state import closed, closings
from events.deciding.state import PendingTurn, State
from events.deciding.topic_state import decide_topic
from events.envelope import NewEvent
from events.errors import InvalidInput
from events.ids import SPACE_STREAM, StreamId
from events.policy import Policy, parse_policy
from events.vocabulary import (
    ConversationEnded,
    EnrichmentFailed,
    EpisodeSummarised,
    FactCorrected,
    MemoryForgotten,
    Payload,
    PolicySet,
    TurnEmbedded,
    TurnRecorded,
    TurnsEnriched,
)

MAX_TURN_BYTES = 1 << 20
MAX_META_BYTES = 1 << 16
MAX_NAME_BYTES = 256
LATEST = 7_289_654_399_999_999
"""The last microsecond of the year 2200."""


@singledispatch
def decide(command: Command, state: State, policy: Policy) -> Iterator[NewEvent]:
    """The events that a command causes in a state, under a policy."""
    raise TypeError(f"no decision for {type(command).__name__}")


def asked(command: Command) -> Payload | None:
    """The command's own first event as far as its body goes, to compare a repeat with; None: repeats are not compared."""
    match command:
        case RecordTurn():
            return _turn(command, 0)
        case EndConversation():
            return ConversationEnded(conversation=command.conversation, note=command.note)
        case Forget():
            return MemoryForgotten(text=command.text, facts=(), turns=())
        case Correct():
            return FactCorrected(fact=command.fact, value=command.value.strip())
        case SetPolicy():
            return _policy_set(command.policy)
        case _:
            return None


def check_place(command: Command, stream: StreamId) -> None:
    """Raises InvalidInput for a command that is not for this stream: a policy is the space's, never one user's."""
    if isinstance(command, SetPolicy) and stream.user != SPACE_STREAM:
        raise InvalidInput(f"a policy is set for a whole space, in {stream.space}/{SPACE_STREAM}, not for {stream}")


@decide.register
def _(command: RecordTurn, state: State, policy: Policy) -> Iterator[NewEvent]:
    check_turn(command)
    before = state.conversations.get(command.conversation)
    yield NewEvent(_turn(command, 1 if before is None else before.turns + 1), occurred_at=command.occurred_at)
    for event in closings(command.conversation, state.conversations[command.conversation].open, state.seq + 1, policy.session):
        data = msgspec.structs.replace(event.data, policy=policy.hash)
        yield msgspec.structs.replace(event, data=data, occurred_at=command.occurred_at)


def _turn(command: RecordTurn, turn: int) -> TurnRecorded:
    return TurnRecorded(
        turn_id=command.turn_id,
        conversation=command.conversation,
        turn=turn,
        role=command.role,
        content=command.content,
        speaker=command.speaker,
        channel=command.channel,
        agent=command.agent,
        importance=command.importance,
        meta=command.meta,
    )


def check_turn(command: RecordTurn) -> None:
    """Raises InvalidInput for a turn that cannot be kept."""
    if command.role not in ("user", "assistant", "system", "tool"):
        raise InvalidInput(f"role {command.role!r} is not one of user, assistant, system, tool")
    if not isinstance(command.content, str):
        raise InvalidInput(f"content is text, not {type(command.content).__name__}")
    if not command.content.strip():
        raise InvalidInput("a turn needs some content; this one is empty")
    size = _bytes(command.content, "content")
    if size > MAX_TURN_BYTES:
        raise InvalidInput(f"a turn has at most {MAX_TURN_BYTES:,} bytes; this one has {size:,}. Split it, or keep a reference to it")
    for name in ("turn_id", "conversation", "speaker", "channel", "agent"):
        _check_name(getattr(command, name), name)
    if command.occurred_at is not None and not 0 <= command.occurred_at <= LATEST:
        raise InvalidInput("occurred_at is in microseconds since 1970, up to the year 2200")
    if command.importance is not None and not 0 <= command.importance <= 1:
        raise InvalidInput(f"importance is 0 to 1, not {command.importance}")
    if command.meta is not None and not isinstance(command.meta, dict):
        raise InvalidInput(f"meta must be a JSON object, not {type(command.meta).__name__}")
    if command.meta is not None and len(_json(command.meta)) > MAX_META_BYTES:
        raise InvalidInput(f"meta has at most {MAX_META_BYTES:,} bytes as JSON")


def check_command_id(value: str) -> None:
    """Raises InvalidInput for an id that cannot be kept."""
    _check_name(value, "id")


def _bytes(text: str, what: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} holds a lone surrogate (half of a character) at {error.start}; it is not valid text") from error


def _check_name(value: str | None, what: str) -> None:
    if value is not None and not 1 <= _bytes(value, what) <= MAX_NAME_BYTES:
        raise InvalidInput(f"{what} has 1 to {MAX_NAME_BYTES} bytes")


def _json(meta: object) -> bytes:
    try:
        return msgspec.json.encode(meta)
    except (TypeError, RecursionError, UnicodeEncodeError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"meta must be a JSON object of sensible depth: {error}") from error


@decide.register
def _(command: EndConversation, state: State, policy: Policy) -> Iterator[NewEvent]:
    conversation = state.conversations.get(command.conversation)
    if conversation is None:
        known = ", ".join(sorted(state.conversations)[:10]) or "none yet"
        raise InvalidInput(f"no conversation {command.conversation!r}; there are: {known}")
    _bytes(command.note or "", "note")
    yield NewEvent(ConversationEnded(conversation=command.conversation, note=command.note), occurred_at=command.occurred_at)
    if conversation.open:
        event = closed(command.conversation, conversation.open, state.seq + 1)
        yield msgspec.structs.replace(event, occurred_at=command.occurred_at)


@decide.register
def _(command: Forget, state: State, policy: Policy) -> Iterator[NewEvent]:
    if not command.text.strip():
        raise InvalidInput("say what to forget; an empty text names nothing")
    _bytes(command.text, "text")
    turns = frozenset(command.turns)
    episodes = tuple(name for name, held in state.episodes.items() if turns & set(held))
    data = MemoryForgotten(text=command.text, facts=_withdrawn_facts(command, state), turns=command.turns, episodes=episodes)
    yield NewEvent(data, sources=command.turns)


def _withdrawn_facts(command: Forget, state: State) -> tuple[str, ...]:
    """The facts that were named, and those that nobody else said: a reader may not have seen them yet."""
    turns = frozenset(command.turns)
    orphaned = (fact.id for fact in state.facts.held() if fact.turns and turns.issuperset(fact.turns))
    return tuple(dict.fromkeys((*command.facts, *orphaned)))


@decide.register
def _(command: Correct, state: State, policy: Policy) -> Iterator[NewEvent]:
    _bytes(command.value, "value")
    yield from decide_correction(state.facts, command.fact, command.value, next_seq=state.seq + 1)


@decide.register
def _(command: SetPolicy, state: State, policy: Policy) -> Iterator[NewEvent]:
    """The one that holds already leaves no event; the defaults, once, do: they are then pinned against later defaults."""
    data = _policy_set(command.policy)
    if data.policy != state.policy:
        yield NewEvent(data)


def _policy_set(policy: Policy) -> PolicySet:
    """As it will be read back, where a whole number that may be broken is one that is."""
    read_back = parse_policy(msgspec.to_builtins(policy))
    return PolicySet(policy=msgspec.to_builtins(read_back), hash=read_back.hash)


@decide.register
def _(command: RecordRecall, state: State, policy: Policy) -> Iterator[NewEvent]:
    yield NewEvent(command.served)


@decide.register
def _(command: ReportFailure, state: State, policy: Policy) -> Iterator[NewEvent]:
    if command.start == state.enriched_upto + 1:
        yield NewEvent(
            EnrichmentFailed(start=command.start, upto=command.upto, stage=command.stage, error=command.error, attempt=command.attempt)
        )


@decide.register
def _(command: Enrich, state: State, policy: Policy) -> Iterator[NewEvent]:
    """Taken once and in order: work that does not begin where the last ended, or covers nothing, is dropped (no events)."""
    if command.start != state.enriched_upto + 1:
        return
    before, due = state.seq, any(seq <= command.upto for seq in state.pending)
    for work in command.turns:
        turn = state.pending.get(work.seq)
        if turn is not None and not state.facts.is_withdrawn(work.seq):
            yield from _turn_enriched(work, turn, command.basis_seq, state, policy)
    for episode in command.episodes:
        yield from _summarised(episode, command.basis_seq, state)
    if due or state.seq > before:
        covered = TurnsEnriched(start=command.start, upto=command.upto, basis_seq=command.basis_seq, policy=policy.hash)
        yield NewEvent(covered)


@decide.register
def _(command: EnrichLatest, state: State, policy: Policy) -> Iterator[NewEvent]:
    """The work of the one turn that is due; dropped (no events) where another turn is, as in a batch that is sent again in part."""
    recorded = state.commands.get(command.turn)
    if recorded is None or list(state.pending) != [recorded.first]:
        return
    start, basis_seq, seq = state.enriched_upto + 1, state.seq, recorded.first
    turn = state.pending[seq]
    yield from _turn_enriched(msgspec.structs.replace(command.work, seq=seq), turn, basis_seq, state, policy)
    yield NewEvent(TurnsEnriched(start=start, upto=basis_seq, basis_seq=basis_seq, policy=policy.hash))


def _turn_enriched(work: TurnWork, turn: PendingTurn, basis_seq: int, state: State, policy: Policy) -> Iterator[NewEvent]:
    past = tuple(seq for seq in turn.past if not state.facts.is_withdrawn(seq))
    work = _without_withdrawn(work, whole=past == turn.past or state.forgotten_at <= basis_seq)
    if work.vector is not None:
        embedded = TurnEmbedded(turn_seq=work.seq, model=work.model, kinds=work.kinds)
        drawn = (*past, work.seq) if set(work.kinds) & set(work.with_past) else (work.seq,)
        yield NewEvent(embedded, occurred_at=turn.happened_at, sources=drawn, vector=work.vector)
    if policy.topics.enabled:
        yield from decide_topic(
            state.topics,
            turn_seq=work.seq,
            role=turn.role,
            title=turn.content,
            importance=turn.importance,
            vector=None if work.vector is None else work.vector[0],
            happened_at=turn.happened_at,
            next_seq=state.seq + 1,
            rules=policy.topics,
        )
    question = past[-1:] if any(one.from_previous for one in work.candidates) else ()
    for event in decide_candidates(
        state.facts,
        work.candidates,
        turn_seq=work.seq,
        happened_at=turn.happened_at,
        next_seq=state.seq + 1,
        rules=policy.facts,
        extractor=work.extractor,
    ):
        yield msgspec.structs.replace(event, sources=(*question, *event.sources))


def _without_withdrawn(work: TurnWork, *, whole: bool) -> TurnWork:
    """The work, or, where a turn that it may have drawn on was withdrawn since, what it made of its own turn alone."""
    if whole:
        return work
    own = [at for at, kind in enumerate(work.kinds) if kind not in work.with_past]
    vector = work.vector[own] if work.vector is not None and own else None
    kinds = tuple(work.kinds[at] for at in own)
    return msgspec.structs.replace(
        work, vector=vector, kinds=kinds, candidates=tuple(one for one in work.candidates if not one.from_previous)
    )


def _summarised(work: EpisodeWork, basis_seq: int, state: State) -> Iterator[NewEvent]:
    """A summary of what has since been withdrawn is dropped; the episode stays due and is summarised again."""
    turns = state.unsummarised.get(work.episode)
    if turns is None or state.forgotten_at > basis_seq:
        return
    data = EpisodeSummarised(
        episode=work.episode,
        title=work.title,
        summary=work.summary,
        topics=work.topics,
        model=work.model,
        embedder=work.embedder,
        generation_ms=work.generation_ms,
        policy=work.policy,
    )
    yield NewEvent(data, sources=turns, vector=work.vector)
