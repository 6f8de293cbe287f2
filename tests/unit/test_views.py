"""Views of many streams: held as memory allows, taken from snapshots where that helps, and never behind what was asked for."""

import logging
import pickle

import numpy as np
import pytest
from builders import ANN, BOB, erase, stamped, write

from events.ids import StreamId
from events.log import Log, Tail
from events.log.file_log import FileLog
from events.log.memory_log import MemoryLog
from projections.index.ranking import TurnIndex
from projections.index.segments import Segmentation
from projections.legs import Failure
from projections.view import StreamView
from projections.views import SNAPSHOT_EVERY, Behind, Views

CAT = StreamId("home", "cat")


class Kept:
    """Snapshots in memory: the views themselves."""

    def __init__(self) -> None:
        self.views: dict[StreamId, StreamView] = {}
        self.loads: list[StreamId] = []
        self.saves: list[int] = []
        self.full = False

    def load(self, stream: StreamId) -> StreamView | None:
        self.loads.append(stream)
        return self.views.get(stream)

    def save(self, view: StreamView) -> bool:
        self.saves.append(view.tail.seq)
        self.views |= {} if self.full else {view.stream: view}
        return not self.full

    def drop(self, stream: StreamId) -> None:
        self.views.pop(stream, None)


def written(log: Log, *streams: StreamId, events: int = 3) -> Log:
    """More events at the end of each."""
    for stream in streams:
        write(log, log.open(stream)[0], events)
    return log


def seqs(view: StreamView) -> list[int]:
    return [event.seq for event in view.recorded]


# -- what is held


def test_a_view_is_held_and_caught_up() -> None:
    log = written(MemoryLog(), ANN)
    views = Views(log)
    first = views.get(ANN)
    written(log, ANN)

    assert first is views.get(ANN)
    assert [1, 2, 3, 4, 5, 6] == seqs(first)


def test_the_views_used_longest_ago_are_let_go_when_all_take_too_much() -> None:
    log = written(MemoryLog(), ANN, BOB, CAT)
    size = StreamView(ANN).catch_up(log).bytes
    views = Views(log, bytes=2 * size)
    for stream in (ANN, BOB, ANN, CAT):
        views.get(stream)

    assert (True, False, True) == (ANN in views, BOB in views, CAT in views)


def test_a_view_that_grows_displaces_others() -> None:
    """What a view takes is looked at whenever it has been caught up."""
    log = written(MemoryLog(), ANN, BOB)
    views = Views(log, bytes=3 * StreamView(ANN).catch_up(log).bytes)
    views.get(ANN)
    views.get(BOB)
    written(log, BOB, events=20)
    views.get(BOB)

    assert (False, True) == (ANN in views, BOB in views)


def test_a_view_larger_than_the_bound_is_served_and_held() -> None:
    """It would otherwise be folded for every read; the next one takes its place."""
    views = Views(written(MemoryLog(), ANN, BOB), bytes=1)
    first = views.get(ANN)

    assert first is views.get(ANN)
    views.get(BOB)
    assert (False, True) == (ANN in views, BOB in views)


def test_an_estimate_counts_events_texts_vectors_and_an_index() -> None:
    """More of any of them is more."""
    log = written(MemoryLog(), ANN, events=2)
    log.append(log.open(BOB)[0], stamped("event 1", "event 2, at some length"), expected_seq=0)

    bare, indexed = StreamView(ANN, index=False).catch_up(log).bytes, StreamView(ANN).catch_up(log).bytes

    assert 0 == StreamView(ANN).bytes
    assert 1000 < bare < indexed < StreamView(BOB).catch_up(log).bytes


def test_an_estimate_counts_graphs_once_they_are_built() -> None:
    """A copy of the rows that they hold, and their links."""
    log = written(MemoryLog(), ANN)
    view = StreamView(ANN).catch_up(log)
    before, rows = view.bytes, np.eye(64, dtype=np.int16) * 4000
    index = TurnIndex(Segmentation(rows=16, crossover=16))
    for seq, row in enumerate(rows, 1):
        index.add(seq, conversation="c", turn=seq, role="user", speaker=None, content="x", occurred_at=0)
        index.embed(seq, seq, row[np.newaxis], ("turn",))
    view.parts.index = index

    assert before == view.bytes
    index.search("x", rows[0], seq=64, now=0)
    assert 64 * 64 * 4 < view.bytes - before < 64 * (64 * 4 + 1000)


# -- at least


def test_a_view_that_has_seen_enough_is_given() -> None:
    assert 3 == Views(written(MemoryLog(), ANN)).get(ANN, at_least=3).tail.seq


def test_a_view_that_lags_is_refused_with_its_tail() -> None:
    """Whoever asked may wait and ask again: the view is held, and goes on from there."""
    log = written(MemoryLog(), ANN)
    views = Views(log)
    with pytest.raises(Behind, match="ends at event 3, before 5") as raised:
        views.get(ANN, at_least=5)
    written(log, ANN)

    assert (3, 5) == (raised.value.tail, raised.value.at_least)
    assert 6 == views.get(ANN, at_least=5).tail.seq


def test_the_error_survives_a_way_between_processes() -> None:
    copy = pickle.loads(pickle.dumps(Behind(3, 5)))

    assert (3, 5, "the log ends at event 3, before 5") == (copy.tail, copy.at_least, str(copy))


# -- snapshots


def test_a_view_that_is_not_held_goes_on_from_its_snapshot() -> None:
    log, kept = written(MemoryLog(), ANN), Kept()
    kept.views[ANN] = StreamView(ANN).catch_up(log)
    written(log, ANN)

    view = Views(log, snapshots=kept).get(ANN)

    assert view is kept.views[ANN]
    assert [1, 2, 3, 4, 5, 6] == seqs(view)


def test_a_view_that_is_held_needs_no_snapshot() -> None:
    log, kept = written(MemoryLog(), ANN), Kept()
    views = Views(log, snapshots=kept)
    for _ in range(3):
        views.get(ANN)

    assert [ANN] == kept.loads


def test_a_snapshot_without_what_is_needed_is_passed_over() -> None:
    """One with more is as good as one with just that."""
    log, kept = written(MemoryLog(), ANN), Kept()
    kept.views[ANN] = StreamView(ANN, index=False, vectors=False).catch_up(log)

    assert kept.views[ANN] is not Views(log, snapshots=kept).get(ANN)
    assert kept.views[ANN] is Views(log, index=False, vectors=False, snapshots=kept).get(ANN)


def test_a_view_is_saved_when_it_has_grown_enough() -> None:
    """Not at every read; and the longer the stream, the less often, because all of it is written."""
    log, kept = written(MemoryLog(), ANN), Kept()
    views = Views(log, snapshots=kept, save=True)
    for _ in range(12 * SNAPSHOT_EVERY):
        written(log, ANN, events=1)
        views.get(ANN)
    gaps = [after - before for before, after in zip(kept.saves, kept.saves[1:], strict=False)]

    assert SNAPSHOT_EVERY == kept.saves[0]
    assert {SNAPSHOT_EVERY} == set(gaps[:7])
    assert gaps[7] < gaps[-1]


def test_a_view_that_could_not_be_saved_is_tried_again() -> None:
    """At the next read, not after as many events again."""
    log, kept = written(MemoryLog(), ANN, events=SNAPSHOT_EVERY), Kept()
    views = Views(log, snapshots=kept, save=True)
    kept.full = True
    views.get(ANN)
    kept.full = False

    assert [SNAPSHOT_EVERY] * 2 == [views.get(ANN).saved, kept.views[ANN].tail.seq]
    assert [SNAPSHOT_EVERY] * 2 == kept.saves


def test_what_was_loaded_counts_as_saved() -> None:
    log, kept = written(MemoryLog(), ANN, events=SNAPSHOT_EVERY), Kept()
    Views(log, snapshots=kept, save=True).get(ANN)
    written(log, ANN)
    Views(log, snapshots=kept, save=True).get(ANN)

    assert [SNAPSHOT_EVERY] == kept.saves


@pytest.mark.parametrize("given", [{"save": False}, {"save": True, "index": False}, {"save": True, "vectors": False}])
def test_readers_that_should_not_or_hold_less_than_all_save_nothing(given: dict[str, bool]) -> None:
    log, kept = written(MemoryLog(), ANN, events=SNAPSHOT_EVERY), Kept()
    Views(log, snapshots=kept, **given).get(ANN)

    assert [] == kept.saves


def test_a_view_with_a_leg_that_failed_is_not_saved() -> None:
    """Whoever loaded it might take it for whole."""
    log, kept = written(MemoryLog(), ANN), Kept()
    views = Views(log, snapshots=kept, save=True)
    views.get(ANN).parts.failed["facts"] = Failure(2, "KeyError")
    written(log, ANN, events=SNAPSHOT_EVERY)
    views.get(ANN)

    assert [] == kept.saves


@pytest.mark.parametrize(
    ("kept_events", "digest", "said"),
    [(5, b"", "reaches event 5, but its log ends before it"), (3, bytes(32), "made of another event 3")],
)
def test_a_snapshot_that_the_log_contradicts_is_reported_and_left_where_it_is(
    caplog: pytest.LogCaptureFixture, kept_events: int, digest: bytes, said: str
) -> None:
    """The log is the truth, but a lost tail must not go unnoticed: the view says so, and the evidence is not overwritten."""
    log, kept = written(MemoryLog(), ANN), Kept()
    other = StreamView(ANN).catch_up(written(MemoryLog(), ANN, events=kept_events))
    other.tail = Tail(other.tail.seq, digest or other.tail.digest)
    kept.views[ANN] = other
    views = Views(log, snapshots=kept, save=True)

    with caplog.at_level(logging.WARNING):
        view = views.get(ANN)
    written(log, ANN, events=SNAPSHOT_EVERY)
    views.get(ANN)

    assert list(range(1, 4 + SNAPSHOT_EVERY)) == seqs(view)
    assert [said] == [said for problem in view.problems if said in problem]
    assert said in caplog.text
    assert (other, []) == (kept.views[ANN], kept.saves)


def test_a_snapshot_from_before_an_erasure_is_dropped_and_no_problem(log: FileLog) -> None:
    kept = Kept()
    kept.views[ANN] = StreamView(ANN).catch_up(written(log, ANN))
    floor = erase(log, ANN)

    view = Views(log, snapshots=kept, save=True).get(ANN)

    assert ((), [floor]) == (view.problems, seqs(view))
    assert ANN not in kept.views


def test_a_floor_makes_a_view_that_was_loaded_start_again(log: FileLog) -> None:
    """And its growth counts from there."""
    kept = Kept()
    kept.views[ANN] = StreamView(ANN).catch_up(written(log, ANN, events=20))
    views = Views(log, snapshots=kept, save=True)
    views.get(ANN).saved = 20
    written(log, ANN)
    floor = erase(log, ANN)

    view = views.get(ANN)

    assert ([floor], 0) == (seqs(view), view.saved)
