"""The face of the library: one session of it, its errors, and what it records of what it served."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from clocks import START, TickingClock
from embedders import HashedStems
from histories import DAY, open_memory, tell

from events.errors import InvalidInput, StoreNotHere, UnknownUser
from events.ids import StreamId
from events.policy import Policy
from memory_actors.memory import Memory
from memory_actors.settings import Settings


def test_a_session_as_the_readme_tells_it(tmp_path: Path) -> None:
    """Record, read what was written, travel, explain, correct, forget."""
    clock = TickingClock()
    with open_memory(tmp_path / "memory", clock=clock, wait_seconds=30.0) as memory:
        alice = memory.user("alice")
        ack = alice.record("user", "I live in Porto. I am vegetarian.", id="msg-17")
        again = alice.record("user", "I live in Porto. I am vegetarian.", id="msg-17")

        assert (1, START, False) == (ack.seq, ack.recorded_at, ack.duplicate)
        assert (1, True) == (again.seq, again.duplicate)

        assert ["Porto", "vegetarian"] == sorted(fact.value for fact in alice.facts())

        clock.set(START + 90 * DAY)
        alice.record("user", "I moved to Lisbon.")
        block = alice.context("where shall we eat?", budget=800)

        assert "home city: Lisbon" in str(block)
        assert block.tokens <= 800
        assert 0 == block.pending
        assert set(block.sources) >= {fact.id for fact in alice.facts()}
        assert "Lisbon" in {hit.content.split()[-1].rstrip(".") for hit in alice.recall("where did I move?", k=3)}

        before = alice.as_of("2026-01-01")

        assert (["Porto"], ["Lisbon"]) == tuple([row.value for row in reads.facts() if row.key == "home_city"] for reads in (before, alice))
        assert ["Lisbon"] == [change.after.value for change in alice.diff("2026-01-01", "now").facts.changed]
        assert "TurnRecorded" == alice.why(alice.facts()[0].id)[0].type

        found = alice.forget("that I am vegetarian")

        assert (1, "vegetarian") == (len(found.facts), found.facts[0].value)
        assert "vegetarian" not in str(alice.context("vegetarian"))

        [city] = [row for row in alice.facts() if row.key == "home_city"]
        alice.correct(city.id, "Faro")

        assert ["Faro"] == [row.value for row in alice.facts() if row.key == "home_city"]

        alice.end(note="done")

        assert ("main", []) == alice.session()
        assert 1 == len(alice.episodes())
        assert ["alice"] == memory.users()
        assert not alice.replay(Policy()).difference.episodes.gained


def test_an_unknown_user_is_an_error_that_offers_near_matches(tmp_path: Path) -> None:
    """For reads, and for writes that need something to be there; nothing is made."""
    memory = open_memory(tmp_path / "s")
    tell(memory, "alice", "hello")
    for call in (
        lambda user: user.facts(),
        lambda user: user.recall("x"),
        lambda user: user.forget("x"),
        lambda user: user.correct("f1", "x"),
    ):
        with pytest.raises(UnknownUser, match="Did you mean 'alice'"):
            call(memory.user("alcie"))
    with pytest.raises(UnknownUser, match="users"):
        memory.user("zoe").as_of("now").context()

    assert ["alice"] == memory.users()


def test_spaces_do_not_see_one_another(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s")
    tell(memory, "alice", "I live in Porto.")

    with pytest.raises(UnknownUser):
        memory.user("alice", space="work").facts()

    memory.user("alice", space="work").record("user", "I live in Faro.")
    memory.background.drain(StreamId("work", "alice"))

    assert ["Faro"] == [row.value for row in memory.user("alice", space="work").as_of("now").facts()]
    assert ["Porto"] == [row.value for row in memory.user("alice").as_of("now").facts()]
    assert ["alice"] == memory.users("work")
    memory.close()


@pytest.mark.parametrize("time", ["2026-01-01T10:00", datetime(2026, 1, 1), "soon", "", "@999"])  # noqa: DTZ001
def test_a_time_that_is_not_clear_is_an_error(tmp_path: Path, time: str | datetime) -> None:
    """Times without a zone among them."""
    memory = open_memory(tmp_path / "s")
    tell(memory, "alice", "hello")

    with pytest.raises(InvalidInput):
        memory.user("alice").as_of(time).facts()


@pytest.mark.parametrize(
    "time", ["2026-01-01", "2026-01", date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), "@4", "now", "2026-01-01T10:00:00+02:00"]
)
def test_a_moment_can_be_named_in_many_ways(tmp_path: Path, time: str | date | datetime) -> None:
    memory = open_memory(tmp_path / "s")
    tell(memory, "alice", "I live in Porto.")

    assert ["Porto"] == [row.value for row in memory.user("alice").as_of(time).facts()]


def test_before_the_first_event_answers_are_empty_and_say_when_the_stream_begins(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s")
    tell(memory, "alice", "I live in Porto.")
    then = memory.user("alice").as_of("2025-11-30")

    assert ([], [], [], [], (None, [])) == (then.facts(), then.episodes(), then.topics(), then.conversations(), then.session())
    assert ((), START) == (then.recall("Porto").hits, then.recall("Porto").begins)
    assert START == then.begins
    assert memory.user("alice").as_of("now").begins is None
    assert memory.user("alice").as_of("now").recall("Porto").begins is None


def test_reads_of_the_past_write_nothing(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s", recalls="now")
    tell(memory, "alice", "I live in Porto.")
    before = len(memory.log.read(StreamId("default", "alice")).rows)
    memory.user("alice").as_of("now").recall("Porto")
    memory.user("alice").as_of("@1").context("Porto")

    assert before == len(memory.log.read(StreamId("default", "alice")).rows)


@pytest.mark.parametrize("setting", ["now", "later"])
def test_what_a_live_handle_served_is_recorded_without_its_text(tmp_path: Path, setting: str) -> None:
    """Ids, scores, basis and policy; with `later` at the latest when the memory closes."""
    with open_memory(tmp_path / "s", recalls=setting) as memory:
        tell(memory, "alice", "I live in Porto.", "The boats left.")
        found = memory.user("alice").recall("secret word boats", k=1)
        block = memory.user("alice").context("secret word boats")
    rows = memory.log.read(StreamId("default", "alice")).rows
    recall, context = (row for row in rows if row.type == "MemoryRecalled")
    data = [event.data for event in memory.log.read(StreamId("default", "alice")).events if event.type == "MemoryRecalled"]

    assert (found.basis.seq, ((found.hits[0].seq, found.hits[0].score),)) == (data[0].basis_seq, data[0].turns)
    assert ("context", block.tokens, memory.policy.hash) == (data[1].kind, block.tokens, data[1].policy)
    assert all(b"secret" not in (row.payload or b"") and b"boats" not in (row.payload or b"") for row in (recall, context))


def test_recalls_can_be_left_unrecorded(tmp_path: Path) -> None:
    with open_memory(tmp_path / "s", recalls="never") as memory:
        tell(memory, "alice", "hello")
        memory.user("alice").recall("hello")

    assert "MemoryRecalled" not in {row.type for row in memory.log.read(StreamId("default", "alice")).rows}


def test_a_recorded_recall_says_why_it_said_that_then(tmp_path: Path) -> None:
    """Asked again as of its basis it gives the same turns and scores."""
    with open_memory(tmp_path / "s", recalls="now") as memory:
        tell(memory, "alice", "I live in Porto.", "The boats left.")
        memory.user("alice").recall("boats", k=2)
        tell(memory, "alice", "More boats came.")
        [data] = [event.data for event in memory.user("alice").as_of("now").events() if event.type == "MemoryRecalled"]
        again = memory.user("alice").as_of(datetime.fromtimestamp(data.now / 1e6, UTC)).recall("boats", k=2)

    assert data.turns == tuple((hit.seq, hit.score) for hit in again.hits)


@pytest.mark.parametrize(
    "given",
    [
        {"role": "robot"},
        {"content": " "},
        {"content": "half \udc00"},
        {"content": "x" * (1 << 20) + "x"},
        {"id": "x" * 257},
        {"conversation": "x" * 257},
        {"occurred_at": -1},
        {"occurred_at": 10**18},
        {"occurred_at": "yesterday morning"},
        {"occurred_at": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"importance": 1.5},
        {"importance": float("nan")},
        {"meta": {"a": object()}},
        {"meta": {"a": "x" * 70000}},
    ],
)
def test_a_turn_that_cannot_be_kept_is_refused_and_nothing_is_written(tmp_path: Path, given: dict) -> None:
    memory = open_memory(tmp_path / "s")

    with pytest.raises(InvalidInput):
        memory.user("alice").record(**{"role": "user", "content": "hello", **given})
    assert [] == memory.log.read(StreamId("default", "alice")).rows
    memory.close()


@pytest.mark.parametrize("user", ["", "x" * 129, "half \udc00", "@space"])
def test_a_user_must_have_a_name_that_a_folder_can_carry(tmp_path: Path, user: str) -> None:
    with pytest.raises(InvalidInput):
        open_memory(tmp_path / "s").user(user)


@pytest.mark.parametrize("occurred_at", ["2025-06-01", "2025-06-01T00:00:00Z", datetime(2025, 6, 1, tzinfo=UTC), 1_748_736_000_000_000])
def test_when_it_happened_can_be_told_in_many_ways(tmp_path: Path, occurred_at: str | datetime | int) -> None:
    with open_memory(tmp_path / "s") as memory:
        memory.user("alice").record("user", "hello", occurred_at=occurred_at)
        [turn] = memory.user("alice").as_of("now").session()[1]

    assert 1_748_736_000_000_000 == turn.occurred_at


def test_the_same_id_with_other_words_is_an_error(tmp_path: Path) -> None:
    with open_memory(tmp_path / "s") as memory:
        memory.user("alice").record("user", "hello", id="m1")
        with pytest.raises(InvalidInput, match="used before"):
            memory.user("alice").record("user", "goodbye", id="m1")
        memory.user("alice").record("user", "goodbye", id="m1", conversation="other")

    assert 2 == sum(row.type == "TurnRecorded" for row in memory.log.read(StreamId("default", "alice")).rows)


def test_a_memory_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreNotHere):
        Memory(tmp_path / "s", create=False, embedder="none")

    assert not (tmp_path / "s").exists()


def test_what_is_unfinished_at_the_end_is_found_by_the_next(tmp_path: Path) -> None:
    """Enriching is a number in the log, not a queue in a process."""
    memory = open_memory(tmp_path / "s")
    tell(memory, "alice", "I live in Porto.", enriched=False)
    memory.close(finish=False)
    with Memory(tmp_path / "s", embedder=HashedStems(), settings=Settings(wait_seconds=30.0, recalls="never")) as later:
        facts = later.user("alice").facts()

    assert ["Porto"] == [row.value for row in facts]


def test_instants_are_not_places(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s")

    assert START <= memory.instant("now") < START + DAY
    with pytest.raises(InvalidInput, match="place in one stream"):
        memory.instant("@3")


def test_a_correction_under_a_used_id_with_another_value_is_an_error(tmp_path: Path) -> None:
    """The same id with the same value is done once; with another it would be lost in silence."""
    memory = open_memory(tmp_path / "s")
    tell(memory, "ann", "I live in Porto.")
    user = memory.user("ann")
    [fact] = user.facts()
    first = user.correct(fact.id, "Faro", id="c1")

    assert user.correct(fact.id, "Faro", id="c1").duplicate
    assert first.seq
    with pytest.raises(InvalidInput, match="used before"):
        user.correct(fact.id, "Rome", id="c1")


def test_a_closed_memory_records_nothing(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "s")
    user = memory.user("ann")
    user.record("user", "hello")
    memory.close()

    with pytest.raises(InvalidInput, match="closed"):
        user.record("user", "more")


def test_a_hit_says_when_as_a_datetime(tmp_path: Path) -> None:
    """So that it can be printed as anybody prints a time."""
    memory = open_memory(tmp_path / "s")
    memory.user("ann").record("user", "The boats left.", occurred_at="2026-03-01T12:00:00Z")
    [hit] = memory.user("ann").recall("boats")

    assert "01 Mar" == f"{hit.occurred_at:%d %b}"


def test_a_forked_child_opens_its_own(tmp_path: Path) -> None:
    """The thread of background work stays behind with the parent: an error, where there would be a wait for ever."""
    memory = open_memory(tmp_path / "s")
    memory.user("ann").record("user", "hello")
    memory._process -= 1

    with pytest.raises(InvalidInput, match="forked"):
        memory.user("ann").record("user", "more")


def test_a_forked_child_reads_nothing_and_closes_nothing(tmp_path: Path) -> None:
    """Locks may be held there by threads that it does not have; the memory is its parent's to close."""
    memory = open_memory(tmp_path / "store")
    tell(memory, "ann", "I live in Porto.")
    memory._process += 1

    with pytest.raises(InvalidInput, match="forked"):
        memory.user("ann").recall("Porto")
    memory.close()
    memory._process -= 1

    assert ["Porto"] == [fact.value for fact in memory.user("ann").as_of("now").facts()]


def test_an_id_that_is_no_text_is_said(tmp_path: Path) -> None:
    """As any other field."""
    with pytest.raises(InvalidInput, match="lone surrogate"):
        open_memory(tmp_path / "store").user("ann").record("user", "hello", id="\ud800")


class Misshapen(HashedStems):
    """An embedder that gives something else than asked for."""

    def __init__(self, give: Callable[[Any], Any]) -> None:
        super().__init__(model="misshapen")
        self._give = give

    def embed(self, texts: Any) -> Any:
        return self._give(super().embed(texts))


@pytest.mark.parametrize(
    "give", [lambda v: v[:-1], lambda v: v[0], lambda v: v.astype(float), lambda _: None], ids=["short", "1d", "floats", "none"]
)
def test_an_embedder_that_gives_something_else_leaves_a_failure_and_costs_one_leg(tmp_path: Path, give: Callable[[Any], Any]) -> None:
    """The turn and what it says are there; that its vectors kept failing stands in the log."""
    tell(open_memory(tmp_path / "store", embedder=HashedStems(model="misshapen")), "ann", "I live in Lisbon.")
    memory = open_memory(tmp_path / "store", embedder=Misshapen(give))
    tell(memory, "ann", "I am vegetarian.")
    ann = memory.user("ann").as_of("now")

    found = ann.recall("what do I eat?")

    assert 3 == sum(event.type == "EnrichmentFailed" for event in ann.events())
    assert ["Lisbon", "vegetarian"] == [fact.value for fact in ann.facts()]
    assert (2, ("dense",)) == (len(found), found.missing)
