"""Phrases of time in English, resolved against the moment they were said.

`split_time` takes the phrase at the end (or start) of a clause off and says what it means. A named period stands for
its first instant ("in March", "until March", "since March": 1 March), relative to the day on which it was said, in
UTC; a month without a year is the latest one not after that day, or after "next", the first after it. Times are
microseconds since the epoch. Every pattern is a fixed sequence of words, so the work is linear in the text.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
from dateutil.relativedelta import relativedelta

Relation = Literal["", "at", "since", "until", "for"]

MICROS = 1_000_000
MONTHS = "january february march april may june july august september october november december".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    **{str(number): number for number in range(1, 100)},
    **{word: place for place, word in enumerate("one two three four five six seven eight nine ten".split(), 1)},
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a few": 3,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
}
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_NUMBER = "|".join(sorted(map(re.escape, _NUMBERS), key=len, reverse=True))
_AMOUNT = rf"(?P<count>{_NUMBER}) (?P<unit>day|week|month|year|decade)s?"
_POINT = (
    rf"(?P<month>{_MONTH})\b\.?(?:,? (?P<month_year>(?:19|20)\d\d))?"
    rf"|(?:early |late |mid[ -]?)?(?P<year>(?:19|20)\d\d)"
    rf"|(?P<which>last|this|next) (?P<period>week|month|year|(?:{_MONTH}|{'|'.join(_DAYS)})\b|spring|summer|autumn|fall"
    rf"|winter)"
    rf"|(?P<day>yesterday|today|tomorrow)|(?P<weekday>{'|'.join(_DAYS)})"
    rf"|{_AMOUNT} ago"
)
_PREPOSITION = (
    r"(?:back in|early in|late in|in early|in late|in the (?:spring|summer|autumn|fall|winter) of|in|on|as of"
    r"|starting(?: in| on)?|from|since|ever since|until|till|til|up until|for(?: the (?:last|past))?(?: about| almost"
    r"| over)?)"
)
_PHRASE = rf"(?:(?P<prep>{_PREPOSITION}) )?(?:{_POINT}|(?P<span>{_AMOUNT.replace('count', 'many').replace('unit', 'size')}))"
_TRAILING = re.compile(rf"[ ,]+{_PHRASE}(?: (?:now|already))?$", re.IGNORECASE)
_LEADING = re.compile(rf"^{_PHRASE},? (?=i\b|we\b|i')", re.IGNORECASE)
_SEASONS = {"winter": 1, "spring": 3, "summer": 6, "autumn": 9, "fall": 9}


class When(msgspec.Struct, frozen=True, kw_only=True):
    """A time that was said: `at` a point, `since` or `until` it, or `for` a length of time that ends now."""

    relation: Relation = ""
    instant: int | None = None
    future: bool = False


NEVER_SAID = When()


def split_time(text: str, occurred_at: int, *, ahead: bool = False) -> tuple[str, When]:
    """The clause without its phrase of time, and what that phrase meant; `NEVER_SAID` if there was none.

    `ahead` reads months and weekdays as the coming ones ("I start in August").
    """
    found = _TRAILING.search(text)
    if found:
        rest = text[: found.start()]
    else:
        found = _LEADING.match(text)
        rest = text[found.end() :] if found else text
    if not found:
        return text, NEVER_SAID
    return (text, NEVER_SAID) if _is_bare(found) else (rest, _when(found, occurred_at, ahead=ahead))


def _is_bare(found: re.Match[str]) -> bool:
    """A length of time without "for", or a name that is a time only after a preposition ("may I", "1984")."""
    preposition = (found["prep"] or "").lower()
    if found["span"]:
        return not preposition.startswith("for")
    return not preposition and bool(found["month"] or found["year"] or found["weekday"])


def _when(found: re.Match[str], occurred_at: int, *, ahead: bool) -> When:
    said = _moment(occurred_at)
    relation = _relation((found["prep"] or "").lower())
    if said is None:
        return When(relation=relation)
    try:
        point = _point(found, said)
        if ahead and point is not None and point <= said:
            point = _next(found, point)
    except (OverflowError, ValueError):
        return When(relation=relation)
    if point is None:
        return When(relation=relation)
    return When(relation=relation, instant=_micros(point), future=point > said)


def _next(found: re.Match[str], point: datetime) -> datetime:
    """The coming one, of months and weekdays that were named without saying which."""
    if found["month"] and not found["month_year"]:
        return point + relativedelta(years=1)
    return point + timedelta(weeks=1) if found["weekday"] else point


def _relation(preposition: str) -> Relation:
    if preposition.endswith("since"):
        return "since"
    if preposition in ("until", "till", "til", "up until"):
        return "until"
    return "for" if preposition.startswith("for") else "at"


def _moment(micros: int) -> datetime | None:
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _point(found: re.Match[str], said: datetime) -> datetime | None:
    """The first instant of the period named. Raises ValueError or OverflowError beyond the calendar."""
    midnight = said.replace(hour=0, minute=0, second=0, microsecond=0)
    if found["span"] or found["count"]:
        return midnight - _length(found["many"] or found["count"], found["size"] or found["unit"])
    if found["month"]:
        year = int(found["month_year"]) if found["month_year"] else None
        return _month(found["month"], midnight, year)
    if found["year"]:
        return midnight.replace(year=int(found["year"]), month=1, day=1)
    if found["which"]:
        return _relative(found["which"].lower(), found["period"].lower(), midnight)
    if found["day"]:
        return midnight + timedelta(days={"yesterday": -1, "today": 0, "tomorrow": 1}[found["day"].lower()])
    return midnight - timedelta(days=(midnight.weekday() - _DAYS.index(found["weekday"].lower())) % 7)


def _length(count: str, unit: str) -> relativedelta:
    number, size = _NUMBERS[count.lower()], unit.lower()
    if size == "decade":
        number, size = number * 10, "year"
    return relativedelta(**{f"{size}s": number})  # type: ignore[arg-type]


def _month(name: str, midnight: datetime, year: int | None = None) -> datetime:
    number = next(place for place, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))
    first = midnight.replace(month=number, day=1)
    if year is not None:
        return first.replace(year=year)
    return first.replace(year=first.year - 1) if first > midnight else first


def _relative(which: str, period: str, midnight: datetime) -> datetime | None:
    step = {"last": -1, "this": 0, "next": 1}[which]
    if period == "week":
        return midnight - timedelta(days=midnight.weekday()) + timedelta(weeks=step)
    if period == "month":
        return midnight.replace(day=1) + relativedelta(months=step)
    if period == "year":
        return midnight.replace(month=1, day=1) + relativedelta(years=step)
    if period in _DAYS:
        back = (midnight.weekday() - _DAYS.index(period)) % 7
        return midnight - timedelta(days=back or 7) if step < 0 else midnight + timedelta(days=(-back) % 7 or 7)
    if period in _SEASONS:
        return _season(_SEASONS[period], step, midnight)
    return _month(period, midnight) + relativedelta(years=1 if step > 0 else 0)


def _season(month: int, step: int, midnight: datetime) -> datetime:
    """The first of the season's first month, of the northern year."""
    first = midnight.replace(month=month, day=1)
    if step < 0 and first > midnight - timedelta(days=60):
        return first - relativedelta(years=1)
    return first + relativedelta(years=1) if step > 0 and first <= midnight else first
