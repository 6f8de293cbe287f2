"""LoCoMo: long conversations of two people with questions and evidence (snap-research/LoCoMo), and their audit.

A file is a list of conversations. A conversation becomes the memory of one user, its `sample_id`: both speakers have
role `user` and are told apart by `speaker`; conversation = `session_k`, turn_id = the dialog id (`D3:7`). A session has
one time; turn i of it, from 0, is given that time plus i seconds, so that order shows. The times name no zone: UTC.

The audit (dial481/locomo-audit) lists reported label errors beside the file: `conv-26.json`, `conv-26.audit.json`.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from events.errors import InvalidInput
from memory_actors.inputs.content import placeholder
from memory_actors.inputs.line import TurnLine
from memory_actors.times import EPOCH, MICROSECOND, within

AUDIT_SUFFIX = ".audit.json"
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_QUESTION_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_WHEN = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE | re.ASCII)
_T = TypeVar("_T")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question about one conversation. `index` is its place in the file's list, from 0, and `evidence` turn ids.

    Categories: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial. Evidence that names no turn of the
    conversation is dropped, so that it may be empty.
    """

    user: str
    index: int
    question: str
    category: int
    evidence: tuple[str, ...]
    answer: str | None = None


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit says of one question: `index`, `question` and `user` are those of the Question."""

    user: str
    index: int
    question: str
    error_type: str
    evidence: tuple[str, ...]
    answer: str


class _Turn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str = ""
    blip_caption: str | None = None


class _Labelled(msgspec.Struct):
    question: str
    category: int
    evidence: list[str] = []
    answer: str | int | float | None = None


class _Sample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_Labelled] = []


class _Audited(msgspec.Struct):
    question_id: str
    question: str
    error_type: str
    correct_evidence: list[str]
    correct_answer: str


def read_turns(document: bytes, name: str) -> list[TurnLine]:
    """All turns of a LoCoMo document, conversation after conversation, sessions in numeric order."""
    turns: list[TurnLine] = []
    for sample in _samples(document, name):
        for session, number in _sessions(sample):
            turns += _session_turns(sample, session, number, name, len(turns))
    return turns


def questions(path: Path) -> list[Question]:
    """The questions of all conversations in a file, labels as they are."""
    return [question for sample in _samples(_read(path), path.name) for question in _questions(sample)]


def audit(path: Path) -> list[Correction]:
    """The audit's corrections for the conversations in `path`; empty where there is no audit file beside it.

    A correction is found by the place in its question_id and must repeat the question's text, else InvalidInput. The
    conversation's number in it is used only where the file holds several.
    """
    beside = path.with_name(path.name.removesuffix(".json") + AUDIT_SUFFIX)
    if not beside.exists():
        return []
    samples = _samples(_read(path), path.name)
    return [_correction(entry, samples, beside.name) for entry in _decode(_read(beside), list[_Audited], beside.name)]


def corrected(labelled: Iterable[Question], corrections: Iterable[Correction]) -> list[Question]:
    """The questions with the audit's evidence and answers in place of the published ones."""
    by_place = {(correction.user, correction.index): correction for correction in corrections}
    return [_mended(question, by_place.get((question.user, question.index))) for question in labelled]


def _mended(question: Question, correction: Correction | None) -> Question:
    if correction is None:
        return question
    return msgspec.structs.replace(question, evidence=correction.evidence, answer=correction.answer)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); name a LoCoMo JSON file") from None


def _samples(document: bytes, name: str) -> list[_Sample]:
    return _decode(document, list[_Sample], name)


def _decode(document: bytes, kind: type[_T], name: str) -> _T:
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{name}: not in the form of LoCoMo: {error}") from None


def _sessions(sample: _Sample) -> list[tuple[str, int]]:
    """The names of the sessions that have turns, by number; a date without a session is none."""
    found = ((key, _SESSION.fullmatch(key)) for key in sample.conversation)
    return sorted(((key, int(match[1])) for key, match in found if match), key=lambda pair: pair[1])


def _said(sample: _Sample, session: str, name: str) -> list[_Turn]:
    try:
        return msgspec.convert(sample.conversation[session], list[_Turn])
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{name}: {sample.sample_id}, {session}: not in the form of LoCoMo: {error}") from None


def _session_turns(sample: _Sample, session: str, number: int, name: str, before: int) -> list[TurnLine]:
    start = _when(sample.conversation.get(f"session_{number}_date_time"), f"{name}: {sample.sample_id}, {session}")
    return [
        TurnLine(
            user=sample.sample_id,
            role="user",
            content=_content(turn, name),
            conversation=session,
            speaker=turn.speaker,
            occurred_at=start + place * 1_000_000,
            turn_id=turn.dia_id,
            origin=f"{name}:{turn.dia_id}",
            line=before + place + 1,
        )
        for place, turn in enumerate(_said(sample, session, name))
    ]


def _content(turn: _Turn, name: str) -> str:
    image = placeholder("image", turn.blip_caption) if turn.blip_caption else ""
    content = " ".join(part for part in (turn.text.strip(), image) if part)
    if not content:
        raise InvalidInput(f"{name}:{turn.dia_id}: neither text nor a caption; take the turn out of the file")
    return content


def _when(text: object, place: str) -> int:
    """The instant of "1:56 pm on 8 May, 2023", read as UTC."""
    found = _WHEN.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or found[5][:3].lower() not in _MONTHS:
        raise InvalidInput(f"{place}: the session's time is {text!r}, where one like '1:56 pm on 8 May, 2023' belongs")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    month = _MONTHS.index(found[5][:3].lower()) + 1
    try:
        start = datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
        return within((start - EPOCH) // MICROSECOND, text)
    except ValueError as error:
        raise InvalidInput(f"{place}: the session's time {text!r} does not exist: {error}") from None


def _questions(sample: _Sample) -> list[Question]:
    known = _dialog_ids(sample)
    return [
        Question(
            user=sample.sample_id,
            index=index,
            question=entry.question,
            category=entry.category,
            evidence=_evidence(entry.evidence, known),
            answer=None if entry.answer is None else str(entry.answer),
        )
        for index, entry in enumerate(sample.qa)
    ]


def _dialog_ids(sample: _Sample) -> set[str]:
    return {turn.dia_id for session, _ in _sessions(sample) for turn in _said(sample, session, sample.sample_id)}


def _evidence(written: Sequence[str], known: set[str]) -> tuple[str, ...]:
    """The turns that evidence strings name, in order and once each: "D8:6; D9:17" is two, "D:11:26" is D11:26."""
    places = (_EVIDENCE.findall(text) for text in written)
    ids = (f"D{int(session)}:{int(turn)}" for found in places for session, turn in found)
    return tuple(dict.fromkeys(name for name in ids if name in known))


def _correction(entry: _Audited, samples: Sequence[_Sample], name: str) -> Correction:
    found = _QUESTION_ID.fullmatch(entry.question_id)
    conversation = int(found[1]) if found and len(samples) > 1 else 0
    index = int(found[2]) if found else -1
    sample = samples[conversation] if conversation < len(samples) else None
    if sample is None or not 0 <= index < len(sample.qa) or sample.qa[index].question != entry.question:
        raise InvalidInput(f"{name}: {entry.question_id} is not the question of that place in the conversation's file")
    return Correction(
        user=sample.sample_id,
        index=index,
        question=entry.question,
        error_type=entry.error_type,
        evidence=_evidence(entry.correct_evidence, _dialog_ids(sample)),
        answer=entry.correct_answer,
    )
