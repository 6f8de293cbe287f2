"""A policy is a value: equal ones have one hash, unknown keys are named, impossible ones are refused."""

import re
from typing import Any

import msgspec
import pytest

from events.deciding.fact_slots import FactRules
from events.errors import InvalidInput
from events.policy import ContextRules, EpisodeRules, Policy, RecallRules, SessionRules, TopicRules, parse_policy


def test_the_numbers_of_the_seeds_are_the_defaults() -> None:
    """Windows of seed 1, thresholds of seeds 1 and 3, decay of seed 4."""
    policy = Policy()

    assert (20, 10) == (policy.session.window, policy.session.keep)
    assert (0.4, 0.2, 0.7) == (policy.facts.store_confidence, policy.facts.store_importance, policy.facts.active_confidence)
    assert (20, 0.05, 1, 30, 5) == (
        policy.topics.limit,
        policy.topics.forget_below,
        policy.topics.base_half_life_days,
        policy.topics.max_half_life_days,
        policy.topics.accesses_to_double,
    )
    assert 0.5 == policy.context.inject_importance


def test_equal_policies_have_one_hash() -> None:
    """However they were made."""
    assert Policy().hash == parse_policy({}).hash == parse_policy({"session": {"keep": 10, "window": 20}}).hash
    assert re.fullmatch("[0-9a-f]{16}", Policy().hash)
    assert Policy(recall=RecallRules(weights={"a": 1, "b": 2})).hash == Policy(recall=RecallRules(weights={"b": 2, "a": 1})).hash


@pytest.mark.parametrize(
    "other",
    [
        Policy(session=SessionRules(window=21)),
        Policy(facts=FactRules(pending=False)),
        Policy(episodes=EpisodeRules(enabled=False)),
        Policy(topics=TopicRules(similarity=0.7)),
        Policy(recall=RecallRules(k=11)),
        Policy(context=ContextRules(budget=1)),
    ],
)
def test_any_other_value_gives_another_hash(other: Policy) -> None:
    assert Policy().hash != other.hash


def test_a_policy_survives_its_json() -> None:
    policy = Policy(session=SessionRules(window=7, keep=3))

    assert policy == parse_policy(msgspec.json.decode(msgspec.json.encode(policy)))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"sesion": {}}, "sesion"),
        ({"session": {"windows": 3}}, "windows"),
        ({"topics": {"limit": "many"}}, "limit"),
        ({"session": 3}, "session"),
        ({"recall": {"weights": {"a": "b"}}}, "weights"),
    ],
)
def test_keys_that_are_none_and_values_of_other_kinds_are_named(values: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        parse_policy(values)


@pytest.mark.parametrize(
    ("values", "law"),
    [
        ({"session": {"window": 3, "keep": 4}}, "session.keep"),
        ({"session": {"keep": 0}}, "session.keep"),
        ({"topics": {"similarity": 1.5}}, "topics.similarity"),
        ({"topics": {"limit": 0}}, "topics.limit"),
        ({"topics": {"accesses_to_double": 0}}, "accesses_to_double"),
        ({"topics": {"base_half_life_days": 40.0}}, "half-lives"),
        ({"topics": {"base_half_life_days": 0.0}}, "half-lives"),
        ({"context": {"hits": 501}}, "context.hits"),
        ({"context": {"facts_share": 1.5}}, "share"),
        ({"facts": {"store_confidence": -1.0}}, "confidences"),
        ({"episodes": {"summary_characters": 0}}, "episodes"),
        ({"recall": {"k": 0}}, "recall.k"),
    ],
)
def test_values_that_make_no_sense_are_refused(values: dict[str, Any], law: str) -> None:
    with pytest.raises(InvalidInput, match=law):
        parse_policy(values)
