"""The pure decisions about facts: thresholds, conflicts within a slot, endings, retractions, corrections, late arrivals."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from events.candidates import Candidate
from events.deciding.fact_slots import FactRules, FactSlots, decide_candidates, decide_correction
from events.deciding.held_facts import slot_key
from events.envelope import Envelope, NewEvent, Source
from events.errors import InvalidInput
from events.vocabulary import (
    FactAsserted,
    FactConfirmed,
    FactCorrected,
    FactEnded,
    FactRefused,
    FactRetracted,
    MemoryForgotten,
    Payload,
    StreamErased,
    TopicRevived,
)

DAY = 86_400_000_000
HOME = slot_key("user", "identity", "home_city")


@dataclass
class Story:
    """A stream of one user: turns are said, and what is decided is folded."""

    rules: FactRules = field(default_factory=FactRules)
    slots: FactSlots = field(default_factory=FactSlots)
    seq: int = 0

    def append(self, data: Payload, happened_at: int, sources: tuple[int, ...] = ()) -> int:
        self.seq += 1
        self.slots.evolve(
            Envelope(
                space="s", user="u", seq=self.seq, type=type(data).__name__, schema_version=1, recorded_at=self.seq,
                occurred_at=happened_at, data=data, sources=tuple(Source(seq) for seq in sources),
            )
        )  # fmt: skip
        return self.seq

    def turn(self, day: int) -> int:
        return self.append(TopicRevived(topic="a turn stands here"), day * DAY)

    def says(self, day: int, *candidates: Candidate, turn: int | None = None) -> list[Payload]:
        at = turn or self.turn(day)
        events = decide_candidates(
            self.slots, candidates, turn_seq=at, happened_at=day * DAY, next_seq=self.seq + 1, rules=self.rules, extractor="test"
        )
        self.commit(events)
        return [event.data for event in events]

    def commit(self, events: list[NewEvent]) -> None:
        for event in events:
            self.append(event.data, event.occurred_at or 0, event.sources)

    def values(self) -> list[tuple[str, str]]:
        return [(fact.value, fact.state) for fact in self.slots.held()]


def city(value: str, **more: Any) -> Candidate:
    fields: dict[str, Any] = {"subject": "user", "category": "identity", "key": "home_city", "confidence": 0.95, "importance": 0.8}
    return Candidate(value=value, **{**fields, **more})


def likes(value: str, **more: Any) -> Candidate:
    return city(value, **{"category": "preference", "key": "likes", "many": True, **more})


def named(value: str, **more: Any) -> Candidate:
    return city(value, **{"key": "name", **more})


def test_a_new_fact_gets_the_seq_of_its_assertion_as_its_id() -> None:
    """Ids follow from places in the log, so no randomness is needed, and the turn is its source."""
    slots = FactSlots()

    events = decide_candidates(
        slots, [city("Oslo"), likes("chess")], turn_seq=7, happened_at=DAY, next_seq=41, rules=FactRules(), extractor="x"
    )

    assert [("f41", (7,)), ("f42", (7,))] == [(event.data.fact, event.sources) for event in events]  # type: ignore[attr-defined]


def test_the_seed_keeps_the_surer_name() -> None:
    """Seed 1: "Call me Al" at .6 does not replace Alex at 1.0, and is listed with its reason."""
    story = Story()
    story.says(1, named("Alex", confidence=1.0))

    refused = story.says(2, named("Al", confidence=0.6))

    assert [("Alex", "active")] == story.values()
    assert ["the slot holds 'Alex' with higher confidence"] == [one.reason for one in refused]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("confidence", "held"), [(1.0, "Alexander"), (0.95, "Alex")])
def test_within_a_slot_confidence_must_not_be_lower(confidence: float, held: str) -> None:
    """1.0 after 1.0 updates; .95 after 1.0 does not."""
    story = Story()
    story.says(1, named("Alex", confidence=1.0))
    story.says(2, named("Alexander", confidence=confidence))

    assert [(held, "active")] == story.values()


def test_an_update_supersedes_and_holds_from_when_it_was_said() -> None:
    """The new fact names the old, and starts where the old one stops counting."""
    story = Story()
    story.says(1, city("Oslo"))

    (new,) = story.says(5, city("Rome"))

    assert isinstance(new, FactAsserted)
    assert (("f2",), 5 * DAY) == (new.supersedes, new.valid_from)
    assert "superseded" == story.slots.of(HOME)[0].state


def test_what_the_speaker_says_changed_ends_the_old_value_whatever_the_confidence() -> None:
    """As in "I moved to Rome in ..." ends Oslo at the move."""
    story = Story()
    story.says(1, city("Oslo", confidence=1.0))

    ending, new = story.says(9, city("Rome", confidence=0.7, changed=True, valid_from=4 * DAY))

    assert FactEnded(fact="f2", valid_to=4 * DAY, reason="the speaker said that it changed") == ending
    assert isinstance(new, FactAsserted)
    assert ((), 4 * DAY) == (new.supersedes, new.valid_from)
    assert [("Rome", "active")] == story.values()


def test_the_same_value_is_confirmed() -> None:
    """Letter case and spaces do not make another value; the turn joins the fact's sources."""
    story = Story()
    story.says(1, city("New York"))

    confirmed = story.says(2, city(" new  york", valid_from=DAY))

    assert [FactConfirmed(fact="f2", confidence=0.95, valid_from=DAY)] == confirmed
    assert (1, 3) == story.slots.of(HOME)[0].turns


def test_a_weaker_repetition_is_refused() -> None:
    """It adds nothing, and says why."""
    story = Story()
    story.says(1, city("Oslo"))

    (refused,) = story.says(2, city("Oslo", confidence=0.7))

    assert isinstance(refused, FactRefused)
    assert "already known with higher confidence" == refused.reason


def test_many_valued_slots_accumulate_and_confirm() -> None:
    """Two likes stand side by side; the same one again is a confirmation."""
    story = Story()
    story.says(1, likes("chess"), likes("go"))

    again = story.says(2, likes("Chess"))

    assert [FactConfirmed(fact="f2", confidence=0.95)] == again
    assert [("chess", "active"), ("go", "active")] == story.values()


def test_repetitions_within_a_turn_count_once_at_their_best() -> None:
    """Of equal candidates the most confident one is decided."""
    story = Story()

    (asserted,) = story.says(1, city("Oslo", confidence=0.5), city("oslo", confidence=0.9))

    assert isinstance(asserted, FactAsserted)
    assert (0.9, "active") == (asserted.confidence, asserted.status)


@pytest.mark.parametrize(
    ("weak", "reason"),
    [
        ({"confidence": 0.39}, "confidence below 0.4"),
        ({"importance": 0.19}, "importance below 0.2"),
        ({"value": " "}, "no value"),
    ],
)
def test_below_the_thresholds_nothing_is_stored(weak: dict[str, Any], reason: str) -> None:
    """The candidate can be found with the reason."""
    (refused,) = Story().says(1, city(**{"value": "Oslo", **weak}))

    assert isinstance(refused, FactRefused)
    assert reason == refused.reason


def test_a_doubtful_fact_waits_and_is_promoted_by_a_surer_repetition() -> None:
    """The promoted fact supersedes the pending one and keeps its source."""
    story = Story()
    story.says(1, city("Oslo", confidence=0.5))

    (promoted,) = story.says(2, city("Oslo"))

    assert isinstance(promoted, FactAsserted)
    assert (("f2",), "active") == (promoted.supersedes, promoted.status)
    assert [("Oslo", "active")] == story.values()
    assert (1, 3) == story.slots.of(HOME)[1].turns


def test_a_doubtful_fact_does_not_displace_what_is_active() -> None:
    """Also not where thresholds changed meanwhile and the active one is as weak."""
    story = Story(rules=FactRules(active_confidence=0.4))
    story.says(1, city("Oslo", confidence=0.5))
    story.rules = FactRules()

    story.says(2, city("Rome", confidence=0.6))

    assert [("Oslo", "active"), ("Rome", "pending")] == story.values()


def test_without_pending_a_doubtful_fact_is_active() -> None:
    """Profile seed1 believes from .4 on."""
    story = Story(rules=FactRules(pending=False))
    story.says(1, city("Oslo", confidence=0.5))

    assert [("Oslo", "active")] == story.values()


def test_an_ending_ends_what_matches() -> None:
    """With a value, that one; without, whatever is held."""
    story = Story()
    story.says(1, likes("chess"), likes("go"), city("Oslo"))

    one = story.says(2, likes("chess", act="end"))
    all_of_it = story.says(3, city("", act="end", valid_to=2 * DAY))

    assert ["f2"] == [event.fact for event in one if isinstance(event, FactEnded)]
    assert [("f4", 2 * DAY)] == [(event.fact, event.valid_to) for event in all_of_it if isinstance(event, FactEnded)]
    assert [("go", "active")] == story.values()


def test_what_was_over_before_it_was_known_becomes_history() -> None:
    """As in "I used to live in Oslo" is asserted with its end and never held; said twice, it is there once."""
    story = Story()

    (past,) = story.says(3, city("Oslo", act="end"))

    assert isinstance(past, FactAsserted)
    assert (3 * DAY, []) == (past.valid_to, story.values())
    assert [] == story.says(4, city("Oslo", act="end"))


def test_what_was_over_ended_before_the_present_value_began() -> None:
    """Where the slot's present value is known to have begun, the past one was over by then."""
    story = Story()
    story.says(5, city("Rome", valid_from=2 * DAY))

    (past,) = story.says(6, city("Oslo", act="end"))

    assert isinstance(past, FactAsserted)
    assert 2 * DAY == past.valid_to
    assert [("Rome", "active")] == story.values()


def test_a_retraction_withdraws_what_matches_and_nothing_else() -> None:
    """Also what has ended already; what was never known stays unknown."""
    story = Story()
    story.says(1, city("Oslo"))
    story.says(2, city("Rome", changed=True))

    assert ["f2"] == [event.fact for event in story.says(3, city("Oslo", act="retract")) if isinstance(event, FactRetracted)]
    assert [] == story.says(4, city("Paris", act="retract"))
    assert [("Rome", "active")] == story.values()


def test_a_late_statement_lands_in_the_past() -> None:
    """Said on day 2 but arriving after one of day 8: it holds from its own day to the later one's start."""
    story = Story()
    story.says(8, city("Rome"))

    (late,) = story.says(2, city("Oslo"))

    assert isinstance(late, FactAsserted)
    assert (8 * DAY, ()) == (late.valid_to, late.supersedes)
    assert [("Rome", "active")] == story.values()


def test_a_late_statement_between_two_shortens_the_earlier() -> None:
    """Oslo on day 1, Rome on day 9; Bonn of day 5 arrives last."""
    story = Story()
    story.says(1, city("Oslo"))
    story.says(9, city("Rome"))

    shortened, bonn = story.says(5, city("Bonn"))

    assert FactEnded(fact="f2", valid_to=5 * DAY, reason="another value held from then on") == shortened
    assert isinstance(bonn, FactAsserted)
    assert (5 * DAY, 9 * DAY) == (bonn.valid_from, bonn.valid_to)


def test_a_late_statement_splits_what_was_said_on_both_sides_of_it() -> None:
    """Oslo on days 1 and 9, Rome on day 5 arrives last: Oslo, Rome, and Oslo again, held and explained by its turns."""
    story = Story()
    story.says(1, city("Oslo"))
    story.says(9, city("Oslo"))

    ended, again, rome = story.says(5, city("Rome"))

    assert FactEnded(fact="f2", valid_to=5 * DAY, reason="another value held from then on") == ended
    assert isinstance(again, FactAsserted)
    assert isinstance(rome, FactAsserted)
    assert [("Oslo", 9 * DAY, None), ("Rome", 5 * DAY, 9 * DAY)] == [(one.value, one.valid_from, one.valid_to) for one in (again, rome)]
    assert [("Oslo", "active")] == story.values()


def test_a_late_statement_does_not_contradict_what_was_said_since() -> None:
    """On day 9 she said that she had lived in Rome since day 1: what she said on day 5 is refused."""
    story = Story()
    story.says(9, city("Rome", valid_from=DAY))

    (refused,) = story.says(5, city("Oslo"))

    assert isinstance(refused, FactRefused)
    assert "a later statement covers that time" == refused.reason


def test_a_late_ending_or_retraction_leaves_what_was_said_since() -> None:
    """What was said after it stands."""
    story = Story()
    story.says(8, city("Oslo"))

    assert [] == story.says(2, city("Oslo", act="retract"))
    assert [] == story.says(2, city("Oslo", act="end"))
    assert [("Oslo", "active")] == story.values()


def test_slots_of_other_people_are_other_slots() -> None:
    """Subjects are compared without regard to letter case."""
    story = Story()
    story.says(1, city("Oslo", subject="Ana"))
    story.says(2, city("Rome", subject="Ben"))
    story.says(3, city("Bonn", subject="ANA"))

    assert [("Rome", "active"), ("Bonn", "active")] == story.values()


def test_a_candidate_of_a_withdrawn_turn_is_dropped() -> None:
    """Forgetting reaches what background work reads afterwards; nothing at all is left behind."""
    story = Story()
    turn = story.turn(1)
    story.append(MemoryForgotten(text="it", facts=(), turns=(turn,)), 2 * DAY)

    assert [] == story.says(1, city("Oslo"), turn=turn)


def test_a_candidate_older_than_the_users_own_change_is_refused() -> None:
    """The slot was forgotten after the turn was said; a later turn may fill it again."""
    story = Story()
    story.says(1, city("Oslo"))
    turn = story.turn(2)
    story.append(MemoryForgotten(text="my address", facts=("f2",), turns=(1,)), 3 * DAY)

    (refused,) = story.says(2, city("Oslo"), turn=turn)
    (again,) = story.says(4, city("Oslo"))

    assert isinstance(refused, FactRefused)
    assert "the user changed this slot after the turn" == refused.reason
    assert isinstance(again, FactAsserted)


def test_a_correction_retracts_and_asserts() -> None:
    """Three events, the last two derived from the first; the new fact is certain and keeps the interval."""
    story = Story()
    story.says(1, city("Olso", valid_from=DAY))

    events = decide_correction(story.slots, "f2", " Oslo ", next_seq=story.seq + 1, occurred_at=3 * DAY)
    story.commit(events)

    corrected, retracted, asserted = (event.data for event in events)
    assert FactCorrected(fact="f2", value="Oslo") == corrected
    assert FactRetracted(fact="f2", reason="corrected by the user") == retracted
    assert isinstance(asserted, FactAsserted)
    assert ("f5", "Oslo", 1.0, "user", DAY) == (
        asserted.fact, asserted.value, asserted.confidence, asserted.extractor, asserted.valid_from,
    )  # fmt: skip
    assert [(2,), (3,), (3,)] == [event.sources for event in events]
    assert ("Oslo", 3) == (story.slots.held()[0].value, story.slots.touched_at(HOME))


@pytest.mark.parametrize(
    ("fact", "value", "message"),
    [
        ("f3", "Oslo", r"there is no fact 'f3'\. Did you mean f2 \(home_city: Oslo\), f5 \(home_city: Rome\)|there is no fact"),
        ("f2", "Bonn", r"f2 \(home_city: Oslo\) is superseded, not held\. Did you mean f4 \(home_city: Rome\)\?"),
        ("f4", "Rome", "f4 already says 'Rome'"),
        ("f4", "  ", "needs a value"),
    ],
)
def test_a_mistaken_correction_says_what_would_be_right(fact: str, value: str, message: str) -> None:
    """No such fact, not held any more, nothing to change, nothing to put in its place."""
    story = Story()
    story.says(1, city("Oslo"))
    story.says(2, city("Rome"))

    with pytest.raises(InvalidInput, match=message):
        decide_correction(story.slots, fact, value, next_seq=story.seq + 1)


def test_deciding_changes_no_state() -> None:
    """The same question twice has the same answer."""
    story = Story()
    story.says(1, city("Oslo"), likes("chess"))
    arguments: dict[str, Any] = {"turn_seq": 9, "happened_at": 9 * DAY, "next_seq": 10, "rules": FactRules(), "extractor": "x"}
    candidates = [city("Rome", changed=True), likes("chess", act="retract"), likes("go")]

    once = decide_candidates(story.slots, candidates, **arguments)
    twice = decide_candidates(story.slots, candidates, **arguments)

    assert once == twice
    assert [("Oslo", "active"), ("chess", "active")] == story.values()


def test_unknown_facts_are_passed_over_and_an_erasure_empties() -> None:
    """`evolve` is total."""
    story = Story()
    story.append(FactConfirmed(fact="f99", confidence=1.0), DAY)
    story.append(FactEnded(fact="f99", valid_to=1, reason=""), DAY)
    story.append(FactRetracted(fact="f99", reason=""), DAY)
    story.append(MemoryForgotten(text="", facts=("f99",), turns=()), DAY)
    story.says(1, city("Oslo"))
    story.append(StreamErased(), 2 * DAY)

    assert [] == story.values()
