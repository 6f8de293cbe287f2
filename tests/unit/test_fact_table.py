"""The fact table on its two clocks, one rule at a time."""

from typing import Any

from events.envelope import Envelope, Source, Unknown
from events.vocabulary import (
    FactAsserted,
    FactConfirmed,
    FactEnded,
    FactRetracted,
    MemoryForgotten,
    Payload,
    StreamErased,
)
from projections.facts import FactTable

LATE = 1_000


def table(*events: tuple[Payload, int], sources: tuple[int, ...] = (1,)) -> FactTable:
    """Fed with these payloads and when they happened; the first has seq 1."""
    made = FactTable()
    for seq, (data, happened_at) in enumerate(events, 1):
        made.apply(
            Envelope(
                space="s", user="u", seq=seq, type=type(data).__name__, schema_version=1, recorded_at=100 + seq,
                occurred_at=happened_at, data=data, sources=tuple(Source(one) for one in sources),
            )
        )  # fmt: skip
    return made


def fact(name: str, value: str, **more: Any) -> FactAsserted:
    fields: dict[str, Any] = {"subject": "user", "category": "identity", "key": "home_city", "confidence": 0.9, "importance": 0.8}
    return FactAsserted(fact=name, value=value, extractor="x", **{**fields, **more})


def values(made: FactTable, valid_at: int | None = None, *, seq: int = 99, now: int = LATE) -> list[str]:
    return [row.value for row in made.active(seq, valid_at, now)]


def test_where_did_she_live_in_january() -> None:
    """A superseded fact counts until the superseding one begins, also when asked about after it was superseded."""
    made = table((fact("f1", "Oslo"), 10), (fact("f2", "Rome", supersedes=("f1",), valid_from=50), 60))

    assert ["Rome"] == values(made)
    assert ["Oslo"] == values(made, 49)
    assert ["Rome"] == values(made, 50)


def test_what_supersedes_without_a_beginning_begins_when_it_was_said() -> None:
    """The time of its source stands in for `valid_from`."""
    made = table((fact("f1", "Oslo"), 10), (fact("f2", "Rome", supersedes=("f1",)), 60))

    assert (["Oslo"], ["Rome"]) == (values(made, 59), values(made, 60))


def test_an_ended_fact_counts_before_its_end() -> None:
    """Half-open: not at the end itself. And before it was recorded as ended, nobody knew."""
    made = table((fact("f1", "Oslo"), 10), (FactEnded(fact="f1", valid_to=40, reason=""), 60))

    assert [] == values(made)
    assert (["Oslo"], []) == (values(made, 39), values(made, 40))
    assert ["Oslo"] == values(made, 40, seq=1)
    assert ["ended"] == [row.status for row in made.view(99, None, LATE)]


def test_an_end_that_is_known_in_advance_has_not_come_yet() -> None:
    """As in "I leave next month": active until then; likewise what begins later is not held yet."""
    made = table((fact("f1", "Oslo"), 10), (fact("f2", "Rome", supersedes=("f1",), valid_from=50), 20))

    assert (["Oslo"], ["Rome"]) == (values(made, now=30), values(made, now=50))


def test_history_that_was_never_held_is_found_in_its_time_only() -> None:
    """As in "I used to live in Oslo", said at 60."""
    made = table((fact("f1", "Oslo", valid_to=60), 60))

    assert ([], ["Oslo"]) == (values(made, now=60), values(made, 59))


def test_a_retracted_fact_never_counts_again_but_is_explained() -> None:
    """Not at any instant; as of before the retraction it still does."""
    made = table((fact("f1", "Oslo"), 10), (FactRetracted(fact="f1", reason=""), 20), (FactConfirmed(fact="f1", confidence=1.0), 30))

    assert [] == values(made, 15)
    assert ["Oslo"] == values(made, 15, seq=1)
    assert ["retracted"] == [row.status for row in made.history("home_city", 99, LATE)]


def test_what_was_forgotten_is_retracted_from_then_on() -> None:
    """By its id, in the event of the request."""
    made = table((fact("f1", "Oslo"), 10), (MemoryForgotten(text="my address", facts=("f1",), turns=(1,)), 20))

    assert ([], ["Oslo"]) == (values(made), values(made, seq=1))


def test_a_pending_fact_does_not_count() -> None:
    """Neither now nor, once replaced, at an instant in which it was pending."""
    made = table((fact("f1", "Oslo", status="pending"), 10), (fact("f2", "Rome", supersedes=("f1",), valid_from=50), 60))

    assert ([], []) == (values(made, seq=1), values(made, 30))
    assert ["pending"] == [row.status for row in made.view(1, None, LATE)]


def test_a_confirmation_adds_its_source_and_what_it_taught() -> None:
    """Confidence never falls; a beginning that became known stands from then on."""
    made = table((fact("f1", "Oslo"), 10))
    made.apply(
        Envelope(
            space="s", user="u", seq=5, type="FactConfirmed", schema_version=1, recorded_at=105, occurred_at=7,
            data=FactConfirmed(fact="f1", confidence=0.5, valid_from=3), sources=(Source(4), Source(9, user="else")),
        )
    )  # fmt: skip

    row = made.get("f1", 5, LATE)
    assert row is not None
    assert ((1, 4), 0.9, 3, 7, 101) == (row.source_seqs, row.confidence, row.valid_from, row.occurred_at, row.recorded_at)
    before = made.get("f1", 4, LATE)
    assert before is not None
    assert ((1,), None) == (before.source_seqs, before.valid_from)


def test_of_two_overlapping_values_the_latest_said_before_the_instant_counts() -> None:
    """A late statement landed in the past; neither said since when it held."""
    made = table((fact("f1", "Rome"), 80), (fact("f2", "Oslo", valid_to=80), 20))

    assert (["Oslo"], ["Oslo"], ["Rome"]) == (values(made, 5), values(made, 50), values(made, 90))


def test_many_values_count_together() -> None:
    """Likes accumulate."""
    made = table((fact("f1", "chess", key="likes", many=True), 10), (fact("f2", "go", key="likes", many=True), 20))

    assert ["chess", "go"] == values(made, 30)


def test_rows_are_ordered_by_importance_then_slot_then_recording() -> None:
    """Seed 1: the most important first."""
    made = table(
        (fact("f1", "b", key="likes", category="preference", many=True, importance=0.6), 1),
        (fact("f2", "a", key="likes", category="preference", many=True, importance=0.6), 1),
        (fact("f3", "Ana", key="name"), 1),
        (fact("f4", "CET", key="timezone"), 1),
        (fact("f5", "Oslo"), 1),
    )

    assert ["f5", "f3", "f4", "f1", "f2"] == [row.id for row in made.view(99, None, LATE)]


def test_history_is_of_a_key_and_can_be_narrowed() -> None:
    """By category, and by subject without regard to letter case."""
    made = table(
        (fact("f1", "Oslo"), 1),
        (fact("f2", "Rome", subject="Ana"), 2),
        (fact("f3", "Rust", key="language", category="preference"), 3),
        (fact("f4", "Tamil", key="language", many=True), 4),
    )

    assert ["f1", "f2"] == [row.id for row in made.history("home_city", 99, LATE)]
    assert ["f2"] == [row.id for row in made.history("home_city", 99, LATE, subject="ana")]
    assert ["f3"] == [row.id for row in made.history("language", 99, LATE, category="preference")]


def test_what_is_unknown_or_seen_changes_nothing() -> None:
    """A second event of a seq, facts that never were, types that are not known."""
    made = table((fact("f1", "Oslo"), 1), (FactEnded(fact="f9", valid_to=1, reason=""), 2), (Unknown(raw=b"?"), 3))
    made.apply(
        Envelope(
            space="s", user="u", seq=1, type="FactRetracted", schema_version=1, recorded_at=1, data=FactRetracted(fact="f1", reason="")
        )
    )

    assert (3, ["Oslo"]) == (made.seq, values(made))


def test_an_erasure_empties_the_table() -> None:
    """What was there is not there at any seq."""
    made = table((fact("f1", "Oslo"), 1), (StreamErased(), 2))

    assert ([], None) == (made.view(1, None, LATE), made.get("f1", 1, LATE))
