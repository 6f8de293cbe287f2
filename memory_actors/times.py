"""Times as people write them, and back: the T of `as_of` and `valid_at`, spans, and ISO text for answers.

Every instant is microseconds since the epoch, UTC, and lies in the years 1970 to 2200. Nothing here reads a clock:
"now" is what the caller says it is. A date is a whole UTC day, a month a whole month: "as of" it means its last
microsecond (all that was known by its end), "valid at" it means its first.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Literal

import msgspec
from dateutil.relativedelta import relativedelta

from events.errors import InvalidInput

Use = Literal["as_of", "valid_at"]
Naive = Literal["utc", "error"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
LATEST = (datetime(2201, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND - 1
"""The last microsecond of the year 2200."""

FORMS = (
    "2026-03-01T09:30:00Z (or with an offset such as +02:00), a date 2026-03-01, a month 2026-03, now, today, "
    "yesterday, 3 days ago (minutes, hours, days, weeks, months, years), or @120 (a sequence number)"
)
SPANS = "90 days, 12 hours, 1 week 2 days, 36h, 15 min (units: seconds, minutes, hours, days, weeks)"

_ISO = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[Tt ](?P<clock>\d\d:\d\d(?::\d\d)?)(?:[.,](?P<fraction>\d{1,9}))? ?(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_MONTH = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_AGO = re.compile(r"(an?|\d{1,6}) (minute|hour|day|week|month|year)s? ago", re.ASCII)
_PLACE = re.compile(r"@(\d{1,18})", re.ASCII)
_SPAN_PART = re.compile(r"(\d{1,9}) ?(seconds?|secs?|s|minutes?|mins?|hours?|h|days?|d|weeks?|w)(?![a-z])", re.ASCII)
_STEPS = {
    "minute": relativedelta(minutes=1),
    "hour": relativedelta(hours=1),
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "year": relativedelta(years=1),
}
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A resolved T: either an instant (`at`, microseconds since the epoch) or a place in the stream (`seq`, from 0)."""

    at: int | None = None
    seq: int | None = None


def parse_time(text: str | date | datetime, *, now: int, use: Use, naive: Naive) -> Moment:
    """The moment that `text` names: one of FORMS, or a date or aware datetime object.

    `now` is the caller's clock in microseconds. An ISO time without a zone is UTC, or an error, as `naive` says; a
    datetime object without one is always an error. `@seq` is a place in the log, so only `as_of` takes it.
    """
    if not isinstance(text, str | date):
        raise InvalidInput(f"{text!r} is not a time. {_accepted()}")
    plain = " ".join(text.split()) if isinstance(text, str) else text.isoformat()
    if place := _PLACE.fullmatch(plain):
        return _place(int(place[1]), plain, use)
    try:
        micros = _at(plain, now, use, naive) if isinstance(text, str) else _object(text, use)
        return Moment(at=within(micros, plain))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{error}. {_accepted()}") from None


def parse_instant(text: str, *, naive: Naive) -> int:
    """The instant of an ISO 8601 text, in microseconds; a date is its first. Raises ValueError saying what is wrong."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{_quoted(text)} is not a time")
    if found["clock"] and not found["zone"] and naive == "error":
        raise ValueError(f"{_quoted(text)} has no time zone: end it with Z (for UTC) or an offset such as +02:00")
    zone = (found["zone"] or "Z").upper()
    fraction = (found["fraction"] or "")[:6].ljust(6, "0")
    clock = found["clock"] or "00:00"
    try:
        there = datetime.fromisoformat(f"{found['day']}T{clock}{zone}")
    except ValueError as error:
        raise ValueError(f"{_quoted(text)} is not a time that exists: {error}") from None
    return within((there - EPOCH) // MICROSECOND + int(fraction), text)


def within(micros: int, text: object) -> int:
    """`micros`, unless it lies outside the years 1970 to 2200: then a ValueError that quotes `text`."""
    if not 0 <= micros <= LATEST:
        raise ValueError(f"{_quoted(text)} is outside the years 1970 to 2200")
    return micros


def parse_span(text: str) -> int:
    """A length of time, such as "90 days" or "1d 12h", in microseconds. Months and years have no fixed length."""
    plain = " ".join(text.lower().split())
    parts = _SPAN_PART.findall(plain)
    left = _SPAN_PART.sub("", plain).strip()
    if not parts or left:
        raise InvalidInput(f"{_quoted(text)} is not a span of time. Write one like: {SPANS}.")
    return sum(int(count) * _UNITS[unit[0]] for count, unit in parts) * 1_000_000


def as_datetime(micros: int) -> datetime:
    """The instant as an aware datetime, UTC, exactly."""
    return EPOCH + micros * MICROSECOND


def as_micros(moment: datetime) -> int:
    """Microseconds since the epoch of an aware datetime, exactly."""
    return (moment - EPOCH) // MICROSECOND


def show(micros: int) -> str:
    """ISO 8601 in UTC with Z, to the second; with microseconds only where there are any."""
    then = EPOCH + timedelta(microseconds=micros)
    return then.replace(tzinfo=None).isoformat() + "Z"


def _place(seq: int, text: str, use: Use) -> Moment:
    if use == "valid_at":
        raise InvalidInput(
            f"{text} is a place in the log, which says when something was known, not when it was true: "
            "give --as-of that, and --valid-at a time such as 2026-03-01"
        )
    return Moment(seq=seq)


def _at(plain: str, now: int, use: Use, naive: Naive) -> int:
    word = plain.lower()
    if word == "now":
        return now
    if ago := _AGO.fullmatch(word):
        return _ago(ago[1], ago[2], now)
    if days := _calendar(word, now):
        return _edge(*days, use)
    return parse_instant(plain, naive=naive)


def _ago(count: str, unit: str, now: int) -> int:
    number = 1 if count in ("a", "an") else int(count)
    try:
        then = EPOCH + timedelta(microseconds=now) - _STEPS[unit] * number
    except (ValueError, OverflowError):
        raise ValueError(f"'{count} {unit}s ago' is outside the years 1970 to 2200") from None
    return (then - EPOCH) // MICROSECOND


def _calendar(word: str, now: int) -> tuple[date, date] | None:
    """The first day of the day or month that `word` names and the first day after it, or None."""
    if word in ("today", "yesterday"):
        today = (EPOCH + timedelta(microseconds=now)).date()
        return _whole_day(today - timedelta(days=1) if word == "yesterday" else today)
    if _MONTH.fullmatch(word):
        first = _existing(f"{word}-01", word)
        return first, first + relativedelta(months=1)
    if (found := _ISO.fullmatch(word)) and not found["clock"]:
        return _whole_day(_existing(word, word))
    return None


def _whole_day(day: date) -> tuple[date, date]:
    try:
        return day, day + timedelta(days=1)
    except OverflowError:
        raise ValueError(f"'{day}' is outside the years 1970 to 2200") from None


def _existing(day: str, written: str) -> date:
    try:
        return date.fromisoformat(day)
    except ValueError as error:
        raise ValueError(f"{_quoted(written)} is not in the calendar: {error}") from None


def _edge(first: date, after: date, use: Use) -> int:
    """The last microsecond before the day `after` for `as_of`, the first of `first` for `valid_at`."""
    day = after if use == "as_of" else first
    midnight = (datetime(day.year, day.month, day.day, tzinfo=UTC) - EPOCH) // MICROSECOND
    return midnight - 1 if use == "as_of" else midnight


def _object(moment: date, use: Use) -> int:
    """The instant of a datetime, or the edge of a date."""
    if not isinstance(moment, datetime):
        return _edge(*_whole_day(moment), use)
    if moment.utcoffset() is None:
        raise ValueError(f"{moment!r} has no time zone: give it one, such as tzinfo=datetime.UTC")
    return (moment - EPOCH) // MICROSECOND


def _accepted() -> str:
    return f"Write a time as one of: {FORMS}."


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}...'"
