"""Histories of a turn index, as lists of events, and an index that was fed a part of one."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from projections.index.dense import quantised
from projections.index.ranking import TurnFilter, TurnIndex
from projections.index.segments import CUT, Segmentation
from projections.index.signals import SIGNALS

DIMENSIONS = 24
POOL = quantised(np.random.default_rng(11).normal(size=(12, DIMENSIONS)))
WORDS = ("Lisbon", "dog", "dogs", "moved", "May", "2023", "three", "yesterday", "Anna", "Ben", "the", "food?", "green", "tea")
MINUTE, DAY = 60_000_000, 86_400_000_000
WEIGHTS = {name: 0.1 + place / 17 for place, name in enumerate(SIGNALS)}

Event = tuple[Any, ...]

texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=9).map(" ".join)
turns = st.tuples(
    st.just("add"),
    st.sampled_from(["one", "two"]),
    st.sampled_from([("user", None), ("user", "Anna"), ("assistant", "Ben"), ("assistant", None), ("user", "Green Tea")]),
    texts,
    st.sampled_from([0, MINUTE, 59 * MINUTE, 2 * 60 * MINUTE, 5 * DAY, -3 * MINUTE]),
)
embeddings = st.tuples(st.just("embed"), st.integers(0, 30), st.lists(st.integers(0, 11), min_size=1, max_size=3))
withdrawals = st.tuples(st.just("withdraw"), st.integers(0, 30))
events = st.one_of(turns, turns, embeddings, embeddings, withdrawals)
histories = st.lists(events, min_size=1, max_size=40)
queries = st.one_of(texts, st.sampled_from(["When did Anna move?", "What did I eat last week?", "Who has three dogs in May 2023?"]))
filters = st.sampled_from([TurnFilter(), TurnFilter(roles=frozenset({"user"})), TurnFilter(speakers=frozenset({"Anna"}))])


def feed(history: list[Event], until: int, segmentation: Segmentation = CUT, pool: np.ndarray = POOL) -> TurnIndex:
    """An index that was fed the events with seqs 1 to `until`; the vectors are those of the pool."""
    index, occurred, places, known = TurnIndex(segmentation), 10**15, {"one": 0, "two": 0}, list[int]()
    feed: dict[str, Callable[[int, Event], None]] = {}

    def add(seq: int, event: Event) -> None:
        nonlocal occurred
        _, conversation, (role, speaker), content, step = event
        occurred += step
        places[conversation] += 1
        known.append(seq)
        index.add(
            seq,
            conversation=conversation,
            turn=places[conversation],
            role=role,
            speaker=speaker,
            content=content,
            occurred_at=occurred,
        )

    def embed(seq: int, event: Event) -> None:
        if known:
            index.embed(seq, known[event[1] % len(known)], pool[event[2]], ("turn",) * len(event[2]))

    def withdraw(seq: int, event: Event) -> None:
        if known:
            index.withdraw(seq, known[event[1] % len(known)])

    feed |= {"add": add, "embed": embed, "withdraw": withdraw}
    for seq, event in enumerate(history[:until], 1):
        feed[event[0]](seq, event)
    return index
