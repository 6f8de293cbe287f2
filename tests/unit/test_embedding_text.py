"""What is embedded for a turn."""

import pytest

from projections.index.embedding_text import PIECE_TOKENS, Line, embedding_texts, split_text

HOUR = 3_600_000_000


def _count(text: str) -> int:
    return len(text.split())


def _said(speaker: str, content: str, at: int = 0) -> Line:
    return Line(speaker, content, at)


def test_a_short_turn_comes_behind_its_past() -> None:
    """Of three earlier turns the last two are used."""
    past = [_said("Ann", "zero"), _said("Ann", "one"), _said("Bob", "two")]

    actual = embedding_texts(_said("Ann", "Yes, in Lisbon"), past, _count)

    assert actual == [("past", "Ann: one\nBob: two\nAnn: Yes, in Lisbon")]


def test_a_turn_of_more_than_20_tokens_stands_alone() -> None:
    """It says by itself what it is about."""
    words = "word " * 20 + "end"

    actual = embedding_texts(_said("Ann", words), [_said("Bob", "one")], _count)

    assert actual == [("turn", f"Ann: {words}")]


def test_a_pause_ends_the_past() -> None:
    """What was said more than an hour before is another sitting."""
    past = [_said("Bob", "old", 0), _said("Bob", "new", HOUR + 1)]

    actual = embedding_texts(_said("Ann", "Yes", HOUR + 2), past, _count)

    assert actual == [("past", "Bob: new\nAnn: Yes")]


def test_a_long_turn_is_embedded_in_pieces_between_sentences() -> None:
    """Every piece begins with the speaker and stays within the limit; nothing is lost."""
    sentences = [f"Sentence {number} has exactly seven words here." for number in range(40)]

    actual = embedding_texts(_said("Ann", " ".join(sentences)), [], _count)

    assert " ".join(text.removeprefix("Ann: ") for _, text in actual) == " ".join(sentences)
    assert {kind for kind, _ in actual} == {"turn"}
    assert max(_count(text) for _, text in actual) <= PIECE_TOKENS + 1
    assert all(text.endswith("here.") for _, text in actual)


def test_a_sentence_above_the_limit_is_cut_between_words() -> None:
    """Pieces are as long as they may be."""
    actual = split_text("one two three four five", 2, _count)

    assert actual == ["one two", "three four", "five"]


@pytest.mark.parametrize("content", ["", "  \n "])
def test_an_empty_turn_still_has_one_text(content: str) -> None:
    """Every turn gets a vector, so that none is pending for ever."""
    actual = embedding_texts(_said("Ann", content), [], _count)

    assert actual == [("turn", "Ann:")]
