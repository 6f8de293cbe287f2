"""How a question is read: the times it names, the answer it wants, whom it is about, what is searched for."""

from datetime import UTC, datetime

import pytest

from projections.index import cues
from projections.index.asked import MOST_TERMS, read_question
from projections.index.dates import DAY, named_spans
from projections.index.lexical import LexicalIndex
from projections.index.tokens import words

NOW = datetime(2023, 7, 12, 15, tzinfo=UTC)  # a Wednesday


def _micros(instant: datetime) -> int:
    return int(instant.timestamp()) * 1_000_000


def _spans(question: str) -> list[str]:
    """The spans as first and last day, ISO."""
    found = named_spans(question, _micros(NOW), (2022, 2023))
    return [f"{_day(start)}..{_day(end - DAY)}" for start, end in found]


def _day(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened in May 2023?", ["2023-05-01..2023-05-31"]),
        ("What happened on 8 May, 2023?", ["2023-05-08..2023-05-08"]),
        ("What happened on May 8th 2023?", ["2023-05-08..2023-05-08"]),
        ("What happened on 2023-05-08?", ["2023-05-08..2023-05-08"]),
        ("What happened in february?", ["2022-02-01..2022-02-28", "2023-02-01..2023-02-28"]),
        ("What did we say last May?", ["2023-05-01..2023-05-31"]),
        ("What did we say last September?", ["2022-09-01..2022-09-30"]),
        ("What happened in 2022?", ["2022-01-01..2022-12-31"]),
        ("What did I eat yesterday?", ["2023-07-11..2023-07-11"]),
        ("What did I eat today?", ["2023-07-12..2023-07-12"]),
        ("What did I eat last Monday?", ["2023-07-10..2023-07-10"]),
        ("What did I eat last Wednesday?", ["2023-07-05..2023-07-05"]),
        ("What did we do last weekend?", ["2023-07-08..2023-07-09"]),
        ("What did we do last week?", ["2023-07-03..2023-07-11"]),
        ("What did we do this week?", ["2023-07-05..2023-07-12"]),
        ("What did we do three days ago?", ["2023-07-09..2023-07-09"]),
        ("What did we do 2 weeks ago?", ["2023-06-27..2023-06-29"]),
        ("May I ask who may march?", []),
        ("What happened on 31 June 2023?", []),
        ("What about 2023 cats?", []),
        ("Who is Ann?", []),
    ],
)
def test_named_times(question: str, expected: list[str]) -> None:
    """Asked on Wednesday 2023-07-12 about turns of 2022 and 2023."""
    actual = _spans(question)

    assert expected == actual


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("We met last week.", cues.TIME),
        ("We have three.", cues.NUMBER),
        ("We saw Paris.", cues.NAME),
        ("I think I do.", 0),
        ("How are you? [image: a dog]", cues.QUESTION),
        ("How are you? I am well.", 0),
        ("Did you see Ann in 2023?", cues.QUESTION | cues.TIME | cues.NUMBER | cues.NAME),
    ],
)
def test_marks(content: str, expected: int) -> None:
    """What a turn bears; a caption does not end a sentence."""
    actual = cues.marks(content, words(content))

    assert expected == actual


@pytest.mark.parametrize(
    ("question", "expected"),
    [("When did she go?", cues.TIME), ("How many are there?", cues.NUMBER), ("Which book?", cues.NAME), ("Why?", 0)],
)
def test_wanted(question: str, expected: int) -> None:
    """The kind of answer asked for."""
    actual = cues.wanted(question)

    assert expected == actual


def _lexical(texts: list[list[str]]) -> LexicalIndex:
    index = LexicalIndex()
    for seq, text in enumerate(texts, 1):
        index.add(seq, text)
    return index


def test_a_speakers_name_is_not_searched_for() -> None:
    """It stands for who said it, unless it is all there is."""
    lexical = _lexical([["dog"]]).at(1)

    about = read_question("Where is Anna's dog?", lexical, {4: "Anna", 5: "Ben"})
    alone = read_question("And Anna?", lexical, {4: "Anna", 5: "Ben"})

    assert (("dog",), frozenset({4}), False) == (about.terms, about.speakers, about.own)
    assert (("anna",), frozenset({4})) == (alone.terms, alone.speakers)


def test_a_question_about_everyone_prefers_nobody() -> None:
    """Both speakers are named."""
    asked = read_question("What do Anna and Ben share?", _lexical([]).at(0), {4: "Anna", 5: "Ben"})

    assert asked.speakers == frozenset()
    assert not asked.own


def test_a_long_query_is_cut_to_its_rarest_terms() -> None:
    """Those that occur nowhere are of no use, and the most common goes next."""
    rare = [f"w{number}" for number in range(MOST_TERMS)]
    lexical = _lexical([["common"], [*rare, "common"]]).at(2)

    asked = read_question(" ".join(["unseen", "common", *rare]), lexical, {})

    assert set(rare) == set(asked.terms)
