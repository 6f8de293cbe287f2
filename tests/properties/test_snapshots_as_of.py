"""The law of snapshots: whenever they are taken, and whichever are lost, every read answers as if there were none."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from clocks import TickingClock
from histories import BACKFILLS, SMALL, STEPS, Life, Step, open_memory
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_as_of import everything, when

from events.ids import StreamId
from memory_actors.actors.snapshots import Snapshots, check_snapshots
from memory_actors.memory import Memory
from memory_actors.reads.reading import Reader
from projections.view import StreamView
from projections.views import Views

ANN = StreamId("default", "ann")
ACTS = st.lists(st.sampled_from(["keep", "keep", "go on", "drop", "tear", "nothing"]), min_size=1, max_size=30)


def act(what: str, memory: Memory, snapshots: Snapshots, held: Views) -> None:
    """Something that may happen to the snapshot of a stream at any moment."""
    match what:
        case "keep" if memory.log.exists(ANN):
            snapshots.save(held.get(ANN))
        case "go on" if memory.log.exists(ANN):
            snapshots.save(Views(memory.log, snapshots=snapshots).get(ANN))
        case "drop":
            snapshots.drop(ANN)
        case "tear" if snapshots.path(ANN).exists():
            content = snapshots.path(ANN).read_bytes()
            snapshots.path(ANN).write_bytes(content[: len(content) // 2])
        case _:
            pass


def check(folder: Path, backfill: Sequence[tuple[str, int]], steps: Sequence[Step], acts: Sequence[str], places: Sequence[float]) -> None:
    clock = TickingClock()
    memory = open_memory(folder / "store", policy=SMALL, clock=clock)
    snapshots, held, life = Snapshots(memory.store), Views(memory.log), Life(memory, clock)
    life.backfill(backfill)
    for number, step in enumerate((("say", "main", ("user", None), "I live in Porto.", None), *steps) if not backfill else steps):
        life.step(step)
        act(acts[number % len(acts)], memory, snapshots, held)
    folded, restored = StreamView(ANN).catch_up(memory.log), Views(memory.log, snapshots=snapshots).get(ANN)
    valid = (when(folded.recorded_at[-1]),)

    assert [] == check_snapshots(memory.log, snapshots)
    assert folded.bytes == restored.bytes
    for seq in {round(place * folded.tail.seq) for place in (*places, 1)}:
        one, other = (Reader(view, view.at_seq(seq), memory.policy, memory.embedder, 0) for view in (folded, restored))

        assert everything(one, valid) == everything(other, valid)


LIFE = [("say", "main", ("user", None), "I live in Porto.", None), ("enrich",)] * 4


@settings(max_examples=20, deadline=None)
@given(backfill=BACKFILLS, steps=STEPS, acts=ACTS, places=st.lists(st.floats(0, 1), min_size=1, max_size=3))
@example(backfill=(), steps=LIFE, acts=["keep", "nothing"], places=[0.5])
@example(backfill=(), steps=LIFE, acts=["go on"], places=[0.5])
def test_a_view_from_a_snapshot_answers_as_one_that_was_folded(
    backfill: Sequence[tuple[str, int]], steps: list[Step], acts: list[str], places: list[float]
) -> None:
    """Recall with vectors, facts, episodes, topics, sessions, contexts, events: at the tail, and as of several seqs."""
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder), backfill, steps, acts, places)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=300, deadline=None)
@given(backfill=BACKFILLS, steps=STEPS, acts=ACTS, places=st.lists(st.floats(0, 1), min_size=2, max_size=4))
def test_the_law_at_length(backfill: Sequence[tuple[str, int]], steps: list[Step], acts: list[str], places: list[float]) -> None:
    """More lives."""
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder), backfill, steps, acts, places)
