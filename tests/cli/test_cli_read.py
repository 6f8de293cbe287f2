"""Commands that read: the shapes that are promised, for people and as JSON; moments; nothing is written."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_actors import demo

BASIS = {"seq", "now", "final"}
FACT = {
    "id",
    "subject",
    "category",
    "key",
    "value",
    "confidence",
    "importance",
    "valid_from",
    "valid_to",
    "recorded_at",
    "status",
    "source_seqs",
}
HIT = {"seq", "turn_id", "conversation", "turn", "role", "speaker", "content", "occurred_at", "score", "legs"}
EPISODE = {"id", "conversation", "title", "summary", "turn_start", "turn_end"}
TOPIC = {"id", "title", "priority", "half_life_days", "accesses", "messages"}
EVENT = {"seq", "type", "recorded_at", "imported_at", "occurred_at", "sources", "payload"}
TURN = {"turn_id", "conversation", "turn", "role", "speaker", "content"}
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")

READS = (
    ("recall", "ann", "boats"),
    ("context", "ann", "boats"),
    ("context", "ann"),
    ("facts", "ann"),
    ("facts", "ann", "--all"),
    ("episodes", "ann"),
    ("topics", "ann", "--all"),
    ("session", "ann"),
    ("events", "ann"),
    ("users",),
    ("conversations", "ann"),
    ("diff", "ann", "2025-12-31", "now"),
    ("why", "ann", "{fact}"),
    ("sql", "SELECT seq, type, recorded_at FROM events"),
    ("log", "verify"),
    ("log", "stats"),
    ("replay", "ann", "--policy", "{policy}"),
)


@pytest.fixture
def filled(ask, told: Path, tmp_path: Path) -> Callable[[tuple[str, ...]], list[str]]:
    """A command line with what stands in braces filled in."""
    policy = tmp_path / "policy.toml"
    policy.write_text("[session]\nwindow = 4\nkeep = 2\n[topics]\nlimit = 2\nsimilarity = 0.3\n")

    def fill(words: tuple[str, ...]) -> list[str]:
        fact = ask("facts", "ann", "--json", store=told).json[0]["id"] if "{fact}" in words else ""
        return [{"{fact}": fact, "{policy}": str(policy)}.get(word, word) for word in words]

    return fill


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_every_read_answers_people_and_programs_and_writes_nothing(ask, told: Path, filled, bytes_of, words: tuple[str, ...]) -> None:
    before = bytes_of(told)
    plain, parsed = ask(*filled(words), store=told), ask(*filled(words), "--json", store=told)

    assert (0, 0, "") == (plain.code, parsed.code, parsed.err)
    assert plain.out.strip()
    assert parsed.lines if words[0] == "events" else parsed.json is not None
    assert before == bytes_of(told)


def test_recall(ask, told: Path) -> None:
    found = ask("recall", "ann", "boats", "-k", "2", "--json", store=told).json

    assert {"user", "query", "basis", "exact", "pending", "hits", "facts", "episodes"} <= set(found)
    assert ("ann", "boats", BASIS, True, 0) == (found["user"], found["query"], set(found["basis"]), found["exact"], found["pending"])
    assert 2 == len(found["hits"])
    assert all(HIT == set(hit) and UTC.fullmatch(hit["occurred_at"]) for hit in found["hits"])
    assert FACT <= set(ask("recall", "ann", "my city", "--json", store=told).json["facts"][0])


def test_recall_says_that_the_dense_leg_is_missing(ask, told: Path) -> None:
    """In JSON and to people."""
    assert ["dense"] == ask("recall", "ann", "boats", "--json", store=told).json["missing"]
    assert "without the dense leg" in ask("recall", "ann", "boats", store=told).out
    assert "the dense leg of recall is missing" in ask("context", "ann", "boats", "--json", store=told).json["warnings"]
    assert "dense leg" in ask("context", "ann", "boats", store=told).err


def test_recall_takes_filters(ask, told: Path) -> None:
    hits = ask("recall", "ann", "Lisbon", "--role", "assistant", "--conversation", "later", "--json", store=told).json["hits"]

    assert ["Lisbon is sunny."] == [hit["content"] for hit in hits]


def test_context(ask, told: Path) -> None:
    found = ask("context", "ann", "boats", "--budget", "90", "--json", store=told).json

    assert {"text", "tokens", "budget", "tokenizer", "sections", "omitted", "warnings", "pending", "basis"} <= set(found)
    assert BASIS == set(found["basis"])
    assert 90 == found["budget"] >= found["tokens"]
    assert all({"name", "tokens", "items"} == set(section) for section in found["sections"])
    assert all({"source", "text"} == set(item) for section in found["sections"] for item in section["items"])
    assert all({"section", "source", "tokens"} == set(item) for item in found["omitted"])
    assert found["omitted"]
    assert found["text"] in ask("context", "ann", "boats", "--budget", "90", store=told).out


def test_facts(ask, told: Path) -> None:
    """Active ones unless --all."""
    active, everything = (ask("facts", "ann", *more, "--json", store=told).json for more in ((), ("--all",)))

    assert {"Lisbon", "vegetarian"} == {fact["value"] for fact in active}
    assert {"Lisbon", "vegetarian", "Porto"} == {fact["value"] for fact in everything}
    assert all(set(fact) >= FACT for fact in everything)
    assert {"active"} == {fact["status"] for fact in active}


def test_episodes_and_topics(ask, told: Path) -> None:
    [episode] = ask("episodes", "ann", "--json", store=told).json
    topics = ask("topics", "ann", "--all", "--json", store=told).json

    assert set(episode) >= EPISODE
    assert ("main", 1, 2) == (episode["conversation"], episode["turn_start"], episode["turn_end"])
    assert topics
    assert all(set(topic) >= TOPIC for topic in topics)


def test_session(ask, told: Path) -> None:
    latest, named = (ask("session", "ann", *more, "--json", store=told).json for more in ((), ("--conversation", "main")))

    assert ("later", ["I moved to Lisbon.", "Lisbon is sunny."]) == (latest["conversation"], [turn["content"] for turn in latest["turns"]])
    assert [3, 4, 5] == [turn["turn"] for turn in named["turns"]]


def test_events_are_one_object_a_line(ask, told: Path) -> None:
    """A turn's payload has all its fields, a speaker that is not known among them."""
    found = ask("events", "ann", "--json", store=told).lines

    assert all(EVENT == set(event) for event in found)
    assert list(range(1, len(found) + 1)) == [event["seq"] for event in found]
    assert ("TurnRecorded", None) == (found[0]["type"], found[0]["payload"]["speaker"])
    assert set(found[0]["payload"]) >= TURN
    assert found[3:] == ask("events", "ann", "--after", "3", "--json", store=told).lines


def test_users_and_conversations(ask, told: Path) -> None:
    assert ["ann", "bob"] == [row["user"] for row in ask("users", "--json", store=told).json]
    assert [("main", 5), ("later", 2)] == [
        (row["conversation"], row["turns"]) for row in ask("conversations", "ann", "--json", store=told).json
    ]
    assert [] == ask("users", "--space", "other", "--json", store=told).json


def test_diff(ask, told: Path) -> None:
    found = ask("diff", "ann", "2025-12-31", "now", "--json", store=told).json

    assert {"from", "to", "facts", "episodes", "topics"} == set(found)
    assert {"gained", "lost", "changed"} == set(found["facts"])
    assert (BASIS, BASIS) == (set(found["from"]), set(found["to"]))
    assert [("Porto", "Lisbon")] == [(change["from"]["value"], change["to"]["value"]) for change in found["facts"]["changed"]]
    assert "Porto → Lisbon" in ask("diff", "ann", "2025-12-31", "now", store=told).out
    assert "no difference" in ask("diff", "ann", "now", "now", store=told).out


def test_diff_takes_valid_at(ask, told: Path) -> None:
    found = ask("diff", "ann", "2025-12-31", "now", "--valid-at", "2025-12-05", "--json", store=told).json

    assert [] == found["facts"]["changed"]


def test_why(ask, told: Path) -> None:
    [lisbon] = [fact["id"] for fact in ask("facts", "ann", "--json", store=told).json if fact["value"] == "Lisbon"]
    found = ask("why", "ann", lisbon, "--json", store=told).json

    assert all(EVENT == set(event) for event in found)
    assert sorted(event["seq"] for event in found) == [event["seq"] for event in found]
    assert "I moved to Lisbon." in {event["payload"].get("content") for event in found}


def test_sql(ask, told: Path) -> None:
    """Over the space, as of any moment; times as everywhere."""
    query = "SELECT user, count(*) AS n, min(recorded_at) AS first FROM events WHERE type = 'TurnRecorded' GROUP BY user ORDER BY user"

    assert [("ann", 7), ("bob", 1)] == [(row["user"], row["n"]) for row in ask("sql", query, "--json", store=told).json]
    assert [("ann", 5)] == [(row["user"], row["n"]) for row in ask("sql", query, "--as-of", "2025-12-31", "--json", store=told).json]
    assert UTC.fullmatch(ask("sql", query, "--json", store=told).json[0]["first"])


def test_log_verify(ask, told: Path) -> None:
    found = ask("log", "verify", "--json", store=told).json

    assert (True, 2, []) == (found["ok"], found["streams"], found["problems"])
    assert found["events"] > 8


def test_log_verify_of_a_damaged_store_exits_with_one(ask, told: Path, tmp_path: Path) -> None:
    """And names the file; other reads say that it is damaged."""
    ask("log", "copy", "--until", "now", str(tmp_path / "store"), store=told)
    victim = min((tmp_path / "store" / "log").rglob("user=ann/*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 3] ^= 4
    victim.write_bytes(content)
    found = ask("log", "verify", "--json")

    assert (1, False) == (found.code, found.json["ok"])
    assert {"file", "row", "what"} == set(found.json["problems"][0])
    assert victim.name in found.json["problems"][0]["file"]
    assert 1 == ask("log", "verify").code
    assert "StoreDamaged" == ask("facts", "ann", "--json").error["error"]


def test_log_stats(ask, told: Path) -> None:
    found = ask("log", "stats", "--json", store=told).json

    assert {"users", "files", "bytes"} == set(found)
    assert {"space", "user", "events", "turns", "first", "last", "backfilled"} == set(found["users"][0])
    assert [("ann", 7), ("bob", 1)] == [(row["user"], row["turns"]) for row in found["users"]]
    assert found["bytes"] == sum(path.stat().st_size for path in told.rglob("*") if path.is_file())


def test_log_copy_is_the_store_as_it_was(ask, told: Path, tmp_path: Path) -> None:
    """The same events to the byte, and nothing later."""
    found = ask("log", "copy", "--until", "2025-12-31", str(tmp_path / "store"), "--json", store=told).json

    assert 1 == found["streams"]
    assert ask("events", "ann", "--as-of", "2025-12-31", "--json", store=told).out == ask("events", "ann", "--json").out
    assert ask("log", "verify", "--json").json["ok"]
    assert "there already" in ask("log", "copy", "--until", "now", str(tmp_path / "store"), "--json", store=told).error["message"]


def test_replay(ask, told: Path, tmp_path: Path) -> None:
    """Under another window there are other episodes; a policy that is none is named."""
    policy = tmp_path / "policy.toml"
    policy.write_text("[session]\nwindow = 2\nkeep = 1\n")
    found = ask("replay", "ann", "--policy", str(policy), "--json", store=told).json

    assert {"from", "to", "facts", "episodes", "topics", "basis", "rankings"} == set(found)
    assert found["episodes"]["gained"] or found["episodes"]["lost"]

    policy.write_text("[sesion]\n")

    assert "sesion" in ask("replay", "ann", "--policy", str(policy), "--json", store=told).error["message"]


# -- moments


@pytest.mark.parametrize(
    "moment", ["2025-12-31", "2025-12", "2025-12-31T12:00:00Z", "2025-12-31T12:00", "2025-12-31T14:00:00+02:00", "2025-12-31 12:00:00.5Z"]
)
def test_as_of_takes_every_form(ask, told: Path, moment: str) -> None:
    """And answers as it was known then: before the move."""
    values = {fact["value"] for fact in ask("facts", "ann", "--as-of", moment, "--json", store=told).json}

    assert {"Porto", "vegetarian"} == values


@pytest.mark.parametrize(("moment", "there"), [("@5", False), ("@99999", None), ("now", True), ("1 minute ago", True), ("today", True)])
def test_as_of_takes_places_and_words(ask, told: Path, moment: str, there: bool | None) -> None:
    said = ask("facts", "ann", "--as-of", moment, "--json", store=told)

    if there is None:
        assert "beyond the end" in said.error["message"]
    else:
        assert there == bool(said.json)


@pytest.mark.parametrize(
    "command",
    [one for one in READS if one[0] in ("recall", "context", "facts", "episodes", "topics", "session", "events", "conversations")],
    ids=" ".join,
)
def test_every_read_takes_as_of_before_the_first_event(ask, told: Path, command: tuple[str, ...]) -> None:
    """Empty, and for people it says when the stream begins."""
    parsed, plain = (ask(*command, "--as-of", "2020-01-01", *more, store=told) for more in (("--json",), ()))

    assert (0, 0) == (parsed.code, plain.code)
    assert "begins at 2025-12-01T00:00:00" in plain.out + plain.err + (parsed.out if command[0] == "context" else "")
    if command[0] in ("recall", "context"):
        assert "2025-12-01T00:00:00Z" == parsed.json["begins"]


def test_valid_at_asks_about_another_time_than_as_of(ask, told: Path) -> None:
    """What is known now about then, and what was known then."""
    now_about_then = ask("facts", "ann", "--valid-at", "2025-12-15", "--json", store=told).json
    recalled = ask("recall", "ann", "my city", "--valid-at", "2025-12-15", "--json", store=told).json
    context = ask("context", "ann", "my city", "--valid-at", "2025-12-15", "--json", store=told).json

    assert "Porto" in {fact["value"] for fact in now_about_then}
    assert "Porto" in {fact["value"] for fact in recalled["facts"]}
    assert "home city: Porto" in context["text"]


@pytest.mark.parametrize("order", [("{options}", "facts", "ann"), ("facts", "{options}", "ann"), ("facts", "ann", "{options}")], ids=str)
def test_options_stand_before_or_after_the_command(capsys, told: Path, order: tuple[str, ...]) -> None:
    """Those after it win."""
    from memory_actors.cli import run

    options = ["--store", str(told), "--json", "--embedder", "none"]
    words = [word for one in order for word in (options if one == "{options}" else [one])]

    assert 0 == run(words)
    assert capsys.readouterr().out.startswith("[")
    assert 0 == run(["--store", "/nowhere", *words]) if order[0] != "{options}" else True


def test_the_environment_says_where_the_store_is(capsys, told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory_actors.cli import run

    monkeypatch.setenv("MEMORY_ACTORS_STORE", str(told))
    monkeypatch.setenv("MEMORY_ACTORS_EMBEDDER", "none")

    assert 0 == run(["users", "--json"])
    assert "ann" in capsys.readouterr().out


def test_what_looks_like_markup_is_shown_as_it_is(ask) -> None:
    """Names and texts with brackets and control characters reach the terminal as text."""
    ask("record", "[/x]", "[bold]\x1b[31m hello [/]")
    for command in (
        ("facts", "[/x]"),
        ("session", "[/x]"),
        ("events", "[/x]"),
        ("context", "[/x]"),
        ("episodes", "[/x]"),
        ("forget", "[/x]", "[/y] zz"),
    ):
        said = ask(*command)

        assert 0 == said.code
        assert "\x1b[31m" not in said.out
    assert "[bold]\\x1b[31m hello [/]" in ask("session", "[/x]").out


# -- with the real model


@pytest.mark.model
def test_the_demo_conversation_answers_as_its_author_says(ask) -> None:
    """Now and as of earlier dates; dense leg there."""
    from histories import demo_store

    for question in demo.QUESTIONS:
        moment = () if question.as_of is None else ("--as-of", question.as_of)
        found = ask("recall", demo.USER, question.query, *moment, "--json", store=demo_store(), embedder="all-MiniLM-L6-v2").json

        assert [] == found["missing"]
        assert found["hits"]

    now, then = (
        ask("context", demo.USER, demo.QUESTIONS[0].query, *moment, store=demo_store(), embedder="all-MiniLM-L6-v2").out
        for moment in ((), ("--as-of", "2026-03-31"))
    )

    assert "home city: Lisbon" in now
    assert "home city: Porto" in then
