"""Topics: the two tables of seed 4 at importance 1.0, and what joins, starts, is forgotten and comes back."""

from collections.abc import Iterator

import numpy as np
import pytest
from clocks import START
from histories import DAY

from events.deciding.decay import half_life_days, priority
from events.deciding.topic_state import TopicState, decide_topic
from events.envelope import Envelope, NewEvent, Vectors
from events.policy import TopicRules
from events.vocabulary import TopicAssigned, TopicForgotten, TopicRevived, TopicStarted, TurnEmbedded
from projections.basis import Basis
from projections.index.dense import quantised
from projections.topics import TopicDecay, TopicRow

RULES = TopicRules(similarity=0.7, importance=1.0)
AXES = quantised(np.eye(40))


class Topics:
    """Both sides of topics: the writer's state and the view, fed by turns."""

    def __init__(self, rules: TopicRules = RULES) -> None:
        self.state, self.view, self.rules = TopicState(), TopicDecay(), rules
        self.seq = 0
        self.events: list[NewEvent] = []

    def turn(self, vector: Vectors | None, day: float = 0.0, *, role: str = "user", importance: float | None = None) -> list[str]:
        """One turn of a day; the names of the events that it caused."""
        at = START + int(day * DAY)
        self.seq += 1
        seq = self.seq
        if vector is not None:
            self._fold(NewEvent(TurnEmbedded(turn_seq=seq, model="m", kinds=("turn",)), vector=vector[None, :], occurred_at=at))
        decided = decide_topic(
            self.state, turn_seq=seq, role=role, title=f"turn {seq}", importance=importance, vector=vector, happened_at=at, next_seq=self.seq + 1, rules=self.rules
        )  # fmt: skip
        self.events = list(decided)
        for event in self.events:
            self._fold(event)
        return [type(event.data).__name__ for event in self.events]

    def _fold(self, event: NewEvent) -> None:
        self.seq += 1
        envelope = Envelope(
            space="s", user="u", seq=self.seq, type=type(event.data).__name__, schema_version=1, recorded_at=START + self.seq,
            occurred_at=event.occurred_at, data=event.data, vector=event.vector,
        )  # fmt: skip
        self.state.evolve(envelope)
        self.view.apply(envelope)

    def rows(self, day: float, seq: int | None = None) -> list[TopicRow]:
        return self.view.view(Basis(self.seq if seq is None else seq, START + int(day * DAY), final=False), self.rules)


def touched(accesses: int) -> Topics:
    """One topic with so many accesses, all on day 0."""
    topics = Topics()
    for _ in range(accesses + 1):
        topics.turn(AXES[0])
    return topics


@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625), (5, 0.03125)])
def test_short_term_memory_halves_every_day(days: int, expected: float) -> None:
    """Seed 4, fewer than 5 accesses: above .05 at 4 days, below it at 5."""
    [row] = touched(4).rows(days)

    assert expected == row.priority
    assert (days >= 5) == (row.priority < RULES.forget_below)


@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (16, 0.5), (32, 0.25), (48, 0.125), (64, 0.0625), (80, 0.03125)])
def test_long_term_memory_halves_every_sixteen_days(days: int, expected: float) -> None:
    """Seed 4, 20 to 24 accesses."""
    assert expected == touched(20).rows(days)[0].priority


@pytest.mark.parametrize(
    ("accesses", "half_life"),
    [(0, 1), (4, 1), (5, 2), (9, 2), (10, 4), (14, 4), (15, 8), (19, 8), (20, 16), (24, 16), (25, 30), (1000, 30)],
)
def test_each_five_accesses_double_the_half_life_up_to_thirty_days(accesses: int, half_life: float) -> None:
    """The consolidation table of seed 4."""
    assert half_life == half_life_days(accesses, RULES)
    assert half_life == touched(min(accesses, 30)).rows(0)[0].half_life_days


@pytest.mark.parametrize(("accesses", "survives"), [(0, 5), (5, 10), (10, 20), (15, 40), (20, 80), (25, 150)])
def test_a_topic_survives_as_long_as_the_table_says(accesses: int, survives: int) -> None:
    """About: above the threshold a twelfth earlier than the table's days, not above it after them."""
    assert priority(1.0, accesses, int(survives * DAY * 0.85), RULES) > RULES.forget_below
    assert priority(1.0, accesses, survives * DAY, RULES) < RULES.forget_below


def test_a_future_turn_does_not_make_a_topic_stronger_than_its_importance() -> None:
    assert priority(0.5, 0, -DAY, RULES) == 0.5


def test_a_similar_turn_joins_and_another_one_starts_a_topic() -> None:
    """Creation is not an access; joining is. The title is what began it."""
    topics = Topics()

    assert ["TopicStarted"] == topics.turn(AXES[0])
    assert ["TopicAssigned"] == topics.turn(AXES[0])
    assert ["TopicStarted"] == topics.turn(AXES[1])
    assert {(1, 2, "turn 1"), (0, 1, "turn 7")} == {(row.accesses, row.messages, row.title) for row in topics.rows(0)}


def test_the_threshold_itself_is_not_above_the_threshold() -> None:
    topics = Topics(TopicRules(similarity=1.0))
    topics.turn(AXES[0])

    assert ["TopicStarted"] == topics.turn(AXES[0])


def test_assistants_follow_the_active_topic_without_an_access() -> None:
    topics = Topics()

    assert [] == topics.turn(AXES[0], role="assistant")

    topics.turn(AXES[0])

    assert ["TopicAssigned"] == topics.turn(AXES[5], 3, role="assistant")
    assert (0, 2, START) == (topics.rows(0)[0].accesses, topics.rows(0)[0].messages, topics.rows(0)[0].last_active)


def test_a_turn_without_a_vector_touches_no_topic() -> None:
    topics = Topics()

    assert [] == topics.turn(None)


def filled(count: int, day: float = 0) -> Topics:
    topics = Topics()
    for axis in range(count):
        topics.turn(AXES[axis], day)
    return topics


def forgotten(topics: Topics) -> Iterator[str]:
    return (event.data.topic for event in topics.events if isinstance(event.data, TopicForgotten))


def test_twenty_topics_are_all_kept_however_old() -> None:
    topics = filled(19)

    assert ["TopicStarted"] == topics.turn(AXES[30], day=300)


def test_the_twenty_first_topic_forgets_all_that_fell_below_the_threshold() -> None:
    """Weakest first, and never the active one, which is the new one, however unimportant."""
    topics = filled(15)
    for axis in range(15, 20):
        topics.turn(AXES[axis], day=3)
    found = topics.turn(AXES[30], day=5, importance=0.001)
    rows = topics.rows(5)

    assert ["TopicStarted", *["TopicForgotten"] * 15] == found
    assert 15 == len(set(forgotten(topics)))
    assert 6 == sum(not row.forgotten for row in rows)
    assert topics.state.active in {row.id for row in rows if not row.forgotten}
    assert all(row.forgotten for row in rows[6:])


def test_above_the_limit_nothing_is_forgotten_that_is_still_strong() -> None:
    topics = filled(20)

    assert ["TopicStarted"] == topics.turn(AXES[30], day=4)


def test_a_forgotten_topic_comes_back_when_it_is_touched() -> None:
    """With its history; and the past still shows it as it was."""
    topics = filled(20)
    topics.turn(AXES[30], day=6)
    before = topics.seq

    assert ["TopicRevived", "TopicAssigned"] == topics.turn(AXES[3], day=7)

    row, then = (next(row for row in topics.rows(7, seq) if row.title == "turn 10") for seq in (topics.seq, before))

    assert (False, 1, 1.0) == (row.forgotten, row.accesses, row.priority)
    assert (True, 0) == (then.forgotten, then.accesses)


def test_titles_are_cut_at_eighty_characters_on_one_line() -> None:
    events = decide_topic(
        TopicState(), turn_seq=1, role="user", title="two\nlines " + "x" * 100, importance=None, vector=AXES[0], happened_at=0, next_seq=2, rules=RULES
    )  # fmt: skip
    data = events[0].data

    assert isinstance(data, TopicStarted)
    assert ("two lines " + "x" * 70, 1.0) == (data.title, data.importance)


def test_equal_priorities_stand_in_the_order_of_their_making() -> None:
    assert ["t3", "t6", "t9"] == [row.id for row in filled(3).rows(1)]


def test_events_about_unknown_topics_change_nothing() -> None:
    topics = Topics()
    for data in (TopicAssigned(topic="t9", turn_seq=1, similarity=0.9), TopicForgotten(topic="t9", priority=0.0), TopicRevived(topic="t9")):
        topics._fold(NewEvent(data))

    assert [] == topics.rows(0)
