"""What is remembered differently: facts by slot and value, episodes and topics by what they are about."""

from test_context import episode, fact
from test_topics import AXES, Topics

from memory_actors.reads.difference import Difference, Remembered, difference
from projections.facts import FactRow


def compared(one: list[FactRow], other: list[FactRow]) -> Difference:
    return difference("a", Remembered(facts=one, episodes=[], topics=[]), "b", Remembered(facts=other, episodes=[], topics=[]))


def test_two_equal_sides_do_not_differ() -> None:
    """Whatever the ids are called, and however the value is written."""
    found = compared([fact(1, "Porto")], [fact(7, " PORTO ")])

    assert not found
    assert ("a", "b") == (found.before, found.after)


def test_a_slot_with_another_value_has_changed() -> None:
    found = compared([fact(1, "Porto")], [fact(2, "Lisbon")])

    assert [("Porto", "Lisbon")] == [(change.before.value, change.after.value) for change in found.facts.changed]
    assert ((), ()) == (found.facts.gained, found.facts.lost)
    assert found


def test_a_fact_comes_and_another_goes() -> None:
    found = compared([fact(1, "Porto")], [fact(2, "nurse", key="job")])

    assert (["nurse"], ["Porto"]) == ([row.value for row in found.facts.gained], [row.value for row in found.facts.lost])


def test_values_of_a_many_valued_slot_come_and_go_by_themselves() -> None:
    import msgspec

    tea, coffee = (msgspec.structs.replace(fact(n, value, key="likes"), many=True) for n, value in ((1, "tea"), (2, "coffee")))
    found = compared([tea], [coffee])

    assert (1, 1, ()) == (len(found.facts.gained), len(found.facts.lost), found.facts.changed)


def test_another_persons_slot_is_another_slot() -> None:
    found = compared([fact(1, "Porto", subject="Ben")], [fact(1, "Lisbon", subject="Cy")])

    assert (1, 1, ()) == (len(found.facts.gained), len(found.facts.lost), found.facts.changed)
    assert not compared([fact(1, "Porto", subject="Ben")], [fact(1, "Porto", subject="ben")])


def test_episodes_and_live_topics_are_listed() -> None:
    topics = Topics()
    topics.turn(AXES[0])
    one = Remembered(facts=[], episodes=[episode(1, "s", 1)], topics=[])
    other = Remembered(facts=[], episodes=[], topics=topics.rows(0))
    found = difference("a", one, "b", other)

    assert ([{"id": "main, turns 1-9", "title": "t"}], [{"id": "turn 1", "title": "turn 1"}]) == (
        list(found.episodes.lost),
        list(found.topics.gained),
    )
    assert found
