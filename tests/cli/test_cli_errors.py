"""Mistaken calls and environments: exit code 2, one message, no traceback, nothing half-written."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faults import fail

from events.log import files
from memory_actors.cli import run


@pytest.fixture
def kept(ask, tmp_path: Path, bytes_of):
    """A store with a user, which a mistaken command must leave as it was."""
    ask("record", "ann", "I live in Porto.")
    before = bytes_of(tmp_path / "store")
    yield tmp_path / "store"
    assert before == bytes_of(tmp_path / "store")


HALF = "half \udcff"

MISTAKES = {
    "unknown user": ("facts", "anne"),
    "unknown user, recall": ("recall", "anne", "x"),
    "unknown user, context": ("context", "anne"),
    "unknown user, forget": ("forget", "anne", "x"),
    "unknown user, correct": ("correct", "anne", "f1", "x"),
    "unknown user, end": ("end", "anne"),
    "unknown user, enrich": ("enrich", "anne"),
    "empty user": ("facts", ""),
    "reserved user": ("record", "@space", "x"),
    "empty query": ("recall", "ann", ""),
    "blank query": ("context", "ann", "  "),
    "no such k": ("recall", "ann", "x", "-k", "0"),
    "k is no number": ("recall", "ann", "x", "-k", "many"),
    "budget of 0": ("context", "ann", "x", "--budget", "0"),
    "budget below the frame": ("context", "ann", "--budget", "5"),
    "T in no known form": ("facts", "ann", "--as-of", "some day"),
    "T that is empty": ("facts", "ann", "--as-of", ""),
    "T beyond the end": ("facts", "ann", "--as-of", "@99"),
    "T that does not exist": ("facts", "ann", "--as-of", "2026-02-30"),
    "T that is a place, for valid-at": ("facts", "ann", "--valid-at", "@1"),
    "T of a diff": ("diff", "ann", "soon", "now"),
    "T of a copy": ("log", "copy", "--until", "@1", "elsewhere"),
    "occurred at no time": ("record", "ann", "x", "--occurred-at", "soon"),
    "empty turn": ("record", "ann", " "),
    "turn over 1 MiB": ("record", "ann", "x" * ((1 << 20) + 1)),
    "id over 128 bytes": ("record", "x" * 129, "x"),
    "id that is too long for a folder": ("record", "É" * 60, "x"),
    "turn id that is too long": ("record", "ann", "x", "--id", "x" * 300),
    "half a character in a user": ("record", HALF, "x"),
    "half a character in a space": ("record", "ann", "x", "--space", HALF),
    "half a character in a turn": ("record", "ann", HALF),
    "half a character in an id": ("record", "ann", "x", "--id", HALF),
    "half a character in a conversation": ("record", "ann", "x", "--conversation", HALF),
    "half a character in a query": ("recall", "ann", HALF),
    "half a character in a context": ("context", "ann", HALF),
    "half a character in what to forget": ("forget", "ann", HALF),
    "half a character in a correction": ("correct", "ann", "f2", HALF),
    "half a character in a fact": ("why", "ann", HALF),
    "half a character in SQL": ("sql", HALF),
    "half a character in T": ("facts", "ann", "--as-of", HALF),
    "nothing to forget": ("forget", "ann", ""),
    "unknown fact": ("why", "ann", "f999"),
    "unknown fact to correct": ("correct", "ann", "f999", "x"),
    "correction that is empty": ("correct", "ann", "f2", " "),
    "correction that changes nothing": ("correct", "ann", "f2", "Porto"),
    "no such conversation": ("end", "ann", "--conversation", "nope"),
    "SQL that changes something": ("sql", "DELETE FROM events"),
    "SQL that reads a file": ("sql", "SELECT * FROM read_csv('/etc/passwd')"),
    "no such policy": ("replay", "ann", "--policy", "/nonexistent.toml"),
    "no such role": ("record", "ann", "x", "--role", "robot"),
    "no such command": ("nonsense",),
    "no such option": ("facts", "ann", "--nonsense"),
    "argument missing": ("recall", "ann"),
    "one argument too many": ("facts", "ann", "bob"),
    "enrich of nobody": ("enrich",),
    "empty space": ("facts", "ann", "--space", ""),
    "empty store": ("facts", "ann", "--store", ""),
    "no such input": ("ingest", "/nonexistent.jsonl"),
    "a model that is not there": ("record", "ann", "x", "--embedder", "/nonexistent"),
    "a model that is not there, for an ingest": ("ingest", "-", "--embedder", "/nonexistent"),
    "a model that is not there, for enrich": ("enrich", "ann", "--embedder", "/nonexistent"),
    "ray that is nothing": ("record", "ann", "x", "--ray", " "),
}
MANY_LINES = ("SQL",)
"""What DuckDB says has a line that points at the place."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_and_nothing_is_written(ask, kept: Path, mistake: str) -> None:
    """As a line that begins with the error's kind, and with --json as one object; stdout stays empty."""
    words = MISTAKES[mistake]
    plain = ask(*words)

    assert (2, "") == (plain.code, plain.out)
    assert ": " in plain.err.splitlines()[0]
    assert 1 == len(plain.err.splitlines()) or mistake.startswith(MANY_LINES)

    error = ask(*words, "--json").error

    assert plain.err.startswith(f"{error['error']}: ")
    assert error["message"].strip()


@pytest.mark.parametrize(
    ("words", "kind", "hint"),
    [
        (("facts", "anne"), "UnknownUser", "Did you mean 'ann'?"),
        (("recall", "ann", ""), "InvalidInput", "say what to recall"),
        (("context", "ann", "--budget", "0"), "InvalidInput", "at least"),
        (("facts", "ann", "--as-of", "some day"), "InvalidInput", "3 days ago"),
        (("record", "ann", "x", "--embedder", "/nonexistent"), "ModelMissing", "--embedder none"),
        (("record", HALF, "x"), "InvalidInput", "lone surrogate"),
        (("record", "x" * 129, "x"), "InvalidInput", "128"),
        (("record", "ann", "x" * ((1 << 20) + 1)), "InvalidInput", "1,048,576"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_error_says_what_would_be_right(ask, kept: Path, words: tuple[str, ...], kind: str, hint: str) -> None:
    error = ask(*words, "--json").error

    assert kind == error["error"]
    assert hint in error["message"]


# -- stores that are none


READS = [
    ("facts", "ann"),
    ("recall", "ann", "x"),
    ("users",),
    ("log", "verify"),
    ("log", "stats"),
    ("sql", "SELECT 1"),
    ("forget", "ann", "x"),
]


@pytest.mark.parametrize("words", READS[:-1], ids=" ".join)
def test_a_read_of_a_store_that_is_not_there_makes_none(ask, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "StoreNotHere" == ask(*words, "--json").error["error"]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [*READS, ("record", "ann", "x")], ids=" ".join)
def test_a_store_that_is_a_file(ask, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "store").write_text("mine")

    assert "is a file" in ask(*words, "--json").error["message"]
    assert "is a file" in ask(*words, "--json", store=tmp_path / "store" / "below").error["message"]
    assert "mine" == (tmp_path / "store").read_text()


@pytest.mark.parametrize("words", [*READS, ("record", "ann", "x")], ids=" ".join)
def test_a_store_of_a_newer_format(ask, kept: Path, bytes_of, words: tuple[str, ...]) -> None:
    newer = kept.parent / "newer"
    shutil.copytree(kept, newer)
    file = newer / "store.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99, "windows": "other"}))
    before = bytes_of(newer)
    error = ask(*words, "--json", store=newer).error

    assert ("StoreTooNew", True) == (error["error"], "upgrade" in error["message"])
    assert before == bytes_of(newer)


def test_a_store_whose_description_is_damaged(ask, kept: Path) -> None:
    for content in (b"", b"{}", b"\xff\xfe", (kept / "store.json").read_bytes().replace(b'"small": 64', b'"small": 32')):
        damaged = kept.parent / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(kept, damaged)
        (damaged / "store.json").write_bytes(content)

        assert "StoreDamaged" == ask("users", "--json", store=damaged).error["error"]


def test_a_path_that_no_file_system_takes(ask) -> None:
    assert 2 == ask("users", store="x" * 300).code
    assert "OSError" == ask("users", "--json", store="x" * 300).error["error"]
    assert 2 == ask("users", store="a\0b").code


# -- no room


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_no_room_is_told_and_nothing_is_half_written(ask, kept: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """At the write of a commit."""
    monkeypatch.setattr(files, "_write_all", lambda *_: fail(code)())

    assert "StoreFull" == ask("record", "ann", "more", "--json").error["error"]
    assert "StoreFull" == ask("forget", "ann", "where I live", "--json").error["error"]


def test_no_room_for_a_new_store(tmp_path: Path) -> None:
    """In a process that may write no byte more: no store is left that would pass for one, and later there is room."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    words = [sys.executable, "-m", "memory_actors", "--store", str(tmp_path / "s"), "--embedder", "none", "record", "ann", "hello"]
    # the pipes of its streams are no files, so that they are not limited
    said = subprocess.run(
        words, capture_output=True, text=True, preexec_fn=limit, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )

    assert (2, "") == (said.returncode, said.stdout)
    assert said.stderr.startswith("StoreFull: ")
    assert "Traceback" not in said.stderr
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]
    assert 0 == run(words[3:])


def test_a_bulk_that_does_not_fit_ends_between_commits(tmp_path: Path) -> None:
    """What was acknowledged stays, the chain verifies, and the same ingest goes on once there is room."""
    file = tmp_path / "in.jsonl"
    turns = [
        {"user": "ann", "role": "user", "content": os.urandom(400).hex() if n > 200 else "short", "turn_id": f"t{n}"} for n in range(400)
    ]
    file.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    words = [
        sys.executable,
        "-m",
        "memory_actors",
        "--store",
        str(tmp_path / "s"),
        "--embedder",
        "none",
        "ingest",
        str(file),
        "--no-wait",
        "--json",
    ]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    said = subprocess.run(
        words, capture_output=True, text=True, preexec_fn=limit, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )

    assert (2, "StoreFull") == (said.returncode, json.loads(said.stderr)["error"])

    verified = subprocess.run([*words[:7], "log", "verify", "--json"], capture_output=True, text=True, check=True)
    again = subprocess.run(words, capture_output=True, text=True, check=True)

    assert json.loads(verified.stdout)["ok"]
    assert 0 < json.loads(again.stdout)["already_there"] < 400
    assert 400 == json.loads(again.stdout)["already_there"] + json.loads(again.stdout)["recorded"]


# -- models


def test_a_model_that_is_not_there_is_told_before_anything_is_written(ask, tmp_path: Path) -> None:
    """Not even a store is made."""
    (tmp_path / "in.jsonl").write_text('{"user": "ann", "role": "user", "content": "x"}\n')

    assert "ModelMissing" == ask("ingest", str(tmp_path / "in.jsonl"), "--json", embedder="/nonexistent").error["error"]
    assert not (tmp_path / "store").exists()


def test_reads_that_need_no_model_do_without_one(ask, kept: Path) -> None:
    assert ["Porto"] == [fact["value"] for fact in ask("facts", "ann", "--json", embedder="/nonexistent").json]


def test_a_turn_that_cannot_be_enriched_is_recorded_and_it_is_said(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn is durable before any model is asked: the command has done what it was asked for."""
    from events.errors import ModelMissing
    from memory_actors.models.embedder import SentenceTransformerEmbedder

    def missing(*_: object) -> None:
        raise ModelMissing("its weights are gone")

    monkeypatch.setattr(SentenceTransformerEmbedder, "embed", missing)
    said = ask("record", "ann", "I live in Porto.", "--json", embedder="some-model")

    assert (0, 1) == (said.code, said.json["seq"])
    assert "recorded, but not enriched: its weights are gone" in said.err
    assert 1 == ask("recall", "ann", "Porto", "--json").json["pending"]


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from memory_actors import cli

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.cli, "main", interrupted)

    assert 130 == run(["facts", "ann"])
    assert "interrupted" in capsys.readouterr().err


def test_a_lost_description_is_no_new_store(ask, tmp_path: Path) -> None:
    """A new secret would give every line another id: it is refused, and `log verify` finds it, with its exit code."""
    assert 0 == ask("record", "ann", "hello").code
    (tmp_path / "store" / "store.json").unlink()
    said = ask("record", "ann", "hello", "--json")

    assert (2, "StoreDamaged") == (said.code, json.loads(said.err)["error"])


def test_verify_finds_a_changed_description(ask, tmp_path: Path) -> None:
    assert 0 == ask("record", "ann", "hello").code
    file = tmp_path / "store" / "store.json"
    file.write_bytes(file.read_bytes().replace(b'"small"', b'"smalm"'))
    said = ask("log", "verify", "--json")

    assert (1, False) == (said.code, said.json["ok"])
    assert "store.json" in said.json["problems"][0]["file"]
