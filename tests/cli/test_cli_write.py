"""Commands that write: what they answer, and that a repeat is found."""

import tomllib
from pathlib import Path

import pytest

from memory_actors.cli.group import COMMANDS, cli


def turns(ask, user: str = "ann") -> list[str]:
    return [event["payload"]["content"] for event in ask("events", user, "--json").lines if event["type"] == "TurnRecorded"]


def test_record(ask) -> None:
    """Durable, and enriched when the command ends; the same id again is found."""
    first = ask("record", "ann", "I live in Porto.", "--id", "m1", "--json").json
    again = ask("record", "ann", "I live in Porto.", "--id", "m1", "--json").json

    assert (1, False) == (first["seq"], first["duplicate"])
    assert (1, True, first["recorded_at"]) == (again["seq"], again["duplicate"], again["recorded_at"])
    assert ["Porto"] == [fact["value"] for fact in ask("facts", "ann", "--json").json]
    assert "was there already as event 1" in ask("record", "ann", "I live in Porto.", "--id", "m1").out


def test_record_takes_all_that_a_turn_has(ask) -> None:
    given = ("--role", "assistant", "--conversation", "work", "--speaker", "Ben", "--occurred-at", "2025-06-01T10:00:00+02:00")
    ask("record", "ann", "hello", *given)
    [turn] = ask("session", "ann", "--json").json["turns"]

    assert ("assistant", "work", "Ben", "2025-06-01T08:00:00Z") == (
        turn["role"],
        turn["conversation"],
        turn["speaker"],
        turn["occurred_at"],
    )


def test_record_without_waiting_leaves_the_work_to_enrich(ask) -> None:
    ask("record", "ann", "I live in Porto.", "--no-wait")

    assert (1, []) == (ask("recall", "ann", "x", "--json").json["pending"], ask("facts", "ann", "--json").json)
    assert "memory-actors enrich ann" in ask("recall", "ann", "x").out
    assert {"streams": 1} == ask("enrich", "--all", "--json").json
    assert (0, 1) == (ask("recall", "ann", "x", "--json").json["pending"], len(ask("facts", "ann", "--json").json))
    assert 0 == ask("enrich", "ann").code


def test_end(ask) -> None:
    ask("record", "ann", "hello", "--conversation", "work")
    said = ask("end", "ann", "--conversation", "work", "--note", "done", "--json").json

    assert said["seq"] > 1
    assert [True] == [row["ended"] for row in ask("conversations", "ann", "--json").json]
    assert ["work"] == [row["conversation"] for row in ask("episodes", "ann", "--json").json]
    assert 0 == ask("end", "ann", "--conversation", "work").code


def test_forget(ask) -> None:
    """The facts, and the turns that would bring them back."""
    for text in ("I am vegetarian.", "I live in Porto."):
        ask("record", "ann", text)
    found = ask("forget", "ann", "that I am vegetarian", "--json").json

    assert (2, ["vegetarian"], ["I am vegetarian."]) == (
        found["found"],
        [fact["value"] for fact in found["facts"]],
        [turn["content"] for turn in found["turns"]],
    )
    assert ["Porto"] == [fact["value"] for fact in ask("facts", "ann", "--json").json]
    assert "vegetarian" not in ask("recall", "ann", "vegetarian", "--json").json["hits"]
    assert 0 == ask("forget", "ann", "that I am vegetarian", "--json").json["found"]
    assert "nothing was changed" in ask("forget", "ann", "that I am vegetarian").out
    assert "withdrew 1 facts and 1 turns" in ask("forget", "ann", "where I live").out


def test_correct(ask) -> None:
    ask("record", "ann", "I live in Porto.")
    [porto] = ask("facts", "ann", "--json").json
    ask("correct", "ann", porto["id"], "Braga", "--json")
    [braga] = ask("facts", "ann", "--json").json

    assert ("Braga", 1.0) == (braga["value"], braga["confidence"])
    assert 0 == ask("correct", "ann", braga["id"], "Faro").code


def test_nothing_crosses_spaces(ask) -> None:
    ask("record", "ann", "hello", "--space", "work")

    assert "UnknownUser" == ask("facts", "ann", "--json").error["error"]
    assert ["ann"] == [row["user"] for row in ask("users", "--space", "work", "--json").json]


def test_a_name_with_dots_and_slashes_stays_inside_its_folder(ask, tmp_path: Path) -> None:
    for user in ("../x", "../../../etc/x", "/etc/x", ".", "..", "a/b", "C:\\x", "%2e%2e"):
        assert 0 == ask("record", user, "hello", "--space", "../s").code
        assert ["hello"] == [turn["content"] for turn in ask("session", user, "--space", "../s", "--json").json["turns"]]

    assert ["store"] == sorted(path.name for path in tmp_path.iterdir())
    assert 8 == len(ask("users", "--space", "../s", "--json").json)
    assert ask("log", "verify", "--json").json["ok"]


def test_doctor(ask) -> None:
    """All is in order here; a model that is not there is a problem, and the exit code says so."""
    said = ask("doctor", "--json")
    checks = {finding["check"]: finding["state"] for finding in said.json}

    assert (0, "ok", "warning") == (said.code, checks["store"], checks["embedder"])
    assert "python" in ask("doctor").out
    assert 1 == ask("doctor", "--embedder", "/nonexistent").code


def test_doctor_names_a_store_that_is_none(ask, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")

    assert "problem" in {finding["state"] for finding in ask("doctor", "--json", store=file).json if finding["check"] == "store"}
    assert 1 == ask("doctor", store=file).code


@pytest.mark.model
def test_record_with_the_real_model_makes_vectors_and_topics(ask) -> None:
    ask("record", "ann", "The boats left the harbour.", embedder="all-MiniLM-L6-v2")
    found = ask("recall", "ann", "ships at sea", "--json", embedder="all-MiniLM-L6-v2").json

    assert ([], 1) == (found["missing"], len(found["hits"]))
    assert ["The boats left the harbour."] == [topic["title"] for topic in ask("topics", "ann", "--json").json]


@pytest.mark.model
@pytest.mark.timeout(120)
def test_the_demo_runs_in_this_process(ask) -> None:
    """All its steps; then it prints what to try."""
    said = ask("demo", "--ray", "off", embedder="all-MiniLM-L6-v2")

    assert 0 == said.code
    assert "sound:" in said.out
    assert 3 == said.out.count("--store ")
    assert "Porto → Lisbon" in said.out


# -- help


def every_command() -> list[tuple[str, ...]]:
    return [*((name,) for name in COMMANDS), ("log", "verify"), ("log", "stats"), ("log", "copy"), ("evaluate", "locomo")]


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_has_a_help_text(ask, words: tuple[str, ...]) -> None:
    """What it does, its options, and those that every command has."""
    said = ask(*words, "--help")

    assert (0, "") == (said.code, said.err)
    assert f"Usage: memory-actors {' '.join(words[:1])}" in said.out
    for option in ("--store", "--json", "--embedder", "--space"):
        assert option in said.out
    assert all(line.strip() for line in said.out.split("\n\n")[1].splitlines())


def test_the_help_lists_all_commands_with_what_they_do(ask) -> None:
    out = ask("--help").out

    for name in COMMANDS:
        [line] = [line for line in out.splitlines() if line.split()[:1] == [name]]
        assert len(line.split()) > 2
    assert set(COMMANDS) == set(cli.list_commands(None))  # type: ignore[arg-type]


def test_the_version_is_that_of_the_package(ask) -> None:
    version = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["version"]

    assert version in ask("--version").out


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_two(capsys) -> None:
    from memory_actors.cli import run

    assert 2 == run([])

    out, err = capsys.readouterr()

    assert "" == out
    assert err.startswith("Usage: memory-actors")
