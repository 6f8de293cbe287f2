"""Which policy holds in a space, since when, in every process within a second; and that decisions name it."""

import threading
from pathlib import Path

import msgspec
import pytest
from builders import ANN, BOB, stamp, turn
from clocks import START, TickingClock

from events.commands import Enrich, EpisodeWork, SetPolicy
from events.deciding.decide import check_place
from events.envelope import Envelope
from events.errors import InvalidInput, StoreTooNew
from events.ids import SPACE_STREAM, space_stream
from events.log import Log
from events.log.file_log import FileLog
from events.log.memory_log import MemoryLog
from events.log.store import create_store
from events.policy import Policy, RecallRules, SessionRules
from events.vocabulary import PolicySet, StreamErased
from memory_actors.actors.user_actor import UserActor
from memory_actors.actors.writer import InlineWriter, acks
from memory_actors.policies import DEFAULT, Policies
from memory_actors.times import Moment

SPACE = ANN.space
SMALL, SMALLER = (Policy(session=SessionRules(window=n, keep=1)) for n in (3, 2))


class Watch:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        """The present."""
        return self.seconds


@pytest.fixture(params=["memory", "files"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    """Both logs."""
    return MemoryLog() if request.param == "memory" else FileLog(create_store(tmp_path / "s"))


def writer(log: Log, policies: Policies | None = None) -> InlineWriter:
    return InlineWriter(UserActor(log, TickingClock(), (policies or Policies(log)).of))


def test_without_a_policy_that_was_set_the_defaults_hold(log: Log) -> None:
    policies = Policies(log)

    assert Policy() == policies.of(SPACE)
    assert DEFAULT == policies.live(SPACE) == policies.as_of(SPACE, Moment(at=START)) == policies.as_of(SPACE, Moment(seq=0))


def test_a_policy_holds_from_its_event_on(log: Log) -> None:
    """In its own space, and here at once."""
    policies = Policies(log)
    first = policies.set(writer(log), SPACE, SMALL, id="p1")
    second = policies.set(writer(log), SPACE, SMALLER, id="p2")
    found = policies.live(SPACE)

    assert (SMALLER, Policy()) == (policies.of(SPACE), policies.of("elsewhere"))
    assert (2, second.recorded_at, SMALLER.hash) == (found.seq, found.since, found.recorded)
    assert [Policy(), SMALL, SMALLER] == [policies.as_of(SPACE, Moment(seq=seq)).policy for seq in range(3)]
    assert SMALL == policies.as_of(SPACE, Moment(at=second.recorded_at - 1)).policy
    assert Policy() == policies.as_of(SPACE, Moment(at=first.recorded_at - 1)).policy
    with pytest.raises(InvalidInput, match="@2"):
        policies.as_of(SPACE, Moment(seq=3))


def test_every_process_sees_it_within_a_second(log: Log) -> None:
    """What was read is believed for a second, and no longer."""
    watch = Watch()
    elsewhere = Policies(log, seconds=1.0, clock=watch)
    before = elsewhere.of(SPACE)
    Policies(log).set(writer(log), SPACE, SMALL, id="p1")
    watch.seconds += 0.9
    believed = elsewhere.of(SPACE)
    watch.seconds += 0.1

    assert (Policy(), Policy(), SMALL) == (before, believed, elsewhere.of(SPACE))


def test_only_what_is_new_is_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without vectors."""
    watch, read, asked = Watch(), log.read, []
    policies = Policies(log, clock=watch)
    policies.set(writer(log), SPACE, SMALL, id="p1")
    monkeypatch.setattr(log, "read", lambda stream, after=None, vectors=True: asked.append((after, vectors)) or read(stream, after))
    for _ in range(5):
        policies.of(SPACE)
    watch.seconds += 1
    policies.of(SPACE)

    assert [(0, False), (1, False)] == [(after.seq if after else 0, vectors) for after, vectors in asked]


def test_a_given_policy_holds_whatever_was_set(log: Log) -> None:
    policies = Policies(log, SMALL)
    policies.set(writer(log), SPACE, SMALLER, id="p1")

    assert (SMALL, SMALLER) == (policies.of(SPACE), policies.live(SPACE).policy)


def test_an_equal_policy_is_not_set_again(log: Log) -> None:
    """But the defaults can be set once: then they hold when a later version has others."""
    policies = Policies(log)
    found = [
        policies.set(writer(log), SPACE, policy, id=f"p{n}").seq for n, policy in enumerate((Policy(), Policy(), SMALL, SMALL, Policy()))
    ]

    assert [1, 0, 2, 0, 3] == found
    assert (Policy(), 3) == (policies.of(SPACE), policies.live(SPACE).seq)


def test_a_repeat_is_a_repeat(log: Log) -> None:
    """Also when another policy was set since; the same id with another policy is refused."""
    policies = Policies(log)
    first = policies.set(writer(log), SPACE, SMALL, id="p1")
    policies.set(writer(log), SPACE, SMALLER, id="p2")
    again = policies.set(writer(log), SPACE, SMALL, id="p1")

    assert (first.seq, True, SMALLER) == (again.seq, again.duplicate, policies.of(SPACE))
    with pytest.raises(InvalidInput, match="p1"):
        policies.set(writer(log), SPACE, Policy(), id="p1")


def test_whole_numbers_that_may_be_broken_are_one_policy(log: Log) -> None:
    """However they were written, what is recorded has the hash that decisions carry."""
    policies = Policies(log)
    policies.set(writer(log), SPACE, Policy(recall=RecallRules(weights={"bm25": 1})), id="p1")

    assert policies.live(SPACE).recorded == policies.of(SPACE).hash
    assert 0 == policies.set(writer(log), SPACE, Policy(recall=RecallRules(weights={"bm25": 1.0})), id="p2").seq


def append(log: Log, *data: PolicySet | StreamErased) -> None:
    handle, _ = log.open(space_stream(SPACE))
    log.append(handle, [stamp(one) for one in data], expected_seq=handle.tail.seq)


@pytest.mark.parametrize(
    "tables", [{"moods": {}}, {"session": {"windows": 3}}, {"session": {"window": "wide"}}, {"session": {"window": 1}}], ids=str
)
def test_a_policy_of_a_later_version_is_an_error(log: Log, tables: dict[str, object]) -> None:
    """Never silently the defaults. What held before it can still be asked for."""
    policies = Policies(log)
    policies.set(writer(log), SPACE, SMALL, id="p1")
    append(log, PolicySet(policy=tables, hash="?"))
    policies.refresh(SPACE)

    with pytest.raises(StoreTooNew, match="event 2 of home/@space"):
        policies.of(SPACE)
    assert SMALL == policies.as_of(SPACE, Moment(seq=1)).policy
    assert SMALLER == Policies(log, SMALLER).of(SPACE)


def test_a_policy_of_an_older_version_has_the_defaults_of_what_it_did_not_know(log: Log) -> None:
    append(log, PolicySet(policy={"session": {"window": 3, "keep": 1}}, hash="old"))
    found = Policies(log).live(SPACE)

    assert (SMALL, "old") == (found.policy, found.recorded)


def test_other_events_of_the_space_are_passed_over(log: Log) -> None:
    policies = Policies(log)
    policies.set(writer(log), SPACE, SMALL, id="p1")
    append(log, StreamErased())
    policies.refresh(SPACE)

    assert SMALL == policies.of(SPACE)


def test_a_policy_is_for_the_space_alone() -> None:
    check_place(SetPolicy(id="p", policy=SMALL), space_stream(SPACE))
    check_place(turn(1), ANN)
    with pytest.raises(InvalidInput, match=SPACE_STREAM):
        check_place(SetPolicy(id="p", policy=SMALL), ANN)


def test_any_thread_may_ask(log: Log) -> None:
    """While policies are being set; each sees one that was."""
    policies, seen = Policies(log, seconds=0.0), set()
    wanted = [Policy(session=SessionRules(window=n, keep=1)) for n in range(2, 12)]

    def ask() -> None:
        for _ in range(50):
            seen.add(policies.of(SPACE).session.window)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number, policy in enumerate(wanted):
        policies.set(writer(log), SPACE, policy, id=f"p{number}")
    for thread in threads:
        thread.join()

    assert seen <= {20, *range(2, 12)}
    assert wanted[-1] == policies.of(SPACE)


# -- decisions say which policy made them


def named(log: Log, kind: str) -> list[str | None]:
    found: list[Envelope] = [event for event in log.read(ANN).events if event.type == kind]
    return [msgspec.structs.asdict(event.data).get("policy") for event in found]


def test_decisions_carry_the_policy_that_made_them(log: Log) -> None:
    """Before and after it was set: windows, facts and topics; a summary names the one that it was made under."""
    policies = Policies(log)
    one = writer(log, policies)
    policies.set(one, SPACE, SMALL, id="p1")
    acks(one.execute(ANN, [turn(n) for n in range(1, 5)]))
    summary = EpisodeWork(episode="e5", title="t", summary="s", model="m", policy="made-under")
    acks(one.execute(ANN, [Enrich(id="e1", start=1, upto=5, basis_seq=5, episodes=(summary,))]))
    policies.set(one, SPACE, SMALLER, id="p2")
    acks(one.execute(ANN, [turn(5)]))
    acks(one.execute(ANN, [Enrich(id="e2", start=6, upto=8, basis_seq=8)]))

    assert [SMALL.hash, SMALLER.hash] == named(log, "EpisodeClosed") == named(log, "TurnsEnriched")
    assert ["made-under"] == named(log, "EpisodeSummarised")
    assert not log.read(BOB).rows


def test_events_of_before_stay_readable() -> None:
    """A payload without the field says that it is not known."""
    from events.log.row import decode_payload

    old = decode_payload("TurnsEnriched", 1, b'{"start":1,"upto":2,"basis_seq":2}')

    assert None is msgspec.structs.asdict(old)["policy"]
