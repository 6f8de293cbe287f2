"""One line of input: a turn as its sender wrote it, checked before anything is recorded.

A TurnLine holds values that the log can keep: ids within their bounds, content of at most 1 MiB, no lone surrogates.
Bytes are turned into values here and nowhere else; every error names the file, the line and the field.
"""

import json
from typing import Any, NoReturn

import msgspec

from events.errors import InvalidInput
from events.vocabulary import Role
from memory_actors.inputs import fields
from memory_actors.inputs.content import Unfit, kind_of

EXAMPLE = '{"user": "maya", "role": "user", "content": "I moved to Lisbon."}'


class TurnLine(msgspec.Struct, frozen=True, kw_only=True):
    """A turn to be recorded. `occurred_at` is microseconds since the epoch; an empty `space` is the command's default.

    `user` is whose memory it is (of an assistant's turn: who is spoken to). `origin` is where it was read, "file:line",
    and `line` the number in it, from 1.
    """

    user: str
    role: Role
    content: str
    space: str = ""
    conversation: str = "main"
    speaker: str | None = None
    occurred_at: int | None = None
    turn_id: str | None = None
    channel: str | None = None
    agent: str | None = None
    importance: float | None = None
    meta: dict[str, Any] | None = None
    origin: str
    line: int


def parse_line(raw: bytes, *, origin: str, number: int) -> TurnLine:
    """The turn in one line of JSON, or InvalidInput naming `origin:number`, the field, and what would be right."""
    place = f"{origin}:{number}"
    record = {name: value for name, value in _decode(raw, place).items() if value is not None}
    for name in record:
        if name not in fields.FIELDS:
            raise InvalidInput(f"{place}: unknown field {_short(name)}; {fields.suggest(name)}")
    for name in fields.REQUIRED:
        if name not in record:
            raise InvalidInput(f"{place}: field {name!r} is missing, in a line such as {EXAMPLE}")
    return TurnLine(origin=place, line=number, **{name: _read(name, value, place) for name, value in record.items()})


def _read(name: str, value: object, place: str) -> Any:
    try:
        return fields.read(name, value)
    except Unfit as error:
        raise InvalidInput(f"{place}: field {name!r} {error}") from None


def _decode(raw: bytes, place: str) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(raw)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place}: not UTF-8 ({error.reason}): save the file as UTF-8") from None
    except RecursionError:
        raise InvalidInput(f"{place}: nested too deeply; a line is a flat object such as {EXAMPLE}") from None
    except msgspec.MsgspecError as error:
        _refuse(raw, place, str(error))
    if not isinstance(record, dict):
        raise InvalidInput(f"{place}: {kind_of(record)}, where one JSON object a line is expected, such as {EXAMPLE}")
    return record


def _refuse(raw: bytes, place: str, reason: str) -> NoReturn:
    """Say why a line is not JSON; half a surrogate pair gets its own words, because most writers let it pass."""
    if (where := _lone_surrogate(raw)) is not None:
        raise InvalidInput(
            f"{place}: {where} has a lone surrogate (half a character, \\ud800 to \\udfff), which no UTF-8 can hold: "
            "write the character itself or its whole pair, such as \\ud83d\\ude00"
        )
    raise InvalidInput(f"{place}: not JSON ({reason}); one object a line is right, such as {EXAMPLE}")


def _lone_surrogate(raw: bytes) -> str | None:
    """Which field holds a lone surrogate, for the message, or None where that is not what is wrong."""
    try:
        record = json.loads(raw)
        pairs = record.items() if isinstance(record, dict) else [("", record)]
        for name, value in pairs:
            if _has_surrogate(name) or _has_surrogate(json.dumps(value, ensure_ascii=False)):
                return f"field {_short(name)}" if name else "the line"
    except (ValueError, RecursionError):
        return None
    return None


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _short(name: str) -> str:
    return ascii(name) if len(name) <= 60 else ascii(name[:57] + "...")
