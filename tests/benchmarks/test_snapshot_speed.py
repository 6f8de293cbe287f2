"""The first recall of a stream that nobody holds: from its snapshot, and from its log; and what a view takes in memory."""

import gc
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from builders import ANN, BOB
from measure import interleaved, report, seconds
from test_recall_speed import History

from events.envelope import Envelope, NewEvent
from events.ids import StreamId
from events.log import Log
from events.log.file_log import FileLog
from events.log.row import Stamped
from events.log.store import create_store
from events.policy import Policy
from memory_actors.actors.snapshots import Snapshots
from memory_actors.reads.recall import recall
from projections.view import StreamView
from projections.views import Views

ROUNDS, LIVE = 5, 2_000

pytestmark = pytest.mark.benchmark


def written(log: Log, stream: StreamId, events: Sequence[Envelope], at_once: int) -> None:
    """These events, in commits of `at_once`."""
    handle, _ = log.open(stream)
    for start in range(0, len(events), at_once):
        stamped = [
            Stamped(NewEvent(one.data, one.occurred_at, vector=one.vector), f"c{one.seq}", one.recorded_at)
            for one in events[start : start + at_once]
        ]
        log.append(handle, stamped, expected_seq=handle.tail.seq)


def answered(views: Views, stream: StreamId, query: str) -> StreamView:
    """The view, after a recall."""
    view = views.get(stream)
    recall(view, query, k=10, basis=view.latest(0), policy=Policy(), vector=view.recorded[1].vector[0])
    return view


def test_first_recall(tmp_path: Path) -> None:
    """With a snapshot that reaches the tail, with one that lacks a tenth, and with none."""
    history = History()
    events = history.view().recorded
    log = FileLog(create_store(tmp_path / "store"))
    snapshots = Snapshots(log.store)
    rows = []
    for stream, some, at_once in ((ANN, events, 512), (BOB, events[:LIVE], 1)):
        written(log, stream, some, at_once)
        whole = Views(log).get(stream)
        snapshots.save(whole)
        steps = {
            "from the log": lambda _, of=stream: answered(Views(log), of, history.query()),
            "from a snapshot": lambda _, of=stream: answered(Views(log, snapshots=snapshots), of, history.query()),
            "writing the snapshot": lambda _, view=whole: snapshots.save(view),
        }
        taken = interleaved(ROUNDS, steps, warm=1)
        size = f"{snapshots.path(stream).stat().st_size / 1e6:.1f} MB"
        base = taken["from the log"]
        rows += [(f"{len(some):,}, {at_once} a commit", name, seconds(value), f"{base / value:.1f}", size) for name, value in taken.items()]
    report(
        f"a stream of {len(events):,} events, of 10,000 turns with their vectors",
        __file__,
        ("events", "first recall", "median", "x log", "file"),
        rows,
    )


def test_memory_of_a_view(tmp_path: Path) -> None:
    """What `StreamView.bytes` says against what the allocators of Python and Arrow count."""
    events = History().view().recorded
    log = FileLog(create_store(tmp_path / "store"))
    written(log, ANN, events, 512)
    rows = []
    for name, given in {"all": {}, "no index": {"index": False}, "no index, no vectors": {"index": False, "vectors": False}}.items():
        gc.collect()
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        view = StreamView(ANN, **given).catch_up(log)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before
        tracemalloc.stop()
        rows.append((name, f"{view.bytes / 1e6:.1f}", f"{taken / 1e6:.1f}", f"{view.bytes / taken:.2f}"))
        del view
    report(f"a stream of {len(events):,} events", __file__, ("view", "estimated MB", "allocated MB", "ratio"), rows)
