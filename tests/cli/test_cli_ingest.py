"""Ingest: the whole input is checked before anything is written; the same turn again is found."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

TURNS = [
    {"user": "ann", "role": "user", "content": "I live in Porto.", "turn_id": "a1", "occurred_at": "2025-01-01T10:00:00Z"},
    {"user": "ann", "role": "assistant", "content": "Noted.", "turn_id": "a2", "occurred_at": "2025-01-01T10:00:05Z"},
    {"user": "bob", "role": "user", "content": "I am vegetarian.", "turn_id": "b1", "occurred_at": "2025-02-01T10:00:00Z"},
    {"user": "ann", "role": "user", "content": "I moved to Lisbon.", "turn_id": "a3", "occurred_at": "2025-03-01T10:00:00Z"},
]
INGESTED = {"recorded", "already_there", "streams", "seconds"}


def jsonl(path: Path, turns: list[Any] = TURNS) -> str:
    path.write_text("".join((turn if isinstance(turn, str) else json.dumps(turn)) + "\n" for turn in turns))
    return str(path)


def recorded(ask, user: str = "ann") -> list[dict[str, Any]]:
    return [event for event in ask("events", user, "--json").lines if event["type"] == "TurnRecorded"]


def test_a_file_of_turns(ask, tmp_path: Path) -> None:
    found = ask("ingest", jsonl(tmp_path / "in.jsonl"), "--json").json

    assert INGESTED == set(found)
    assert (4, 0, 2) == (found["recorded"], found["already_there"], found["streams"])
    assert ["a1", "a2", "a3"] == [event["payload"]["turn_id"] for event in recorded(ask)]
    assert ["Lisbon"] == [fact["value"] for fact in ask("facts", "ann", "--json").json]
    assert 0 == ask("recall", "ann", "x", "--json").json["pending"]


def test_the_same_again_is_there_already(ask, tmp_path: Path, bytes_of) -> None:
    """With turn ids and without; nothing is written."""
    plain = [{name: value for name, value in turn.items() if name != "turn_id"} for turn in TURNS]
    file = jsonl(tmp_path / "in.jsonl", [*TURNS, *plain, plain[0]])

    assert 9 == ask("ingest", file, "--json").json["recorded"]

    before = bytes_of(tmp_path / "store")
    again = ask("ingest", file, "--json").json

    assert (0, 9) == (again["recorded"], again["already_there"])
    assert before == bytes_of(tmp_path / "store")
    assert "9 were there already" in ask("ingest", file).out


def test_more_of_a_conversation_is_added(ask, tmp_path: Path) -> None:
    ask("ingest", jsonl(tmp_path / "in.jsonl", TURNS[:2]))
    found = ask("ingest", jsonl(tmp_path / "in.jsonl"), "--json").json

    assert (2, 2) == (found["recorded"], found["already_there"])


def test_several_files_and_a_repeat_among_them(ask, tmp_path: Path) -> None:
    one, other = jsonl(tmp_path / "one.jsonl", TURNS[:3]), jsonl(tmp_path / "other.jsonl", TURNS[2:])
    found = ask("ingest", one, other, "--json").json

    assert (4, 1) == (found["recorded"], found["already_there"])


def test_standard_input(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(json.dumps(turn) + "\n" for turn in TURNS).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    assert 4 == ask("ingest", "-", "--json").json["recorded"]


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("{not json", ":3"),
        ("[1, 2]", ":3"),
        ('{"user": "ann", "role": "user"}', "content"),
        ('{"user": "ann", "role": "robot", "content": "x"}', "role"),
        ('{"user": "ann", "role": "user", "content": ""}', "content"),
        ('{"user": "ann", "role": "user", "content": "x", "txet": 1}', "txet"),
        ('{"user": "half \\udc00", "role": "user", "content": "x"}', "lone surrogate"),
        (json.dumps({"user": "x" * 129, "role": "user", "content": "x"}), "128"),
        (json.dumps({"user": "@x", "role": "user", "content": "x"}), "@"),
        (json.dumps({"user": "ann", "role": "user", "content": "x" * ((1 << 20) + 1)}), "1 MiB"),
        ('{"user": "ann", "role": "user", "content": "x", "occurred_at": "soon"}', "occurred_at"),
        (json.dumps({"user": "ann", "role": "user", "content": "x", "meta": {"a": "y" * 70000}}), ":3"),
    ],
)
def test_a_bad_line_is_an_error_with_its_number_and_nothing_is_written(ask, tmp_path: Path, bytes_of, bad: str, named: str) -> None:
    """Whatever is wrong with it; the good lines before it are not recorded."""
    ask("record", "zoe", "here before")
    before = bytes_of(tmp_path / "store")
    said = ask("ingest", jsonl(tmp_path / "in.jsonl", [*TURNS[:2], bad, TURNS[3]]), "--json")

    assert named in said.error["message"]
    assert "in.jsonl:3" in said.error["message"]
    assert before == bytes_of(tmp_path / "store")


def test_bad_lines_can_be_skipped_and_are_listed(ask, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "in.jsonl", ["{not json", *TURNS, "{}"])

    assert "--skip-bad" in ask("ingest", file).err

    said = ask("ingest", file, "--skip-bad", "--json")

    assert (4, "") == (said.json["recorded"], said.err)
    assert ["in.jsonl:1", "in.jsonl:6"] == [line.split("/")[-1].split(": ")[0] for line in said.json["skipped"]]
    assert said.json["skipped"] == ask("ingest", file, "--skip-bad").err.splitlines()


def test_other_content_under_the_same_id_is_an_error_with_its_line(ask, tmp_path: Path, bytes_of) -> None:
    """In the input, and against what is recorded."""
    changed = [TURNS[0], {**TURNS[1], "content": "Something else."}]
    ask("ingest", jsonl(tmp_path / "in.jsonl", TURNS[:2]))
    before = bytes_of(tmp_path / "store")

    assert "in.jsonl:2" in ask("ingest", jsonl(tmp_path / "in.jsonl", changed), "--json").error["message"]
    assert "in.jsonl:3" in ask("ingest", jsonl(tmp_path / "in.jsonl", [*TURNS[:2], changed[1]]), "--json").error["message"]
    assert before == bytes_of(tmp_path / "store")


def test_as_recorded_stamps_when_it_was_said(ask, tmp_path: Path) -> None:
    """So that the past can be asked; the real time is kept beside it."""
    ask("ingest", jsonl(tmp_path / "in.jsonl", list(reversed(TURNS))), "--as-recorded")
    events = ask("events", "ann", "--json").lines

    assert ["2025-01-01T10:00:00Z", "2025-01-01T10:00:05Z", "2025-03-01T10:00:00Z"] == [event["recorded_at"] for event in recorded(ask)]
    assert all(event["imported_at"] is not None for event in events)
    assert ["Porto"] == [fact["value"] for fact in ask("facts", "ann", "--as-of", "2025-02-01", "--json").json]
    assert ["Lisbon"] == [fact["value"] for fact in ask("facts", "ann", "--json").json]
    assert [len(events)] == [row["backfilled"] for row in ask("log", "stats", "--json").json["users"] if row["user"] == "ann"]
    assert ask("log", "verify", "--json").json["ok"]


def test_as_recorded_needs_times_and_a_past(ask, tmp_path: Path, bytes_of) -> None:
    timeless = [{name: value for name, value in TURNS[0].items() if name != "occurred_at"}]

    assert "occurred_at" in ask("ingest", jsonl(tmp_path / "in.jsonl", [*TURNS[1:], *timeless]), "--as-recorded", "--json").error["message"]

    ask("record", "ann", "a live turn")
    before = bytes_of(tmp_path / "store")

    assert "live events" in ask("ingest", jsonl(tmp_path / "in.jsonl"), "--as-recorded", "--json").error["message"]
    assert before == bytes_of(tmp_path / "store")


def test_as_recorded_goes_on_where_it_ended(ask, tmp_path: Path) -> None:
    """The same stream in two runs gives what one run gives."""
    ask("ingest", jsonl(tmp_path / "in.jsonl", TURNS[:2]), "--as-recorded")
    ask("ingest", jsonl(tmp_path / "in.jsonl"), "--as-recorded")
    ask("ingest", jsonl(tmp_path / "in.jsonl"), "--as-recorded", store=tmp_path / "other")

    def told(**where: Path) -> list[tuple[str, str, object]]:
        return [(event["type"], event["recorded_at"], event["payload"]) for event in ask("events", "ann", "--json", **where).lines]

    assert told(store=tmp_path / "other") == told()


def test_without_waiting_all_is_durable_and_pending(ask, tmp_path: Path) -> None:
    ask("ingest", jsonl(tmp_path / "in.jsonl"), "--no-wait")

    assert 3 == ask("recall", "ann", "x", "--json").json["pending"]

    ask("enrich", "--all")

    assert (0, ["Lisbon"]) == (
        ask("recall", "ann", "x", "--json").json["pending"],
        [fact["value"] for fact in ask("facts", "ann", "--json").json],
    )


def test_locomo(ask, tmp_path: Path) -> None:
    """User = sample, conversation = session, both speakers are users, captions are appended."""
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "I live in Porto."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a dog"},
            ],
            "session_2_date_time": "9:00 am on 9 June, 2023",
            "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "I moved to Lisbon."}],
        },
        "qa": [{"question": "Where?", "answer": "Lisbon", "evidence": ["D2:1"], "category": 4}],
    }
    (tmp_path / "locomo.json").write_text(json.dumps([sample]))
    found = ask("ingest", str(tmp_path / "locomo.json"), "--as-recorded", "--json").json
    turns = [event["payload"] for event in recorded(ask, "conv-1")]

    assert (3, 1) == (found["recorded"], found["streams"])
    assert [("D1:1", "session_1", "user", "Ana"), ("D1:2", "session_1", "user", "Ben"), ("D2:1", "session_2", "user", "Ana")] == [
        (turn["turn_id"], turn["conversation"], turn["role"], turn["speaker"]) for turn in turns
    ]
    assert "Look! [image: a dog]" == turns[1]["content"]
    assert [("Ana", "Porto")] == [
        (fact["subject"], fact["value"]) for fact in ask("facts", "conv-1", "--as-of", "2023-05-09", "--json").json
    ]


def test_an_input_that_cannot_be_read_is_an_error(ask, tmp_path: Path) -> None:
    """No file, a folder, an empty or a binary file, the same one twice."""
    empty, binary, good = tmp_path / "empty", tmp_path / "binary", jsonl(tmp_path / "in.jsonl")
    empty.write_text("")
    binary.write_bytes(b"\x00\x01\x02")
    for paths in (["/nonexistent.jsonl"], [str(tmp_path)], [str(empty)], [str(binary)], [good, good], [good, str(empty)], []):
        assert "InvalidInput" == ask("ingest", *paths, "--json").error["error"]

    assert not list((tmp_path / "store").rglob("*.parquet"))


@pytest.mark.model
def test_ingest_with_the_real_model(ask, tmp_path: Path) -> None:
    found = ask("ingest", jsonl(tmp_path / "in.jsonl"), "--json", embedder="all-MiniLM-L6-v2").json
    recalled = ask("recall", "ann", "Which city did they go to?", "--json", embedder="all-MiniLM-L6-v2").json

    assert (4, []) == (found["recorded"], recalled["missing"])
    assert ask("topics", "ann", "--json").json
