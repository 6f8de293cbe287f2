"""Extracts: sentences that were said, the ones that stand for the rest, within their limits, the same every time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_context import turn

from events.policy import EpisodeRules
from memory_actors.models.summariser import key_topics, summarise
from projections.index.dense import quantised

RULES = EpisodeRules()
TURNS = [
    turn(1, "We fixed the database index. It took a while!"),
    turn(2, "The database is fast again."),
    turn(3, "Bananas are yellow."),
    turn(4, "Which database index did you fix?", speaker="Ben"),
]
VECTORS = quantised(np.array([[1, 0.1, 0], [1, 0.2, 0], [0, 0, 1], [1, 0.15, 0]], float))


def test_a_summary_is_made_of_what_was_said_in_order() -> None:
    text = summarise(TURNS, VECTORS, RULES).text

    assert [
        "user: We fixed the database index.",
        "user: The database is fast again.",
        "user: Bananas are yellow.",
        "Ben: Which database index did you fix?",
    ] == text.split("\n")


def test_with_little_room_the_central_turns_stand_for_the_rest() -> None:
    """Those that resemble the others most, but not one another."""
    text = summarise(TURNS, VECTORS, EpisodeRules(summary_characters=40)).text

    assert 1 == len(text.split("\n"))
    assert "database" in text


def test_the_title_is_a_sentence_of_the_most_central_user_turn() -> None:
    assert "database" in summarise(TURNS, VECTORS, RULES).title
    assert "index, database" != summarise(TURNS, VECTORS, RULES).title


def test_a_title_that_is_too_long_is_made_of_topics() -> None:
    found = summarise([turn(1, "word " * 40 + "database")], None, EpisodeRules(title_characters=20))

    assert len(found.title) <= 20
    assert found.title


def test_without_vectors_or_with_some_missing_earlier_turns_come_first() -> None:
    text = summarise(TURNS, None, EpisodeRules(summary_characters=40)).text

    assert "user: We fixed the database index." == text
    assert text == summarise(TURNS, VECTORS[:2], EpisodeRules(summary_characters=40)).text


def test_key_topics_are_the_words_that_most_turns_share() -> None:
    assert ("database", "index") == key_topics([one.content for one in TURNS], 2)
    assert () == key_topics(["the of and it"], 5)


@given(st.lists(st.text(min_size=1, max_size=400).filter(str.strip), min_size=1, max_size=6), st.integers(10, 400), st.integers(5, 80))
def test_limits_hold_for_any_words(contents: list[str], characters: int, title: int) -> None:
    """And the same turns give the same summary."""
    turns = [turn(n, content) for n, content in enumerate(contents, 1)]
    rules = EpisodeRules(summary_characters=characters, title_characters=title)
    found = summarise(turns, None, rules)

    assert len(found.text) <= characters
    assert len(found.title) <= title
    assert found.text
    assert len(found.topics) <= rules.key_topics
    assert found == summarise(turns, None, rules)
