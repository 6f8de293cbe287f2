"""A policy as text: what is printed reads back as the same policy; what differs is listed by key."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InvalidInput
from events.policy import FactRules, Policy, RecallRules, SessionRules, TopicRules, parse_policy
from memory_actors.policy_text import Changed, changes, flat, read_policy, toml
from projections.index.weights import WEIGHTS

SHARES = st.floats(0, 1)
POLICIES = st.builds(
    Policy,
    session=st.builds(SessionRules, window=st.integers(5, 10**12), keep=st.integers(1, 5)),
    facts=st.builds(FactRules, store_confidence=SHARES, active_confidence=SHARES, pending=st.booleans()),
    topics=st.builds(TopicRules, base_half_life_days=st.floats(1e-9, 30), forget_below=st.floats(-1e300, 1e300)),
    recall=st.builds(
        RecallRules,
        weights=st.dictionaries(st.sampled_from([*WEIGHTS, 'a "b".c', "ü\n", ""]), st.floats(allow_nan=False, allow_infinity=False)),
    ),
)


@given(policy=POLICIES)
def test_what_is_printed_reads_back(policy: Policy) -> None:
    """Equal, with an equal hash."""
    again = parse_policy(tomllib.loads(toml(policy)))

    assert (policy, policy.hash) == (again, again.hash)


def test_the_default_stands_beside_what_deviates() -> None:
    text = toml(Policy(session=SessionRules(window=30), facts=FactRules(pending=False), recall=RecallRules(weights={"bm25": 0.5})))

    assert "window = 30  # default: 20\nkeep = 10\n" in text
    assert "pending = false  # default: true\n" in text
    assert f"[recall.weights]\nbm25 = 0.5  # default: {WEIGHTS['bm25']}\n" in text
    assert "#" not in toml(Policy())
    assert "weights" not in toml(Policy())


def test_changes_are_listed_by_key() -> None:
    """A weight that is not named is the fitted one."""
    one = Policy(recall=RecallRules(weights={"bm25": 0.5, "dense": WEIGHTS["dense"]}))
    other = Policy(session=SessionRules(window=30))

    assert [Changed("session.window", 20, 30), Changed("recall.weights.bm25", 0.5, WEIGHTS["bm25"])] == changes(one, other)
    assert [] == changes(other, other)
    assert set(WEIGHTS) == {key.removeprefix("recall.weights.") for key in flat(one) if key.startswith("recall.weights.")}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x = [", "no TOML"),
        ("[sesion]", "sesion"),
        ("[session]\nkeep = 0", "session.keep"),
        ("[recall.weights]\nfame = 1.0", "'fame'"),
        ("[recall.weights]\nbm25 = nan", "finite"),
        ("[topics]\nforget_below = inf", "finite"),
        ("[context]\nbudget = 0", "budget"),
        ("[episodes]\nkey_topics = -1", "key topics"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, text: str, named: str) -> None:
    """By its name, and what is wrong with it."""
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=named) as error:
        read_policy(file)

    assert str(error.value).startswith(str(file))
    with pytest.raises(InvalidInput, match="No such file"):
        read_policy(tmp_path / "none.toml")
