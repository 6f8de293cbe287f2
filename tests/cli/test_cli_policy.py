"""`policy show|set|diff`, and `replay` of a policy: for people, and as JSON."""

import tomllib
from pathlib import Path

import pytest

from events.policy import Policy, parse_policy

WIDER = "[session]\nwindow = 30\n[recall.weights]\nbm25 = 0.5\n"
CHANGED = [{"key": "session.window", "from": 20, "to": 30}, {"key": "recall.weights.bm25", "from": 0.0391, "to": 0.5}]


@pytest.fixture
def wider(tmp_path: Path) -> str:
    """A file with another window and another weight."""
    (tmp_path / "wider.toml").write_text(WIDER)
    return str(tmp_path / "wider.toml")


def test_set_says_what_changed_and_show_what_holds(ask, wider: str) -> None:
    """A store is made where there is none."""
    done = ask("policy", "set", wider, "--json").json
    shown = ask("policy", "show", "--json").json
    wanted = parse_policy(tomllib.loads(WIDER))

    assert {"space", "hash", "seq", "since", "policy", "set", "from", "changed"} == set(done)
    assert (1, True, wanted.hash, Policy().hash, CHANGED) == (done["seq"], done["set"], done["hash"], done["from"], done["changed"])
    assert {"space", "hash", "seq", "since", "policy", "changed"} == set(shown)
    assert (wanted, done["since"], CHANGED) == (parse_policy(shown["policy"]), shown["since"], shown["changed"])


def test_what_show_prints_can_be_set(ask, wider: str, tmp_path: Path) -> None:
    """It is TOML, with what is not the policy in comments; setting it changes nothing."""
    ask("policy", "set", wider)
    said = ask("policy", "show").out
    (tmp_path / "again.toml").write_text(said)

    assert said.startswith("# policy ")
    assert "2 values differ from the defaults" in said
    assert "window = 30  # default: 20" in said
    assert "held already, by event 1" in ask("policy", "set", str(tmp_path / "again.toml")).out
    assert "no difference" in ask("policy", "diff", str(tmp_path / "again.toml")).out


def test_an_equal_policy_writes_nothing(ask, wider: str, tmp_path: Path, bytes_of) -> None:
    ask("policy", "set", wider)
    before = bytes_of(tmp_path / "store")
    again = ask("policy", "set", wider, "--json").json

    assert (1, False, []) == (again["seq"], again["set"], again["changed"])
    assert before == bytes_of(tmp_path / "store")


def test_show_of_the_past(ask, wider: str, tmp_path: Path) -> None:
    """By the time or the place in the space's own stream."""
    ask("policy", "set", wider)
    default = ask("policy", "show", "--as-of", "2020-01-01", "--json").json

    assert (Policy().hash, 0, None, []) == (default["hash"], default["seq"], default["since"], default["changed"])
    assert default == ask("policy", "show", "--as-of", "@0", "--json").json
    assert "none was set: the defaults" in ask("policy", "show", "--as-of", "@0").out
    assert "beyond the end" in ask("policy", "show", "--as-of", "@2", "--json").error["message"]


def test_diff_of_files_times_and_names(ask, wider: str) -> None:
    ask("policy", "set", wider)
    for one in ("default", "@0", "2020-01-01"):
        found = ask("policy", "diff", one, "--json").json

        assert {"from", "to", "changed"} == set(found)
        assert ((one, Policy().hash), "live", CHANGED) == (tuple(found["from"].values()), found["to"]["name"], found["changed"])
    assert [] == ask("policy", "diff", wider, "live", "--json").json["changed"]
    said = ask("policy", "diff", "default", wider).out

    assert "session.window" in said
    assert "recall.weights.bm25" in said
    assert "a TOML file, live, default, or a time" in ask("policy", "diff", "nonsense", "--json").error["message"]


def test_spaces_have_their_own(ask, wider: str) -> None:
    ask("policy", "set", wider, "--space", "other")

    assert [] == ask("policy", "show", "--json").json["changed"]
    assert CHANGED == ask("policy", "show", "--space", "other", "--json").json["changed"]
    assert [] == ask("users", "--space", "other", "--json").json


def test_a_file_that_is_no_policy_sets_nothing(ask, tmp_path: Path) -> None:
    """Not even a store is made."""
    (tmp_path / "bad.toml").write_text("[recall.weights]\nfame = 1.0\n")
    error = ask("policy", "set", str(tmp_path / "bad.toml"), "--json").error

    assert ("InvalidInput", True) == (error["error"], "bad.toml" in error["message"])
    assert not (tmp_path / "store").exists()
    assert "StoreNotHere" == ask("policy", "show", "--json").error["error"]


# -- replay


def test_replay_ranks_queries_under_both_policies(ask, told: Path, tmp_path: Path) -> None:
    """Turns by their places on both sides."""
    (tmp_path / "p.toml").write_text("[session]\nwindow = 4\nkeep = 2\n[topics]\nlimit = 2\nsimilarity = 0.3\n[recall]\nk = 2\n")
    words = ("replay", "ann", "--policy", str(tmp_path / "p.toml"), "--query", "boats", "--query", "Lisbon")
    found = ask(*words, "--json", store=told).json
    boats, lisbon = found["rankings"]
    lost = [turn for turn in boats["turns"] if turn["after"] is None]

    assert {"from", "to", "facts", "episodes", "topics", "basis", "rankings"} == set(found)
    assert {"gained", "lost", "changed"} == set(found["topics"])
    assert ("boats", "Lisbon", ["dense"]) == (boats["query"], lisbon["query"], boats["missing"])
    assert {"turn", "role", "speaker", "content", "before", "after"} == set(boats["turns"][0])
    assert [1, 2] == [turn["after"]["rank"] for turn in boats["turns"] if turn["after"]]
    assert lost
    said = ask(*words, store=told).out

    assert "without the dense leg" in said


def test_replay_shows_topics_that_fade_otherwise(ask, told: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        "[session]\nwindow = 4\nkeep = 2\n[topics]\nlimit = 2\nsimilarity = 0.3\nbase_half_life_days = 30.0\nforget_below = 0.0\n"
    )
    found = ask("replay", "ann", "--policy", str(tmp_path / "p.toml"), "--as-of", "2025-12-31", "--json", store=told).json

    assert found["topics"]["changed"]
    assert all(change["from"]["half_life_days"] < change["to"]["half_life_days"] for change in found["topics"]["changed"])
    assert "half-life in days" in ask("replay", "ann", "--policy", str(tmp_path / "p.toml"), "--as-of", "2025-12-31", store=told).out


def test_replay_as_of_a_moment(ask, told: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[facts]\nstore_confidence = 1.0\n")
    words = ("replay", "ann", "--policy", str(tmp_path / "p.toml"), "--json")
    then, now = (ask(*words, *more, store=told).json["facts"]["lost"] for more in (("--as-of", "2025-12-31"), ()))

    assert ({"Porto", "vegetarian"}, {"Lisbon", "vegetarian"}) == ({fact["value"] for fact in then}, {fact["value"] for fact in now})
