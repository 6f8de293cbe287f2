"""The law of as-of reads, for the ranking: what comes later changes nothing, to the bit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from turn_histories import DAY, MINUTE, POOL, WEIGHTS, WORDS, Event, feed, filters, histories, queries

from projections.index.ranking import TurnFilter


@settings(max_examples=300, deadline=None)
@given(histories, st.integers(0, 1000), queries, st.one_of(st.none(), st.integers(0, 11)), filters, st.integers(0, 90))
def test_search_in_the_past_equals_search_then(
    history: list[Event], moment: int, query: str, vector: int | None, allowed: TurnFilter, days: int
) -> None:
    """search(whole, seq=s, now=T) == search(fed up to s, seq=s, now=T): ids, scores and legs, for every k."""
    seq, now = moment % (len(history) + 1), 10**15 + days * DAY
    asked = None if vector is None else POOL[vector]
    past, whole = feed(history, seq), feed(history, len(history))

    for k in (1, 3, None):
        expected = past.search(query, asked, seq=seq, now=now, weights=WEIGHTS, allowed=allowed, k=k)
        actual = whole.search(query, asked, seq=seq, now=now, weights=WEIGHTS, allowed=allowed, k=k)

        assert repr(expected) == repr(actual)

    expected_signals = past.signals(query, asked, seq=seq, now=now, allowed=allowed)
    actual_signals = whole.signals(query, asked, seq=seq, now=now, allowed=allowed)

    assert expected_signals.values.tobytes() == actual_signals.values.tobytes()
    assert expected_signals.seqs.tolist() == actual_signals.seqs.tolist()


@settings(max_examples=60, deadline=None)
@given(histories, queries, st.integers(0, 11))
def test_every_living_turn_is_ranked_once(history: list[Event], query: str, vector: int) -> None:
    """No cut-off: all turns that entered and were not withdrawn, and finite scores in descending order."""
    index = feed(history, len(history))
    added = [seq for seq, event in enumerate(history, 1) if event[0] == "add"]
    withdrawn = {
        known[event[1] % len(known)]
        for seq, event in enumerate(history, 1)
        if event[0] == "withdraw" and (known := [one for one in added if one < seq])
    }

    found = index.search(query, POOL[vector], seq=len(history), now=10**15, weights=WEIGHTS, k=None)

    assert set(added) - withdrawn == {one.seq for one in found}
    assert sorted(((one.score, one.seq) for one in found), reverse=True) == [(one.score, one.seq) for one in found]
    assert all(np.isfinite(one.score) for one in found)


def test_the_law_at_a_size_where_sums_are_blocked() -> None:
    """Pairwise sums and threaded products change their order with size: 3,000 turns, read at 2,500."""
    rng = np.random.default_rng(5)
    history: list[Event] = []
    for place in range(3000):
        content = " ".join(rng.choice(WORDS, 6))
        who = (("user", "Anna"), ("assistant", "Ben"))[place % 2]
        history += [("add", "one", who, content, MINUTE if place % 25 else 5 * DAY), ("embed", place, [place % 12])]
    history.append(("withdraw", 17))
    seq = 5001
    past, whole = feed(history, seq), feed(history, len(history))

    for query in ("When did Anna get the three dogs?", "green tea food", "what did we do in May 2023"):
        expected = past.search(query, POOL[3], seq=seq, now=10**15, weights=WEIGHTS, k=None)
        actual = whole.search(query, POOL[3], seq=seq, now=10**15, weights=WEIGHTS, k=None)

        assert repr(expected) == repr(actual)
