"""The law of as-of reads: `recall(store, as_of=T) == recall(copy(store, T), as_of=T)`, to the bit; likewise every other read.

`final` aside, which says whether the store goes on after T, every answer is compared as the bytes of its JSON.
"""

import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from clocks import TickingClock
from histories import BACKFILLS, LOCOMO, QUERIES, SMALL, STEPS, Life, Step, demo_store, open_memory
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.ids import StreamId
from events.log import copying
from memory_actors import demo
from memory_actors.cli import answers
from memory_actors.ingest import ingest
from memory_actors.inputs import read_inputs
from memory_actors.memory import Memory
from memory_actors.reads.reading import Reader
from memory_actors.times import EPOCH, MICROSECOND
from memory_actors.user import Reads
from projections.view import StreamView, fold

ANN = StreamId("default", "ann")
Bytes = dict[str, bytes]


def when(micros: int) -> datetime:
    return EPOCH + micros * MICROSECOND


def everything(reader: Reader, valid_at: Sequence[datetime], queries: Sequence[str] = QUERIES) -> Bytes:
    """What every read answers, as bytes."""
    found: dict[str, object] = {
        "facts": list(map(answers.fact, reader.facts())),
        "all": list(map(answers.fact, reader.facts(everything=True))),
    }
    for at in valid_at:
        found[f"facts valid at {at}"] = list(map(answers.fact, reader.facts(at)))
        found[f"all valid at {at}"] = list(map(answers.fact, reader.facts(at, everything=True)))
    found["episodes"] = list(map(answers.episode, reader.episodes()))
    found["topics"] = list(map(answers.topic, reader.topics(everything=True)))
    found["conversations"] = list(map(answers.conversation, reader.conversations()))
    for conversation in (None, *(row.conversation for row in reader.conversations())):
        found[f"session {conversation}"] = answers.session(*reader.session(conversation))
    for query in queries:
        found[f"recall {query}"] = answers.recall(reader.recall(query, 40))
        found[f"context {query}"] = answers.context(reader.context(query, 300))
    found["context"] = answers.context(reader.context(None, 300))
    found["events"] = list(map(answers.event, reader.events()))
    return {name: msgspec.json.encode(_without_final(answer)) for name, answer in found.items()}


def _without_final(answer: object) -> object:
    if isinstance(answer, dict) and "basis" in answer:
        return answer | {"basis": {name: value for name, value in answer["basis"].items() if name != "final"}}
    return answer


def of(reads: Reads, valid_at: Sequence[datetime], queries: Sequence[str] = QUERIES) -> Bytes:
    return everything(reads.reader(index=True), valid_at, queries)


def lived(folder: Path, backfill: Sequence[tuple[str, int]], steps: Sequence[Step]) -> Memory:
    clock = TickingClock()
    memory = open_memory(folder / "store", policy=SMALL, clock=clock)
    life = Life(memory, clock)
    life.backfill(backfill)
    for step in (("say", "main", ("user", None), "I live in Porto.", None), *steps) if not backfill else steps:
        life.step(step)
    return memory


def moments(memory: Memory, places: Sequence[float], nudge: int) -> Iterator[int]:
    """Instants at, just before and just after events of the stream; none before its first."""
    times = [row.recorded_at for row in memory.log.read(ANN).rows]
    for place in places:
        yield max(times[min(int(place * len(times)), len(times) - 1)] + nudge, times[0])


def check_copies(folder: Path, backfill: Sequence[tuple[str, int]], steps: Sequence[Step], places: Sequence[float], nudge: int) -> None:
    memory = lived(folder, backfill, steps)
    for number, moment in enumerate(moments(memory, places, nudge)):
        copying.copy(memory.log, moment, folder / str(number))
        copied = open_memory(folder / str(number), policy=SMALL, clock=TickingClock(start=moment))
        valid = (when(moment), when(moment - 20 * 86_400_000_000))

        assert of(copied.user("ann").as_of(when(moment)), valid) == of(memory.user("ann").as_of(when(moment)), valid)


def check_prefixes(folder: Path, backfill: Sequence[tuple[str, int]], steps: Sequence[Step]) -> None:
    memory = lived(folder, backfill, steps)
    events = memory.log.read(ANN).events
    whole = fold(ANN, events)
    valid = (when(events[-1].recorded_at),)
    for seq in range(1, len(events) + 1, max(1, len(events) // 12)):
        prefix = fold(ANN, events[:seq])

        assert everything(at_end(memory, prefix, seq), valid, QUERIES[:2]) == everything(at_end(memory, whole, seq), valid, QUERIES[:2])


def at_end(memory: Memory, view: StreamView, seq: int) -> Reader:
    return Reader(view, view.at_seq(seq), memory.policy, memory.embedder, 0)


places = st.lists(st.floats(0, 1), min_size=2, max_size=3)
ENDED_TWICE = [*[("say", "main", ("user", None), "I am vegetarian.", None), ("end", "main")] * 2, ("enrich",)]


@settings(max_examples=10, deadline=None)
@given(backfill=BACKFILLS, steps=STEPS, places=places, nudge=st.sampled_from([-1, 0, 1]))
@example(backfill=(), steps=ENDED_TWICE, places=[0.1, 0.15, 0.2, 0.25], nudge=0)
def test_a_read_as_of_t_is_the_read_of_a_store_that_was_copied_at_t(
    backfill: Sequence[tuple[str, int]], steps: list[Step], places: list[float], nudge: int
) -> None:
    """Recall, facts on both clocks, episodes, topics, sessions, contexts, conversations, events: live or backfilled."""
    with tempfile.TemporaryDirectory() as folder:
        check_copies(Path(folder), backfill, steps, places, nudge)


@settings(max_examples=15, deadline=None)
@given(backfill=BACKFILLS, steps=STEPS)
@example(backfill=(), steps=ENDED_TWICE)
def test_a_view_at_a_seq_is_that_of_the_log_cut_there(backfill: Sequence[tuple[str, int]], steps: list[Step]) -> None:
    """The same law without copies: a fold of `log[:seq]` answers as the full one at that basis, at places all along the log."""
    with tempfile.TemporaryDirectory() as folder:
        check_prefixes(Path(folder), backfill, steps)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=200, deadline=None)
@given(
    backfill=BACKFILLS,
    steps=st.lists(STEPS, min_size=1, max_size=4).map(lambda parts: [*chain(*parts)]),
    places=places,
    nudge=st.sampled_from([-1, 0, 1]),
)
def test_the_law_at_length(backfill: Sequence[tuple[str, int]], steps: list[Step], places: list[float], nudge: int) -> None:
    """Both forms of the law over longer lives."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        check_copies(Path(one), backfill, steps, places, nudge)
        check_prefixes(Path(other), backfill, steps)


def check_real(memory: Memory, user: str, folder: Path, queries: Sequence[str]) -> None:
    """Ten T along the stream."""
    times = [row.recorded_at for row in memory.log.read(StreamId("default", user)).rows]
    for number in range(1, 11):
        moment = times[number * len(times) // 11]
        copying.copy(memory.log, moment, folder / str(number))
        copied = Memory(folder / str(number), embedder=memory.embedder, policy=memory.policy)
        valid = (when(moment - 86_400_000_000),)

        assert of(copied.user(user).as_of(when(moment)), valid, queries) == of(memory.user(user).as_of(when(moment)), valid, queries)


@pytest.mark.model
def test_the_law_holds_for_a_real_conversation_with_the_real_model(tmp_path: Path) -> None:
    """Ten T of the bundled conversation."""
    memory = Memory(demo_store())

    check_real(memory, demo.USER, tmp_path, [question.query for question in demo.QUESTIONS[::2]])


@pytest.mark.skipif(not LOCOMO.exists(), reason="LoCoMo is not beside the repository")
def test_the_law_holds_for_a_long_conversation_of_two(tmp_path: Path) -> None:
    """Ten T of LoCoMo's conv-26, whose turns come as of when they were said."""
    memory = open_memory(tmp_path / "store")
    ingest(memory, read_inputs([LOCOMO], space="default").lines, as_recorded=True)

    check_real(memory, "conv-26", tmp_path, ["When did Caroline go to the support group?", "What does Melanie paint?"])
