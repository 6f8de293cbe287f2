"""Decide and evolve under random histories: what a writer holds is what the log says, and no mistake leaves a trace."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from builders import ANN, counting_salt, turn
from clocks import TickingClock
from hypothesis import given, settings
from hypothesis import strategies as st

from events.candidates import Candidate
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
    TurnWork,
)
from events.deciding.decide import decide
from events.deciding.state import State, evolve
from events.envelope import Envelope
from events.errors import InvalidInput
from events.log.memory_log import MemoryLog
from events.policy import Policy, SessionRules, TopicRules
from events.vocabulary import EpisodeClosed, FactAsserted, MemoryRecalled, TurnRecorded
from memory_actors.actors.user_actor import Ack, UserActor

SMALL = Policy(session=SessionRules(window=3, keep=1), topics=TopicRules(limit=2, forget_below=0.6))
"""Bounds that short histories reach."""
CONVERSATIONS = st.sampled_from(["main", "side"])
WORDS = st.sampled_from(["I live in Lisbon", "cats", "tea", "no", "naïve 🙂"])
SCORES = st.sampled_from([0.9, 1.0, 0.5, 0.7, 1, 0.3])
TIMES = st.none() | st.integers(-(10**6), 10**15)
ROWS = st.sampled_from([[100, 0, 0], [0, 100, 0], [0, 0, 100], [90, 10, 0], [-100, 0, 7], [0, 0, 0]])
VECTORS = st.one_of(ROWS, ROWS, ROWS, st.none()).map(lambda row: None if row is None else np.array([row, row[::-1]], np.int16))
CANDIDATES = st.builds(
    Candidate,
    subject=st.sampled_from(["user", "User", "Bo"]),
    category=st.sampled_from(["identity", "preference", "fact"]),
    key=st.sampled_from(["home", "drink"]),
    value=st.sampled_from(["Lisbon", "Porto", "tea", "Tea", ""]),
    act=st.sampled_from(["assert", "assert", "end", "retract"]),
    confidence=SCORES,
    importance=SCORES,
    many=st.booleans(),
    changed=st.booleans(),
    valid_from=TIMES,
    valid_to=TIMES,
    tags=st.sampled_from([(), ("a", "b")]),
)


class History:
    """An actor on a log in memory, and the commands that it was given."""

    def __init__(self, policy: Policy = SMALL) -> None:
        self.log = MemoryLog(counting_salt())
        self.policy = policy
        self.actor = UserActor(self.log, TickingClock(), lambda _: policy)
        self.given: list[Command] = []

    @property
    def events(self) -> list[Envelope]:
        """The whole log, decoded."""
        return self.log.read(ANN).events

    def execute(self, commands: Sequence[Command]) -> list[object]:
        """One batch."""
        self.given += commands
        return self.actor.execute(ANN, commands)


@st.composite
def batches(draw: st.DrawFn, history: History) -> list[Command]:
    """Commands that make sense in the state, and some that do not; repeats of earlier ones; new bodies under old ids."""
    state = history.actor.state(ANN)
    return [_command(draw, state, history, place) for place in range(draw(st.integers(1, 6)))]


def _command(draw: st.DrawFn, state: State, history: History, place: int) -> Command:
    number = len(history.given) + place
    kind = draw(
        st.sampled_from(["enrich"] * 4 + ["turn"] * 5 + ["latest", "end", "forget", "correct", "recall", "failure", "repeat", "reuse"])
    )
    match kind:
        case "enrich":
            made = _enrich(draw, state, f"c{number}")
        case "latest":
            made = EnrichLatest(id=f"c{number}", turn=_latest(draw, state), work=_work(draw, 0))
        case "end":
            made = EndConversation(id=f"c{number}", conversation=draw(CONVERSATIONS), note=draw(st.none() | WORDS))
        case "forget":
            made = _forget(draw, state, f"c{number}")
        case "correct":
            fact = draw(st.sampled_from([*(fact.id for fact in state.facts.held()), "f0"]))
            made = Correct(id=f"c{number}", fact=fact, value=draw(st.sampled_from(["Porto", "Rome", ""])))
        case "recall":
            made = RecordRecall(
                id=f"c{number}", served=MemoryRecalled(kind="recall", basis_seq=state.seq, now=1, policy="p", turns=((1, 0.5),))
            )
        case "failure":
            start = state.enriched_upto + draw(st.sampled_from([1, 2]))
            made = ReportFailure(id=f"c{number}", start=start, upto=start, stage="extract", error="x", attempt=draw(st.integers(1, 3)))
        case "repeat" if history.given:
            made = draw(st.sampled_from(history.given))
        case "reuse" if history.given:
            made = _turn(draw, draw(st.integers(0, len(history.given) - 1)))
        case _:
            made = _turn(draw, number)
    return made


def _latest(draw: st.DrawFn, state: State) -> str:
    """The command of a turn that is due, mostly; sometimes another's."""
    due = [name for name, done in state.commands.items() if done.first in state.pending]
    return draw(st.sampled_from([*due, *due, *state.commands, "never was"]))


def _forget(draw: st.DrawFn, state: State, name: str) -> Forget:
    facts = draw(st.sets(st.sampled_from([*(fact.id for fact in state.facts.held()), "f0"]), max_size=2))
    turns = draw(st.sets(st.integers(1, max(state.seq, 1)), max_size=2))
    text = draw(WORDS | st.just(" "))
    return Forget(id=name, text=text, facts=tuple(sorted(facts)), turns=tuple(sorted(turns)))


def _turn(draw: st.DrawFn, number: int) -> RecordTurn:
    return turn(
        number,
        draw(st.sampled_from(["hello", "naïve 🙂", "x\0y", "tea", " "])),
        conversation=draw(CONVERSATIONS),
        role=draw(st.sampled_from(["user", "user", "user", "assistant", "god"])),
        importance=draw(st.none() | SCORES),
        occurred_at=draw(TIMES),
        meta=draw(st.sampled_from([None, {"b": 1, "a": [1.0, None]}])),
    )


def _enrich(draw: st.DrawFn, state: State, name: str) -> Enrich:
    start = state.enriched_upto + draw(st.sampled_from([1, 1, 1, 1, 2]))
    upto = draw(st.sampled_from([max(start, state.seq), start]))
    works = tuple(_work(draw, seq) for seq in state.pending if seq <= upto)
    episodes = tuple(
        EpisodeWork(episode=episode, title="t", summary="s", topics=("x",), model="m", vector=draw(VECTORS), generation_ms=1.5)
        for episode in [*state.unsummarised, "e0"]
        if draw(st.sampled_from([True, True, False]))
    )
    return Enrich(id=name, start=start, upto=upto, basis_seq=state.seq, turns=works, episodes=episodes)


def _work(draw: st.DrawFn, seq: int) -> TurnWork:
    candidates = tuple(draw(st.lists(CANDIDATES, min_size=1, max_size=4)))
    return TurnWork(seq=seq, candidates=candidates, extractor="rules", vector=draw(VECTORS), kinds=("turn", "past"), model="m")


def plain(value: object) -> object:
    """A state as nested plain values: every field of every part, private ones too."""
    match value:
        case np.ndarray():
            parts = (value.dtype.name, value.tolist())
        case dict():
            parts = [(key, plain(one)) for key, one in value.items()]
        case list() | tuple():
            parts = [plain(one) for one in value]
        case set():
            parts = sorted(value)
        case msgspec.Struct():
            parts = type(value).__name__, [(name, plain(getattr(value, name))) for name in value.__struct_fields__]
        case None | str() | bytes() | int() | float():
            parts = value
        case _:
            parts = type(value).__name__, [(name, plain(one)) for name, one in vars(value).items()]
    return parts


def folded(events: Sequence[Envelope]) -> State:
    """The state of a history."""
    state = State()
    for event in events:
        evolve(state, event)
    return state


@given(st.data())
@settings(deadline=None, max_examples=120)
def test_the_writers_state_is_the_fold_of_the_log(data: st.DataObject) -> None:
    """In every field, after every batch, whatever was accepted, refused, repeated or dropped."""
    history = History()
    for _ in range(data.draw(st.integers(2, 8))):
        history.execute(data.draw(batches(history)))

        assert plain(folded(history.events)) == plain(history.actor.state(ANN))


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_replies_name_what_was_written(data: st.DataObject) -> None:
    """Each acknowledged command owns exactly the seqs from its first to its last, and every event has one command."""
    history = History()
    owned: dict[int, str] = {}
    for _ in range(data.draw(st.integers(1, 5))):
        commands = data.draw(batches(history))
        for command, reply in zip(commands, history.execute(commands), strict=True):
            if isinstance(reply, Ack) and reply.seq and not reply.duplicate:
                owned |= dict.fromkeys(range(reply.first, reply.seq + 1), command.id)
            elif isinstance(reply, Ack) and reply.duplicate:
                assert [command.id] * (reply.seq - reply.first + 1) == [owned[seq] for seq in range(reply.first, reply.seq + 1)]

    assert {event.seq: event.command_id for event in history.events} == owned


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_recorded_at_is_one_for_a_command_and_rises_between_them(data: st.DataObject) -> None:
    """Strictly, over all batches."""
    history = History()
    for _ in range(data.draw(st.integers(2, 5))):
        history.execute(data.draw(batches(history)))

    moments: dict[str, set[int]] = {}
    for event in history.events:
        moments.setdefault(event.command_id, set()).add(event.recorded_at)
    stamps = [stamp for stamps in moments.values() for stamp in stamps]
    assert len(moments) == len(stamps)
    assert sorted(set(stamps)) == stamps


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_the_fold_is_total(data: st.DataObject) -> None:
    """Of any prefix, of any later part (what a floor leaves), and of a history with holes: never an error, always at the last seq."""
    history = History()
    for _ in range(data.draw(st.integers(2, 5))):
        history.execute(data.draw(batches(history)))
    events = history.events
    kept = [event for event in events if data.draw(st.booleans())]

    for some in (*(events[:end] for end in range(len(events))), *(events[start:] for start in range(len(events))), kept):
        assert (some[-1].seq if some else 0) == folded(some).seq


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_the_fold_does_not_depend_on_how_the_log_was_cut(data: st.DataObject) -> None:
    """A prefix, then the rest, is the whole: a snapshot can be taken anywhere."""
    history = History()
    for _ in range(data.draw(st.integers(2, 5))):
        history.execute(data.draw(batches(history)))
    events = history.events
    cut = data.draw(st.integers(0, len(events)))

    state = folded(events[:cut])
    for event in events[cut:]:
        evolve(state, event)

    assert plain(folded(events)) == plain(state)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_decide_changes_nothing_but_by_its_events(data: st.DataObject) -> None:
    """A state that was asked to decide is the same until an event is folded; a refused command leaves it so for good."""
    history = History()
    for _ in range(data.draw(st.integers(2, 5))):
        history.execute(data.draw(batches(history)))
    state = folded(history.events)
    before = plain(state)

    for command in [*data.draw(batches(history)), *mistakes(state)]:
        with suppress(InvalidInput):
            next(decide(command, state, history.policy), None)
        assert before == plain(state)


def mistakes(state: State) -> list[Command]:
    """Commands that are refused in any state."""
    return [
        turn(1, ""),
        turn(1, "x", importance=2.0),
        turn(1, "x", role="god"),
        turn(1, "x", meta={"x": object()}),
        EndConversation(id="c", conversation="never was"),
        Forget(id="c", text=""),
        Correct(id="c", fact="f0", value="x"),
        *(Correct(id="c", fact=fact.id, value="") for fact in state.facts.held()[:1]),
    ]


@pytest.mark.parametrize("index", range(7))
def test_every_mistake_is_refused(index: int) -> None:
    """With InvalidInput, before the first event."""
    with pytest.raises(InvalidInput):
        next(decide(mistakes(State())[index], State(), Policy()))


@pytest.mark.parametrize(
    ("turns", "episodes", "session"),
    [(20, 0, (1, 20)), (21, 1, (11, 21)), (30, 1, (11, 30)), (31, 2, (21, 31)), (100, 8, (81, 100)), (250, 23, (231, 250))],
)
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_the_oldest_ten_close_when_turn_twenty_one_arrives(turns: int, episodes: int, session: tuple[int, int], batch: int) -> None:
    """100 turns give 8 episodes and a session of 81 to 100, 250 give 23, however they are batched (DESIGN.md, decided)."""
    history = History(Policy())
    commands = [turn(number) for number in range(1, turns + 1)]
    for start in range(0, turns, batch):
        history.execute(commands[start : start + batch])

    closed = [event.data for event in history.events if isinstance(event.data, EpisodeClosed)]
    still_open = [one.turn for one in history.actor.state(ANN).conversations["main"].open]

    assert [(first, first + 9) for first in range(1, episodes * 10, 10)] == [(data.turn_start, data.turn_end) for data in closed]
    assert list(range(session[0], session[1] + 1)) == still_open


def test_an_episode_is_closed_in_the_commit_of_its_turn() -> None:
    """It names the seqs of its turns, which it cites, and is the next event after the turn that caused it."""
    history = History(Policy())
    history.execute([turn(number, conversation=("main", "side")[number % 2]) for number in range(1, 43)])

    events = {event.seq: event for event in history.events}
    closed = [event for event in events.values() if isinstance(event.data, EpisodeClosed)]

    assert ["main", "side"] == sorted(event.data.conversation for event in closed)
    for event in closed:
        assert (f"e{event.seq}", event.command_id) == (event.data.episode, events[event.seq - 1].command_id)
        assert list(event.data.turns) == [source.seq for source in event.sources]
        assert list(range(1, 11)) == [events[seq].data.turn for seq in event.data.turns]
        assert {event.data.conversation} == {events[seq].data.conversation for seq in event.data.turns}


def test_the_end_of_a_conversation_closes_its_window() -> None:
    """All its open turns, in one episode; the other conversations stay open, and it can go on."""
    history = History(Policy())
    history.execute([turn(1), turn(2, conversation="side"), turn(3), EndConversation(id="end", conversation="main"), turn(4)])

    [closed] = [event.data for event in history.events if isinstance(event.data, EpisodeClosed)]
    state = history.actor.state(ANN)

    assert (1, 2, (1, 3)) == (closed.turn_start, closed.turn_end, closed.turns)
    assert ([3], [1]) == tuple([one.turn for one in state.conversations[name].open] for name in ("main", "side"))


def _said(history: History) -> list[tuple[int, str]]:
    """The facts, each with the turn that it came of."""
    return [(event.sources[-1].seq, event.data.value) for event in history.events if isinstance(event.data, FactAsserted)]


def _latest_of(number: int, value: str, repeat: str = "") -> EnrichLatest:
    found = Candidate(subject="user", category="identity", key=value, value=value, act="assert", confidence=0.9, importance=0.9)
    return EnrichLatest(id=f"w{number}{repeat}", turn=f"c{number}", work=TurnWork(seq=0, candidates=(found,), extractor="rules"))


def test_the_work_of_a_turn_is_never_given_to_another() -> None:
    """A batch that is sent again after only its first three commands were carried out: what was done is dropped, the rest is done."""
    values = ("Porto", "tea", "Ann")
    pairs = [(turn(number), _latest_of(number, value, repeat)) for repeat in ("", "x") for number, value in enumerate(values, 1)]
    history = History(Policy())
    history.execute([command for pair in pairs[:3] for command in pair][:3])
    history.execute([command for pair in pairs[3:] for command in pair])

    turns = [event.seq for event in history.events if isinstance(event.data, TurnRecorded)]
    assert list(zip(turns, values, strict=True)) == _said(history)


def test_the_work_of_an_unknown_turn_is_dropped() -> None:
    history = History(Policy())
    history.execute([turn(1), _latest_of(2, "Porto")])

    assert [] == _said(history)


def test_decide_is_deterministic() -> None:
    """The same commands, clock and salts give the same bytes."""
    commands = [turn(number) for number in range(1, 30)]
    histories = [History(Policy()), History(Policy())]
    for history in histories:
        history.execute(commands)

    one, other = ([row.digest for row in history.log.read(ANN).rows] for history in histories)

    assert one == other
    assert 29 == sum(isinstance(event.data, TurnRecorded) for event in histories[0].events)
