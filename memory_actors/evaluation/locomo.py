"""LoCoMo conversations from a folder: turns, and questions with the turns that hold their answers.

The data (snap-research/LoCoMo, CC BY-NC 4.0) is not part of the project: the folder is the caller's, one conversation a file
(`conv-26.json`, ...: a list with one conversation). Category 5, questions that have no answer, is left out; so are evidence
ids that do not exist, and questions that are left without any.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
TURN_SECONDS = 30
"""Turns of a session have no times of their own: they follow its date at this distance."""

_SESSION = re.compile(r"session_(\d+)")


class Turn(msgspec.Struct, frozen=True):
    """`key` is (session, place in it); a caption is part of the content; `occurred_at` in microseconds."""

    key: tuple[int, int]
    speaker: str
    content: str
    occurred_at: int


class Question(msgspec.Struct, frozen=True):
    """`evidence` are keys of turns, at least one."""

    text: str
    category: int
    evidence: tuple[tuple[int, int], ...]


class Conversation(msgspec.Struct, frozen=True):
    """Turns in order, and the questions about them."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def load(folder: Path) -> list[Conversation]:
    """The conversations of a folder, by file name."""
    files = sorted(path for path in folder.glob("*.json") if not path.name.endswith(".audit.json"))
    if not files:
        raise FileNotFoundError(f"no LoCoMo conversation (*.json) in {folder}")
    return [conversation(one) for path in files for one in msgspec.json.decode(path.read_bytes())]


def conversation(data: Mapping[str, Any]) -> Conversation:
    """One conversation as LoCoMo writes it."""
    told = data["conversation"]
    numbers = sorted(int(match[1]) for key in told if (match := _SESSION.fullmatch(key)) and isinstance(told[key], list))
    turns = [turn for number in numbers for turn in _session(number, told)]
    known = {turn.key for turn in turns}
    questions = (_question(asked, known) for asked in data["qa"] if asked["category"] in CATEGORIES)
    return Conversation(data["sample_id"], tuple(turns), tuple(question for question in questions if question.evidence))


def _session(number: int, told: Mapping[str, Any]) -> list[Turn]:
    begun = datetime.strptime(told[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    seconds = int(begun.timestamp())
    return [_turn(turn, (seconds + TURN_SECONDS * place) * 1_000_000) for place, turn in enumerate(told[f"session_{number}"])]


def _turn(turn: Mapping[str, Any], occurred_at: int) -> Turn:
    caption = turn.get("blip_caption")
    content = f"{turn.get('text', '')} [image: {caption}]" if caption else turn.get("text", "")
    return Turn(_keys(turn["dia_id"])[0], turn["speaker"], content.strip(), occurred_at)


def _question(asked: Mapping[str, Any], known: set[tuple[int, int]]) -> Question:
    found = [key for cited in asked.get("evidence", []) for key in _keys(cited)]
    return Question(asked["question"], asked["category"], tuple(key for key in dict.fromkeys(found) if key in known))


def _keys(cited: str) -> list[tuple[int, int]]:
    return [(int(session), int(place)) for session, place in EVIDENCE.findall(cited)]
