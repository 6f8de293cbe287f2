"""What the patterns read in a turn, when it held, and that hostile text costs no more than its length."""

import re
from datetime import UTC, datetime
from time import perf_counter

import extraction_heldout
import extraction_sentences
import pytest
from extraction_score import SAID_AT, labels, score

from events.candidates import Candidate
from memory_actors.extraction import Extractor, PatternExtractor, clauses
from memory_actors.extraction.patterns import extract
from memory_actors.extraction.slots import SLOTS, describe, find, named


def micros(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[misc,arg-type]


def read(text: str, previous: str | None = None) -> list[Candidate]:
    return extract(text, subject="user", occurred_at=SAID_AT, previous=previous)


@pytest.mark.parametrize("sentences", [extraction_sentences.SENTENCES, extraction_heldout.SENTENCES], ids=["tuned", "held-out"])
def test_precision_comes_first(sentences: tuple[extraction_sentences.Sentence, ...]) -> None:
    """Of what is extracted at least 95 % is right, and at least 60 % of what is there is found."""
    precision, recall, mistakes = score(sentences)

    assert precision >= 0.95, mistakes
    assert recall >= 0.60, mistakes


@pytest.mark.parametrize(("text", "expected"), extraction_sentences.POSITIVE)
def test_a_fact_is_read(text: str, expected: tuple[str, ...]) -> None:
    """Key, value and act of every fact in the sentence, and none besides."""
    actual = labels(text)

    assert {one.casefold() for one in expected} == actual


@pytest.mark.parametrize("text", [text for text, _ in extraction_sentences.NEGATIVE])
def test_what_only_looks_like_a_fact_is_not_read(text: str) -> None:
    """Questions, suppositions, quotations, negations, other people, passing things, idioms."""
    actual = labels(text)

    assert set() == actual


@pytest.mark.parametrize(
    ("text", "valid_from"),
    [
        ("I moved to Lisbon in March because of work", micros(2026, 3, 1)),
        ("I moved to Lisbon in August.", micros(2025, 8, 1)),
        ("I moved to Lisbon in August 2021.", micros(2021, 8, 1)),
        ("Last year I moved to Lisbon", micros(2025, 1, 1)),
        ("I moved to Lisbon yesterday", micros(2026, 5, 19)),
        ("I moved to Lisbon three weeks ago", micros(2026, 4, 29)),
        ("I moved to Lisbon last week", micros(2026, 5, 11)),
        ("I've lived in Lisbon since 2019", micros(2019, 1, 1)),
        ("I've lived in Lisbon for two years", micros(2024, 5, 20)),
        ("I'm moving to Lisbon next month", micros(2026, 6, 1)),
        ("I'm moving to Lisbon in March", micros(2027, 3, 1)),
        ("I live in Lisbon", None),
    ],
)
def test_since_when_it_holds_is_relative_to_when_it_was_said(text: str, valid_from: int | None) -> None:
    """All said at noon of Wednesday 20 May 2026, UTC; a period stands for its first instant."""
    (actual,) = read(text)

    assert ("Lisbon", valid_from) == (actual.value, actual.valid_from)


def test_an_ending_has_its_time() -> None:
    """As in "Until last year" and "last week" are ends; the new employer begins where the old one ended."""
    (until,) = read("I lived in Oslo until last year.")
    left, joined = read("I left Acme and joined Globex last week.")

    assert ("end", micros(2025, 1, 1)) == (until.act, until.valid_to)
    assert ("end", micros(2026, 5, 11), micros(2026, 5, 11), True) == (left.act, left.valid_to, joined.valid_from, joined.changed)


@pytest.mark.parametrize(
    ("text", "changed"),
    [("I moved to Lisbon", True), ("Actually, I live in Lisbon", True), ("I live in Lisbon now", True), ("I live in Lisbon", False)],
)
def test_the_speaker_may_say_that_it_changed(text: str, changed: bool) -> None:
    """Then the old value ends whatever the confidences."""
    (actual,) = read(text)

    assert (changed, "Lisbon") == (actual.changed, actual.value)


@pytest.mark.parametrize(
    ("text", "key", "confidence"),
    [("Call me Al", "name", 0.6), ("My name is Alex", "name", 1.0), ("My full name is Alexander Reyes", "full_name", 0.95)],
)
def test_the_seeds_confidences(text: str, key: str, confidence: float) -> None:
    """Seed 1's conflict example."""
    (actual,) = read(text)

    assert (key, confidence) == (actual.key, actual.confidence)


def test_properties_of_the_slot_come_with_the_candidate() -> None:
    """Importance and arity from the list of slots; the sentence is its quote, the subject as given."""
    (actual,) = extract("Well. I love \u2018em all? I'm allergic to peanuts!", subject="Ana", occurred_at=SAID_AT)[-1:]

    assert ("Ana", 0.6, True, "I'm allergic to peanuts!") == (actual.subject, actual.importance, actual.many, actual.quote)


@pytest.mark.parametrize(
    ("previous", "text", "expected"),
    [
        ("Nice to meet you! What's your name?", "Priya", [("name", "Priya")]),
        ("Where do you live?", "in Lisbon", [("home_city", "Lisbon")]),
        ("Do you have any allergies?", "peanuts and shellfish", [("allergy", "peanuts"), ("allergy", "shellfish")]),
        ("Do you have any allergies?", "no", []),
        ("Where do you live?", "Why do you ask?", []),
        ("Lovely weather in Lisbon.", "Lisbon", []),
    ],
)
def test_a_short_answer_needs_its_question(previous: str, text: str, expected: list[tuple[str, str]]) -> None:
    """The words alone say nothing."""
    actual = [(one.key, one.value) for one in read(text, previous)]

    assert expected == actual


def test_actually_corrects_what_was_just_said() -> None:
    """In the same turn, the slot that was filled last."""
    first, second = read("My name is Ana. Actually, it's Anna.")

    assert [("Ana", False), ("Anna", True)] == [(first.value, first.changed), (second.value, second.changed)]


def test_where_from_is_not_where_when_both_are_said() -> None:
    """As in "I'm from X" alone is the best guess of a home; beside "I live in Y" it is the home town."""
    actual = [(one.key, one.value) for one in read("I'm from Porto but I live in Lisbon")]

    assert [("hometown", "Porto"), ("home_city", "Lisbon")] == actual


HOSTILE = {
    "no spaces": "a" * 2_000_000,
    "spaces": " " * 2_000_000,
    "quotes": "\"'" * 700_000,
    "openings": " 'x" * 500_000,
    "ands": "I love a and " * 100_000,
    "commas": "i'm a, " * 200_000,
    "subjects": "and i and i'm " * 100_000,
    "well": "well, " * 300_000,
    "always": "please " * 300_000,
    "dates": "I live in Oslo since in on for 1 2 3 year " * 40_000,
    "sentences": "I live in Oslo. " * 100_000,
    "lines": "\n" * 2_000_000,
    "surrogates": "\ud800I live in \udfff" * 100_000,
    "nul": "I\0live\0in\0Oslo" * 100_000,
    "slashes": "she/her/" * 200_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_costs_no_more_than_ordinary_text(text: str) -> None:
    """Megabytes cost what the first 120,000 characters cost, and these at most 100 times an ordinary turn of that length."""
    ordinary = "I went to the market and bought some fish for dinner, which was nice. " * (clauses.TURN_CHARACTERS // 70)
    read(ordinary[:1000])
    start = perf_counter()
    read(ordinary)
    middle = perf_counter()
    read(text)
    end = perf_counter()

    assert end - middle < 100 * max(middle - start, 0.01)


def test_work_is_bounded() -> None:
    """At most so many sentences of so many characters are looked at, and values and quotes are short."""
    sentences = list(clauses.sentences("I live in Oslo. " * 10_000 + "x" * 10_000))
    (candidate, *_) = read("Always answer " + "very " * 1000 + "politely.")

    assert clauses.SENTENCES == len(sentences)
    assert max(len(one.text) for one in clauses.sentences("y" * 5000)) <= clauses.SENTENCE_CHARACTERS
    assert (True, True) == (len(candidate.value) <= 200, len(candidate.quote or "") <= 200)


def test_extremes_of_time_are_no_errors() -> None:
    """A date beyond the calendar is left out, the fact is not."""
    found = [extract("I moved to Oslo 90 years ago", subject="user", occurred_at=at) for at in (-(2**62), 2**62, -62135596800 * 10**6)]

    assert [None, None, None] == [one.valid_from for (one,) in found]


def test_the_port_has_an_adapter() -> None:
    """By name; the same as the function."""
    extractor: Extractor = PatternExtractor()

    assert "patterns-1" == extractor.name
    assert read("I live in Oslo") == extractor.extract("I live in Oslo", subject="user", occurred_at=SAID_AT)


def test_slots_are_listed_once() -> None:
    """One place, one entry; unlisted keys get their category's importance."""
    places = [(slot.category, slot.key) for slot in SLOTS]

    assert sorted(set(places)) == sorted(places)
    assert ("home_city", ["home_city"]) == (getattr(find("identity", "home_city"), "key", ""), [slot.key for slot in named("Lives  in")])
    assert (0.7, False) == (describe("decision", "database").importance, describe("decision", "database").many)
    assert all(re.fullmatch(r"[a-z_]+", slot.key) for slot in SLOTS)
