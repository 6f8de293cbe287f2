"""Times as people write them, and back. The clock stands at 2026-11-21T10:00:00Z."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InvalidInput
from memory_actors.times import FORMS, LATEST, Moment, Naive, Use, parse_instant, parse_span, parse_time, show

NOW = parse_instant("2026-11-21T10:00:00Z", naive="error")
DAY = 86_400_000_000


def resolved(text: str | date, use: Use = "as_of", naive: Naive = "utc") -> str:
    moment = parse_time(text, now=NOW, use=use, naive=naive)
    return show(moment.at) if moment.at is not None else f"@{moment.seq}"


@pytest.mark.parametrize(
    ("text", "as_of", "valid_at"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
        ("2026-03-01 09:30+02:00", "2026-03-01T07:30:00Z", "2026-03-01T07:30:00Z"),
        ("2026-03-01t09:30:00.25z", "2026-03-01T09:30:00.250000Z", "2026-03-01T09:30:00.250000Z"),
        ("2026-03-01T09:30:00.1234567-0530", "2026-03-01T15:00:00.123456Z", "2026-03-01T15:00:00.123456Z"),
        ("2026-03-01", "2026-03-01T23:59:59.999999Z", "2026-03-01T00:00:00Z"),
        ("2028-02", "2028-02-29T23:59:59.999999Z", "2028-02-01T00:00:00Z"),
        ("2026-12", "2026-12-31T23:59:59.999999Z", "2026-12-01T00:00:00Z"),
        ("now", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
        ("Today", "2026-11-21T23:59:59.999999Z", "2026-11-21T00:00:00Z"),
        ("yesterday", "2026-11-20T23:59:59.999999Z", "2026-11-20T00:00:00Z"),
        ("3 days ago", "2026-11-18T10:00:00Z", "2026-11-18T10:00:00Z"),
        ("90  minutes ago", "2026-11-21T08:30:00Z", "2026-11-21T08:30:00Z"),
        ("an hour ago", "2026-11-21T09:00:00Z", "2026-11-21T09:00:00Z"),
        ("2 weeks ago", "2026-11-07T10:00:00Z", "2026-11-07T10:00:00Z"),
        ("9 months ago", "2026-02-21T10:00:00Z", "2026-02-21T10:00:00Z"),
        ("1 year ago", "2025-11-21T10:00:00Z", "2025-11-21T10:00:00Z"),
    ],
)
def test_every_form_names_one_instant(text: str, as_of: str, valid_at: str) -> None:
    """As of a date means its end, valid at a date its start; all else is the same for both."""
    expected = (as_of, valid_at)

    actual = (resolved(text, "as_of"), resolved(text, "valid_at"))

    assert expected == actual


def test_months_ago_end_with_the_month() -> None:
    """A month before 31 March is the last day of February."""
    march = parse_instant("2026-03-31T10:00:00Z", naive="error")

    moment = parse_time("1 month ago", now=march, use="as_of", naive="utc")

    assert parse_instant("2026-02-28T10:00:00Z", naive="error") == moment.at


def test_an_at_sign_names_a_place_in_the_log() -> None:
    """@120 is a sequence number; @0 is before all."""
    moments = [parse_time(text, now=NOW, use="as_of", naive="error") for text in ("@120", " @0 ")]

    assert [Moment(seq=120), Moment(seq=0)] == moments


def test_a_place_in_the_log_is_no_time_of_the_world() -> None:
    """valid_at refuses a sequence number and says what it takes."""
    with pytest.raises(InvalidInput, match="--valid-at a time such as 2026-03-01"):
        parse_time("@120", now=NOW, use="valid_at", naive="utc")


def test_naive_times_are_utc_or_an_error() -> None:
    """The command line reads a naive time as UTC; the library refuses it and says how to write it."""
    assert resolved("2026-03-01T09:30", naive="utc") == "2026-03-01T09:30:00Z"

    with pytest.raises(InvalidInput, match="no time zone: end it with Z"):
        resolved("2026-03-01T09:30", naive="error")


def test_date_and_datetime_objects() -> None:
    """Aware datetimes are instants, dates whole days."""
    lisbon = timezone(timedelta(hours=1))
    objects = [datetime(2026, 7, 1, 12, tzinfo=lisbon), datetime(2026, 7, 1, 12, 0, 0, 5, tzinfo=UTC), date(2026, 7, 1)]

    actual = [resolved(moment) for moment in objects]

    assert actual == ["2026-07-01T11:00:00Z", "2026-07-01T12:00:00.000005Z", "2026-07-01T23:59:59.999999Z"]


@pytest.mark.parametrize("naive", ["utc", "error"])
def test_a_naive_datetime_object_is_an_error(naive: Naive) -> None:
    """Whatever is said of text: an object without a zone is a mistake in a program."""
    with pytest.raises(InvalidInput, match=r"tzinfo=datetime\.UTC"):
        parse_time(datetime(2026, 7, 1), now=NOW, use="as_of", naive=naive)  # noqa: DTZ001


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026",
        "2026-13",
        "2026-02-30",
        "2026-3-1",
        "20260301",
        "2026-03-01T25:00Z",
        "2026-03-01T09:30+99:00",
        "1969-12-31",
        "2201-01-01",
        "9999-12-31",
        "0000-01-01",
        "900 years ago",
        "999999 years ago",
        "-3 days ago",
        "@-1",
        "@" + "9" * 30,
        "2026-03-01T09:30:00Z; DROP",
        "x" * 10_000,
    ],
)
@pytest.mark.parametrize("use", ["as_of", "valid_at"])
def test_what_is_no_time_lists_the_accepted_forms(text: str, use: Use) -> None:
    """Every refusal shows all forms and stays short."""
    with pytest.raises(InvalidInput) as caught:
        resolved(text, use)

    assert FORMS in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", [None, 5, True, 1.5, b"now", date(9999, 12, 31), date(1, 1, 1)])
def test_what_is_no_text_lists_the_accepted_forms(value: object) -> None:
    """Numbers, None and dates beyond the bounds are refused like text."""
    with pytest.raises(InvalidInput) as caught:
        parse_time(value, now=NOW, use="as_of", naive="utc")  # type: ignore[arg-type]

    assert FORMS in str(caught.value)


@given(st.integers(min_value=0, max_value=LATEST))
def test_what_is_shown_is_read_back(micros: int) -> None:
    """What show writes parse_time reads: they are inverse for every instant of the years 1970 to 2200."""
    assert Moment(at=micros) == parse_time(show(micros), now=NOW, use="as_of", naive="error")


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(2200, 12, 31)))
def test_a_day_is_whole(day: date) -> None:
    """Between the start and the end of a day lie its microseconds but one."""
    start, end = (parse_time(day.isoformat(), now=NOW, use=use, naive="error").at for use in ("valid_at", "as_of"))

    assert (start or 0) + DAY - 1 == end


@given(st.text() | st.from_regex(r"[0-9a]{1,9} (days|months|years) ago|\d{4}-\d\d(-\d\dT\d\d:\d\d)?|@\d+"))
def test_any_text_is_a_moment_or_invalid(text: str) -> None:
    """Nothing but InvalidInput is raised."""
    for use in ("as_of", "valid_at"):
        try:
            moment = parse_time(text, now=NOW, use=use, naive="utc")
        except InvalidInput:
            continue

        assert (moment.at is None) != (moment.seq is None)


@pytest.mark.parametrize(("text", "hours"), [("90 days", 2160), ("1d 12h", 36), ("36H", 36), ("1 week 2 days", 216), ("120 min", 2)])
def test_spans(text: str, hours: int) -> None:
    """A span is a sum of counted units."""
    assert hours * 3_600_000_000 == parse_span(text)


@pytest.mark.parametrize("text", ["", "5", "3 months", "ten days", "-1 day", "1d!", "1 dayish"])
def test_what_is_no_span_shows_some(text: str) -> None:
    """Units of no fixed length, signs and bare numbers are refused."""
    with pytest.raises(InvalidInput, match="Write one like: 90 days"):
        parse_span(text)
