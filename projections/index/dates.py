"""Times that a question names, as spans: "in May 2023", "on 8 May", "last week", "three days ago". English; UTC; pure.

Spans are half-open, in microseconds since the epoch. A month or a day without a year means that one of each year that the
turns reach over; words such as "last week" are read from the `now` of the read, never from a clock. What is not understood
names no time: the leg abstains.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

Span = tuple[int, int]

DAY: Final = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_YEARS = 50

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {
    word: count for count, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))
}
_COUNTS |= {"a": 1, "an": 1, "a couple of": 2, "a few": 3}

_MONTH = re.compile(
    r"(?:\b(?P<first>\d{1,2})(?:st|nd|rd|th)?(?: of)? )?"
    rf"(?:\b(?P<last>last) )?\b(?P<month>{'|'.join(_MONTHS)})\b"
    r"(?: (?P<second>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? ?(?:of )?(?P<year>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_MODAL = re.compile(r"(?:\b(?:in|last|of|since|during|early|late|mid|until|by)|\d(?:st|nd|rd|th)?) \Z", re.IGNORECASE)
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR = re.compile(r"\b(?:in|of|during|since|year) ((?:19|20)\d\d)\b", re.IGNORECASE)
_AGO = re.compile(rf"\b(\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}) (day|week|month|year)s? ago\b", re.IGNORECASE)
_RECENT = re.compile(
    rf"\b(today|yesterday|last night|(?:this|last|past) (?:week|weekend|month|year)|last (?:{'|'.join(_DAYS)}))\b", re.IGNORECASE
)
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}


def named_spans(question: str, now: int, years: tuple[int, int]) -> tuple[Span, ...]:
    """The spans that a question names, sorted, without repeats.

    `now` in microseconds; `years` are the first and last calendar year of the turns that could be meant.
    """
    found = {*_calendar(question, now, years), *_relative(question, now)}
    return tuple(sorted(found))


def year_of(instant: int) -> int:
    """The UTC calendar year of an instant in microseconds."""
    return (_EPOCH + timedelta(microseconds=instant)).year


def _calendar(question: str, now: int, years: tuple[int, int]) -> Iterator[Span]:
    dated = False
    for year, month, day in _ISO.findall(question):
        dated = True
        yield from _span(int(year), int(month), int(day) if day else None)
    for match in _MONTH.finditer(question):
        if _is_verb(match, question):
            continue
        dated = True
        yield from _of_month(match, now, years)
    if not dated:
        for year in _YEAR.findall(question):
            yield _micros(datetime(int(year), 1, 1, tzinfo=UTC)), _micros(datetime(int(year) + 1, 1, 1, tzinfo=UTC))


def _is_verb(match: re.Match[str], question: str) -> bool:
    """May and march are verbs where they are not capitals, or begin the question, and no day, year or preposition is with them."""
    place = match.start("month")
    if match["month"].lower() not in ("may", "march") or match["year"] or match["first"] or match["second"]:
        return False
    return (match["month"].islower() or place == 0) and not _MODAL.search(question[:place])


def _of_month(match: re.Match[str], now: int, years: tuple[int, int]) -> Iterator[Span]:
    month = _MONTHS.index(match["month"].lower()) + 1
    day = match["first"] or match["second"]
    if match["year"]:
        meant = [int(match["year"])]
    elif match["last"]:
        today = _EPOCH + timedelta(microseconds=now)
        meant = [today.year - (month >= today.month)]
    else:
        meant = list(range(max(years[0], years[1] - _MOST_YEARS), years[1] + 1))
    for year in meant:
        yield from _span(year, month, int(day) if day else None)


def _span(year: int, month: int, day: int | None) -> Iterator[Span]:
    """A month, or one day of it; nothing for a day that does not exist."""
    if not (1 <= month <= 12 and 1 <= (day or 1) <= monthrange(year, month)[1]):
        return
    start = _micros(datetime(year, month, day or 1, tzinfo=UTC))
    yield start, start + (1 if day else monthrange(year, month)[1]) * DAY


def _relative(question: str, now: int) -> Iterator[Span]:
    today = now // DAY * DAY
    for count, unit in _AGO.findall(question):
        length = _LENGTHS[unit.lower()]
        centre = today - (int(count) if count.isdigit() else _COUNTS[count.lower()]) * length * DAY
        slack = length // 4 * DAY
        yield centre - slack, centre + DAY + slack
    for words in _RECENT.findall(question):
        yield _recent(words.lower(), today)


def _recent(words: str, today: int) -> Span:
    if words == "today":
        return today, today + DAY
    if words in ("yesterday", "last night"):
        return today - DAY, today
    which, unit = words.split(" ", 1)
    weekday = (today // DAY + 3) % 7  # 1970-01-01 was a Thursday
    if unit in _DAYS:
        back = (weekday - _DAYS.index(unit) - 1) % 7 + 1
        return today - back * DAY, today - (back - 1) * DAY
    if unit == "weekend":
        return today - (weekday + 2) * DAY, today - weekday * DAY
    length = _LENGTHS[unit]
    return (today - length * DAY, today + DAY) if which != "last" else (today - (length + (weekday if unit == "week" else 0)) * DAY, today)


def _micros(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)
