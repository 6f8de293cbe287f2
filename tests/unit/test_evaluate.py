"""Evaluation goes through the same recall as everything else, and its measures are those of the definition."""

import json
from pathlib import Path

import pytest

from events.errors import InvalidInput
from events.policy import Policy
from memory_actors.cli import run
from memory_actors.evaluation.evaluate import Asked, ask, report, tasks

WORDS = ("kite", "harbour", "violin", "lemon", "glacier", "copper", "orchard", "lantern", "saffron", "canyon")


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    """A conversation in LoCoMo's form: two speakers, two sessions, ten turns each, a question a turn."""

    def turn(session: int, place: int) -> dict[str, str]:
        word = WORDS[place]
        text = f"I bought a {word} for session {session}" if session == 1 else f"The {word} broke, sadly, in session {session}"
        return {"speaker": "Ana" if place % 2 else "Bo", "dia_id": f"D{session}:{place + 1}", "text": text}

    conversation = {"speaker_a": "Ana", "speaker_b": "Bo"}
    for session in (1, 2):
        conversation[f"session_{session}"] = [turn(session, place) for place in range(10)]
        conversation[f"session_{session}_date_time"] = f"1:0{session} pm on {session} May, 2023"
    bought = [
        {"question": f"Who bought a {word}?", "answer": "x", "evidence": [f"D1:{i + 1}"], "category": 4} for i, word in enumerate(WORDS)
    ]
    broke = [
        {"question": f"Which {word} broke?", "answer": "x", "evidence": [f"D2:{i + 1}"], "category": 1 + i % 5}
        for i, word in enumerate(WORDS)
    ]
    file = tmp_path / "conv-1.json"
    file.write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": bought + broke}]))
    return file


def test_evaluate_gives_the_answers_of_recall(locomo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty questions: the ranking that is measured is the one that the command line prints."""
    [task] = tasks([locomo], 10, "none", Policy())
    store = ["--store", str(tmp_path / "store"), "--embedder", "none", "--json"]
    assert run(["ingest", str(locomo), *store]) == 0
    capsys.readouterr()

    for asked, question in zip(ask(task).asked, json.loads(locomo.read_text())[0]["qa"], strict=True):
        assert run(["recall", "conv-1", question["question"], "-k", "10", *store]) == 0
        printed = tuple(hit["turn_id"] for hit in json.loads(capsys.readouterr().out)["hits"])

        assert printed == asked.rankings["memory_actors"]


def test_the_command_prints_the_promised_shape(locomo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dataset, questions, labels, systems by group and category, latency."""
    assert run(["evaluate", "locomo", str(locomo), "--k", "5,10", "--embedder", "none", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)

    assert ("locomo", 20, "as published") == (answer["dataset"], answer["questions"], answer["labels"])
    assert {"memory_actors", "bm25"} == set(answer["systems"])
    assert {"1-4", "1-5", "by_category"} == set(answer["systems"]["memory_actors"])
    assert {"recall@5", "recall@10", "ndcg@10"} == set(answer["systems"]["memory_actors"]["1-4"])
    assert {"1", "2", "3", "4", "5"} == set(answer["systems"]["memory_actors"]["by_category"])
    assert {"embed_p50", "recall_p50", "recall_p95"} == set(answer["latency_ms"])


def asked(category: int, evidence: tuple[str, ...], ranking: tuple[str, ...]) -> Asked:
    return Asked(category, evidence, evidence, {"memory_actors": ranking}, 1.0, 1.0)


def test_means_are_over_questions_with_evidence() -> None:
    """A question without evidence counts nowhere; categories 1 to 4 leave the fifth out."""
    questions = [asked(1, ("a", "b"), ("a", "c", "b")), asked(5, ("a",), ("c", "a")), asked(2, (), ("a",))]
    measured = report(questions, [1, 3], audited=False)["systems"]["memory_actors"]

    assert (0.5, 1.0) == (measured["1-4"]["recall@1"], measured["1-4"]["recall@3"])
    assert (0.25, 1.0) == (measured["1-5"]["recall@1"], measured["1-5"]["recall@3"])
    assert ["1", "5"] == list(measured["by_category"])


def test_files_without_conversations_are_refused(tmp_path: Path) -> None:
    """An audit file alone is nothing to evaluate."""
    with pytest.raises(InvalidInput, match="no LoCoMo conversation"):
        tasks([tmp_path / "conv-1.audit.json"], 10, "none", Policy())


def test_finished_conversations_are_kept_until_something_changes(
    locomo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answer, latencies included, for the same bytes; another policy or other bytes are asked anew."""
    resumed = ["evaluate", "locomo", str(locomo), "--embedder", "none", "--json", "--resume", str(tmp_path / "kept")]
    assert run(resumed) == 0
    first = json.loads(capsys.readouterr().out)
    made: list[str] = []
    monkeypatch.setattr("memory_actors.evaluation.evaluate.ask", lambda task: made.append(task.user) or ask(task))

    assert run(resumed) == 0
    assert (first, []) == (json.loads(capsys.readouterr().out), made)

    policy = tmp_path / "policy.toml"
    policy.write_text("[facts]\nactive_confidence = 0.9\n")
    assert run([*resumed, "--policy", str(policy)]) == 0
    assert ["conv-1"] == made

    locomo.write_text(locomo.read_text().replace("lantern", "lamp"))
    assert run(resumed) == 0
    assert ["conv-1", "conv-1"] == made


def test_what_is_fitted_cannot_be_resumed(locomo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and no file is made."""
    assert run(["evaluate", "locomo", str(locomo), "--leave-one-out", "--resume", str(tmp_path / "kept")]) == 2

    assert "--resume" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()
