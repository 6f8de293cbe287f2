"""What a request to forget names, and what it must leave alone."""

import pytest

from events.vocabulary import Category
from memory_actors.reads.forgetting import match_facts
from projections.facts import FactRow


def row(fact: str, category: Category, key: str, value: str, subject: str = "user") -> FactRow:
    return FactRow(
        id=fact, subject=subject, category=category, key=key, value=value, confidence=0.9, importance=0.6,
        valid_from=None, valid_to=None, recorded_at=1, occurred_at=1, status="active", source_seqs=(1,), quote=None,
        extractor="patterns-1", many=False, tags=(), seq=int(fact[1:]),
    )  # fmt: skip


ROWS = [
    row("f2", "identity", "name", "Ana"),
    row("f3", "identity", "full_name", "Ana Sousa"),
    row("f4", "identity", "home_city", "Lisbon"),
    row("f5", "constraint", "diet", "vegetarian"),
    row("f6", "preference", "likes", "pizza"),
    row("f7", "preference", "likes", "hiking"),
    row("f8", "preference", "dislikes", "pizza with pineapple"),
    row("f9", "constraint", "allergy", "peanuts"),
    row("f10", "constraint", "allergy", "tree nuts"),
    row("f11", "preference", "likes", "pizza", subject="gruzilkin"),
    row("f12", "identity", "employer", "Globex"),
    row("f13", "instruction", "standing", "never use emojis"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f12", ["f12"]),
        ("forget F12 and f7, please", ["f7", "f12"]),
        ("f99", []),
        ("that I am vegetarian", ["f5"]),
        ("my address", ["f4"]),
        ("where I live", ["f4"]),
        ("that I live in Lisbon", ["f4"]),
        ("my name", ["f2"]),
        ("my full name", ["f3"]),
        ("gruzilkin likes pizza", ["f11"]),
        ("forget that I like pizza", ["f6"]),
        ("that I don't like pizza with pineapple", ["f8"]),
        ("my allergies", ["f9", "f10"]),
        ("my peanut allergy", ["f9"]),
        ("that I live in Lisbon and that I am vegetarian", ["f4", "f5"]),
        ("that I work at Globex", ["f12"]),
        ("what I said about emojis", ["f13"]),
        ("my preferences", ["f6", "f7", "f8"]),
        ("that my sister likes pizza", []),
        ("that I like sailing", []),
        ("forget everything", []),
        ("", []),
    ],
)
def test_a_request_names_these_facts(text: str, expected: list[str]) -> None:
    """The facts that the words describe, in the order of the rows, and no others."""
    actual = [one.id for one in match_facts(text, ROWS)]

    assert expected == actual


def test_liking_pizza_is_not_liking_hiking() -> None:
    """A word that only names the slot does not choose among the values of the slot."""
    actual = match_facts("forget that I like pizza", [row("f7", "preference", "likes", "hiking")])

    assert [] == actual


def test_own_facts_win_over_anothers() -> None:
    """A person's name in the request chooses that person's facts."""
    actual = [one.id for one in match_facts("what gruzilkin likes", ROWS)]

    assert ["f11"] == actual
