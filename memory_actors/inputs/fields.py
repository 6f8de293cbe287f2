"""The fields of a turn's line: what each may hold, and a sentence for what it may not.

A reader takes the JSON value and returns the checked one, or raises Unfit: the end of the sentence "field 'x' ...",
with what is wrong and what would be right. Readers know nothing of files or lines.
"""

import difflib
from collections.abc import Callable
from typing import Any, get_args

import msgspec

from events.errors import InvalidInput
from events.ids import check_id
from events.vocabulary import Role
from memory_actors import times
from memory_actors.inputs.content import Unfit, flatten, kind_of

MAX_CONTENT = 1 << 20
"""Bytes of UTF-8 in one turn's content, and of JSON in its meta."""
MAX_DEPTH = 32
"""Levels of objects and lists in meta."""
ROLES: tuple[str, ...] = get_args(Role)
REQUIRED = ("user", "role", "content")
_MILLISECONDS_FROM = 100_000_000_000
_ALIASES = {
    "text": "content",
    "message": "content",
    "messages": "content",
    "user_id": "user",
    "session": "conversation",
    "session_id": "conversation",
    "thread_id": "conversation",
    "conversation_id": "conversation",
    "timestamp": "occurred_at",
    "time": "occurred_at",
    "date": "occurred_at",
    "created_at": "occurred_at",
    "id": "turn_id",
    "message_id": "turn_id",
    "name": "speaker",
    "author": "speaker",
    "metadata": "meta",
}


def read(name: str, value: object) -> Any:
    """The checked value of the field `name`, which must be one of FIELDS."""
    return _READERS[name](value)


def suggest(name: str) -> str:
    """What a field that does not exist was meant to be, as the end of a sentence."""
    near = [_ALIASES[name]] if name in _ALIASES else difflib.get_close_matches(name, FIELDS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "put what is your own into 'meta', an object."
    return f"{hint} The fields are {', '.join(FIELDS)}"


def _label(example: str, limit: int) -> Callable[[object], str]:
    """A reader of ids and names: text of 1 to `limit` UTF-8 bytes, not blank, without NUL."""

    def reader(value: object) -> str:
        if not isinstance(value, str):
            raise Unfit(f"is {kind_of(value)}, where text is expected, such as {example!r}")
        if not value.strip():
            raise Unfit(f"is empty: leave the field out, or name it, such as {example!r}")
        if "\0" in value:
            raise Unfit(f"has a NUL character: use printable ones, such as {example!r}")
        if (size := len(value.encode())) > limit:
            raise Unfit(f"has {size} bytes of UTF-8, and {limit} is the most: shorten it, such as {example!r}")
        return value

    return reader


def _space(value: object) -> str:
    return _named(_label("work", 128)(value))


def _named(value: str) -> str:
    """An id that can also name a stream's folder."""
    try:
        return check_id(value, "it")
    except InvalidInput as error:
        raise Unfit(f"cannot name a stream: {error}") from None


def _user(value: object) -> str:
    user = _named(_label("maya", 128)(value))
    if user.startswith("@"):
        raise Unfit(f"is {user!r}, and names with '@' in front are the space's own: write {user.lstrip('@')!r}")
    return user


def _role(value: object) -> str:
    if not isinstance(value, str) or value not in ROLES:
        shown = repr(value)[:40] if isinstance(value, str) else kind_of(value)
        raise Unfit(f"is {shown}, where one of {', '.join(ROLES)} is expected")
    return value


def _content(value: object) -> str:
    content = flatten(value)
    if not content.strip():
        raise Unfit("is empty: a turn needs words, such as 'I moved to Lisbon.'; leave such a line out")
    if (size := len(content.encode())) > MAX_CONTENT:
        raise Unfit(f"has {size:,} bytes of UTF-8, and {MAX_CONTENT:,} (1 MiB) is the most: split the turn")
    return content


def _importance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(f"is {kind_of(value)}, where a number from 0 to 1 is expected, such as 0.8")
    if not 0 <= value <= 1:
        raise Unfit(f"is {_number(value)}, where a number from 0 to 1 is expected, such as 0.8")
    return float(value)


def _meta(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit(f'is {kind_of(value)}, where an object is expected, such as {{"lang": "en"}}')
    if _deeper(value, MAX_DEPTH):
        raise Unfit(f"is nested more than {MAX_DEPTH} deep: flatten it")
    size = len(msgspec.json.encode(value))
    if size > MAX_CONTENT:
        raise Unfit(f"has {size:,} bytes of JSON, and {MAX_CONTENT:,} (1 MiB) is the most: shorten it")
    return value


def _deeper(value: object, levels: int) -> bool:
    """Whether objects and lists are nested more than `levels` deep. What is kept is encoded again, on deeper stacks."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper(part, levels - 1) for part in inner)


def _occurred_at(value: object) -> int:
    right = "write 2026-03-01T09:30:00Z (without a zone: UTC), or seconds since 1970 such as 1772357400"
    try:
        if isinstance(value, str):
            return times.parse_instant(value, naive="utc")
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _from_seconds(value)
    except ValueError as error:
        raise Unfit(f"is wrong: {error}; {right}") from None
    raise Unfit(f"is {kind_of(value)}, where a time is expected; {right}")


def _from_seconds(seconds: float) -> int:
    """Microseconds from seconds since the epoch. No unit is guessed: milliseconds are an error that says so."""
    if abs(seconds) >= _MILLISECONDS_FROM:
        raise Unfit(f"{_number(seconds)} seconds are beyond the year 2200; are these milliseconds?")
    return times.within(round(seconds * 1_000_000), seconds)


def _number(value: float) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:20]}..."


_READERS: dict[str, Callable[[object], Any]] = {
    "user": _user,
    "role": _role,
    "content": _content,
    "space": _space,
    "conversation": _label("2026-03-planning", 256),
    "speaker": _label("Maya", 256),
    "occurred_at": _occurred_at,
    "turn_id": _label("msg-17", 256),
    "channel": _label("web", 256),
    "agent": _label("travel-helper", 256),
    "importance": _importance,
    "meta": _meta,
}
FIELDS = tuple(_READERS)
"""Every field that a line may have, in the order of the documentation."""
