"""Time travel over facts is a filter, and what is believed does not depend on the order in which turns arrive."""

from hypothesis import given
from hypothesis import strategies as st

from events.candidates import Candidate
from events.deciding.fact_slots import FactRules, FactSlots, decide_candidates
from events.envelope import Envelope, Source
from events.vocabulary import (
    FactAsserted,
    FactConfirmed,
    FactCorrected,
    FactEnded,
    FactRetracted,
    MemoryForgotten,
    Payload,
    TopicRevived,
)
from projections.facts import FactTable

INSTANTS = st.integers(-5, 60)
MAYBE = st.none() | INSTANTS
NAMES = st.sampled_from(["f1", "f2", "f3", "f4", "f5", "f6", "f9"])


def envelope(seq: int, data: Payload, happened_at: int, sources: tuple[int, ...] = ()) -> Envelope:
    return Envelope(
        space="s", user="u", seq=seq, type=type(data).__name__, schema_version=1, recorded_at=seq * 10,
        occurred_at=happened_at, data=data, sources=tuple(Source(one) for one in sources),
    )  # fmt: skip


ASSERTIONS = st.builds(
    FactAsserted,
    fact=NAMES,
    subject=st.sampled_from(["user", "Ana"]),
    category=st.sampled_from(["identity", "preference"]),
    key=st.sampled_from(["name", "likes"]),
    value=st.sampled_from(["a", "b"]),
    confidence=st.sampled_from([0.5, 0.9]),
    importance=st.sampled_from([0.6, 0.8]),
    status=st.sampled_from(["active", "pending"]),
    valid_from=MAYBE,
    valid_to=MAYBE,
    many=st.booleans(),
    extractor=st.just("x"),
    supersedes=st.lists(NAMES, max_size=2).map(tuple),
)
PAYLOADS = st.one_of(
    ASSERTIONS,
    ASSERTIONS,
    st.builds(FactConfirmed, fact=NAMES, confidence=st.just(0.95), valid_from=MAYBE),
    st.builds(FactEnded, fact=NAMES, valid_to=INSTANTS, reason=st.just("")),
    st.builds(FactRetracted, fact=NAMES, reason=st.just("")),
    st.builds(FactCorrected, fact=NAMES, value=st.just("c")),
    st.builds(MemoryForgotten, text=st.just(""), facts=st.lists(NAMES, max_size=2).map(tuple), turns=st.just(())),
    st.builds(TopicRevived, topic=st.just("t")),
)
LOGS = st.lists(st.tuples(PAYLOADS, INSTANTS, st.integers(1, 4)), max_size=14).map(
    lambda said: [envelope(seq, data, at, (source,)) for seq, (data, at, source) in enumerate(said, 1)]
)


def folded(log: list[Envelope]) -> FactTable:
    table = FactTable()
    for one in log:
        table.apply(one)
    return table


@given(log=LOGS, seq=st.integers(0, 15), valid_at=MAYBE, now=INSTANTS)
def test_a_view_as_of_a_seq_is_that_of_a_table_fed_up_to_there(log: list[Envelope], seq: int, valid_at: int | None, now: int) -> None:
    """For every read, at every seq, instant and present."""
    everything, prefix = folded(log), folded(log[:seq])

    assert prefix.view(seq, valid_at, now) == everything.view(seq, valid_at, now)
    assert prefix.active(seq, valid_at, now) == everything.active(seq, valid_at, now)
    assert prefix.history("name", seq, now) == everything.history("name", seq, now)
    assert prefix.get("f1", seq, now) == everything.get("f1", seq, now)


@given(log=LOGS, cut=st.integers(0, 15), valid_at=MAYBE, now=INSTANTS)
def test_a_restored_table_goes_on_as_if_never_dumped(log: list[Envelope], cut: int, valid_at: int | None, now: int) -> None:
    """And events that it has seen already change nothing."""
    restored = FactTable.load(folded(log[:cut]).dump())
    for one in log:
        restored.apply(one)

    assert folded(log).dump() == restored.dump()
    assert folded(log).active(len(log), valid_at, now) == restored.active(len(log), valid_at, now)


@given(log=LOGS, seq=st.integers(0, 15), valid_at=INSTANTS, now=INSTANTS)
def test_what_counts_covers_the_instant_and_was_not_withdrawn(log: list[Envelope], seq: int, valid_at: int, now: int) -> None:
    """Of a one-valued slot at most one fact counts."""
    rows = folded(log).active(seq, valid_at, now)

    assert all(row.status != "retracted" for row in rows)
    assert all((row.valid_from or valid_at) <= valid_at < (valid_at + 1 if row.valid_to is None else row.valid_to) for row in rows)
    single = [(row.subject.casefold(), row.category, row.key) for row in rows if not row.many]
    assert sorted(set(single)) == sorted(single)


@given(
    statements=st.lists(st.tuples(st.integers(1, 12), st.sampled_from("abc")), min_size=1, max_size=8, unique_by=lambda one: one[0]),
    instant=st.integers(1, 13),
)
def test_the_order_of_arrival_does_not_matter(statements: list[tuple[int, str]], instant: int) -> None:
    """At every instant a one-valued slot holds what was last said by then, whenever the turns arrived."""
    rows = told(statements).active(10**6, instant, 10**6)

    said = [value for at, value in sorted(statements) if at <= instant]
    expected = [said[-1] if said else min(statements)[1]]
    assert expected == [row.value for row in rows]


def told(statements: list[tuple[int, str]]) -> FactTable:
    """The table after turns that were said at these instants arrived in this order."""
    slots, table, seq = FactSlots(), FactTable(), 0
    for at, value in statements:
        seq += 1
        candidate = Candidate(subject="user", category="identity", key="home_city", value=value, confidence=0.9, importance=0.8)
        decided = decide_candidates(slots, [candidate], turn_seq=seq, happened_at=at, next_seq=seq + 1, rules=FactRules(), extractor="x")
        for event in decided:
            seq += 1
            one = envelope(seq, event.data, event.occurred_at or 0, event.sources)
            slots.evolve(one)
            table.apply(one)
    return table
