"""Background work: nothing due is left, no error ends the thread, nobody waits for ever. The fakes are gates, not clocks."""

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from builders import ANN, BOB, turn
from clocks import TickingClock

from events import ambient
from events.commands import Command, Enrich, RecordRecall, RecordTurn
from events.envelope import Vectors
from events.errors import Busy, InvalidInput, MemoryActorsError, ModelMissing
from events.ids import StreamId
from events.log.file_log import FileLog
from events.policy import Policy
from events.vocabulary import MemoryRecalled
from memory_actors.actors.background import Background
from memory_actors.actors.enricher import Enricher
from memory_actors.actors.user_actor import Reply, UserActor
from memory_actors.actors.writer import InlineWriter, acks
from memory_actors.extraction import PatternExtractor
from projections.view import StreamView

PATIENCE = 20.0
LONG = 3600.0


def kept() -> RecordRecall:
    """A recall that was served."""
    return RecordRecall(id=ambient.new_id(), served=MemoryRecalled(kind="recall", basis_seq=1, now=1, policy="p"))


class Gated:
    """An embedder that says when it begins, and goes on when it may. `looks` counts who asked whether it is loaded."""

    model = "gated"

    def __init__(self) -> None:
        self.begun, self.may = threading.Event(), threading.Event()
        self.may.set()
        self.looks = 0
        self.ready = True
        self.act: Callable[[], object] = lambda: None

    @property
    def loaded(self) -> bool:
        self.looks += 1
        if self.looks == 3:
            self.may.set()
        return self.ready

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.begun.set()
        assert self.may.wait(PATIENCE)
        self.act()
        return np.ones((len(texts), 4), np.int16)


class Watched(InlineWriter):
    """A writer whose calls are kept, and fail as told: `errors` holds what the next calls for a type of command raise."""

    def __init__(self, actor: UserActor) -> None:
        super().__init__(actor)
        self.calls: list[tuple[StreamId, list[Command]]] = []
        self.errors: dict[type[Command], list[Exception]] = {}
        self.recalled = threading.Event()

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        self.calls.append((stream, list(commands)))
        if self.errors.get(type(commands[0])):
            raise self.errors[type(commands[0])].pop(0)
        replies = super().execute(stream, commands)
        if isinstance(commands[0], RecordRecall):
            self.recalled.set()
        return replies

    def kinds(self) -> list[type[Command]]:
        """The types of the commands of each call, turns apart."""
        return [type(commands[0]) for _, commands in self.calls if not isinstance(commands[0], RecordTurn)]


@pytest.fixture
def embedder() -> Gated:
    return Gated()


@pytest.fixture
def writer(log: FileLog, clock: TickingClock) -> Watched:
    return Watched(UserActor(log, clock, lambda _: Policy()))


@pytest.fixture
def enricher(embedder: Gated) -> Enricher:
    return Enricher(embedder, PatternExtractor(), lambda _: Policy())


@pytest.fixture
def make(log: FileLog, writer: Watched, enricher: Enricher, embedder: Gated) -> Iterator[Callable[..., Background]]:
    """Makes backgrounds, and closes them whatever the test did."""
    made: list[Background] = []

    def background(*, seconds: float = LONG, **told: object) -> Background:
        made.append(Background(writer, log, enricher, seconds=seconds, **told))
        return made[-1]

    yield background
    embedder.may.set()
    for one in made:
        one.close(finish=False)


def record(writer: Watched, stream: StreamId, *numbers: int) -> None:
    acks(writer.execute(stream, [turn(number) for number in numbers]))


def pending(log: FileLog, stream: StreamId) -> int:
    view = StreamView(stream).catch_up(log)
    return view.pending(len(view.recorded_at))


def test_drain_does_all_that_is_due(log: FileLog, writer: Watched, make: Callable[..., Background]) -> None:
    """More than one batch, and the thread's own eyes see every turn."""
    record(writer, ANN, *range(130))

    make().drain(ANN)

    assert pending(log, ANN) == 0
    assert [Enrich] * 3 == writer.kinds()


def test_what_is_written_while_the_thread_works_is_found(
    log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]
) -> None:
    """No wakeup is lost: the stream is looked at again after the work that it was busy with."""
    background = make()
    embedder.may.clear()
    record(writer, ANN, 1)
    background.wrote(ANN)
    assert embedder.begun.wait(PATIENCE)
    record(writer, ANN, 2)
    background.wrote(ANN)
    embedder.may.set()

    background.close()

    assert pending(log, ANN) == 0
    assert background.errors == {}


def test_drain_raises_what_kept_the_work_from_being_done(
    log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]
) -> None:
    """It is kept as the stream's error until the stream is tried again."""
    background = make()
    missing = ModelMissing("no model")
    embedder.act = lambda: (_ for _ in ()).throw(missing)
    record(writer, ANN, 1)

    with pytest.raises(ModelMissing, match="no model"):
        background.drain(ANN)

    assert {ANN: missing} == background.errors
    embedder.act = lambda: None
    background.drain(ANN)
    assert background.errors == {}
    assert pending(log, ANN) == 0


def test_a_defect_does_not_end_the_thread(log: FileLog, writer: Watched, make: Callable[..., Background]) -> None:
    """An error that nobody foresaw is one stream's; the others go on, and so does this one when it is tried again."""
    background = make()
    record(writer, ANN, 1)
    record(writer, BOB, 1)
    writer.errors[Enrich] = [ZeroDivisionError("a defect")]

    with pytest.raises(ZeroDivisionError, match="a defect"):
        background.drain(ANN)
    background.drain(BOB)
    assert [ANN] == list(background.errors)
    background.drain(ANN)

    assert (0, 0, {}) == (pending(log, ANN), pending(log, BOB), background.errors)


def test_work_that_leaves_no_event_is_not_done_for_ever(
    log: FileLog, writer: Watched, enricher: Enricher, make: Callable[..., Background], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that is out of turn is answered without an event; the same again would be too."""
    record(writer, ANN, 1)
    monkeypatch.setattr(enricher, "next", lambda _: Enrich(id="again", start=99, upto=99, basis_seq=99))

    make().drain(ANN)

    assert [Enrich] == writer.kinds()


def test_wait_gives_up_after_its_time(log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]) -> None:
    """With the model loaded, a reader waits once, without looking again and again."""
    embedder.may.clear()
    record(writer, ANN, 1)

    make().wait(ANN, 0.01)

    assert pending(log, ANN) == 1
    assert embedder.looks <= 2


def test_loading_the_model_is_not_counted_as_waiting(
    log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]
) -> None:
    """The third look at a model that is being loaded lets it go on: the time is long over, and the wait is not."""
    embedder.may.clear()
    embedder.ready = False
    record(writer, ANN, 1)

    make().wait(ANN, 0.001)

    assert pending(log, ANN) == 0


def test_whoever_waits_comes_first(log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]) -> None:
    """A reader is not kept behind streams that nobody looks at."""
    background = make()
    streams = [StreamId("home", name) for name in ("one", "two", "three")]
    for stream in streams:
        record(writer, stream, 1)
    embedder.may.clear()
    background.wrote(streams[0])
    assert embedder.begun.wait(PATIENCE)
    background.wrote(streams[1])
    background.wait(streams[2], 0.0)
    embedder.may.set()

    background.close()

    assert [streams[0], streams[2], streams[1]] == [stream for stream, commands in writer.calls if isinstance(commands[0], Enrich)]


def test_what_was_served_is_recorded_without_being_asked(writer: Watched, make: Callable[..., Background]) -> None:
    """After its time, by the thread that was waiting for nothing else."""
    record(writer, ANN, 1)

    make(seconds=0.001).served(ANN, kept())

    assert writer.recalled.wait(PATIENCE)


def test_what_was_served_is_recorded_together(log: FileLog, writer: Watched, make: Callable[..., Background]) -> None:
    """One commit a stream, at the latest when the background is closed."""
    background = make()
    for stream in (ANN, BOB, ANN):
        record(writer, stream, 1)
        background.served(stream, kept())

    background.close(finish=False)

    assert [(ANN, 2), (BOB, 1)] == [(stream, len(commands)) for stream, commands in writer.calls if isinstance(commands[0], RecordRecall)]


def test_long_work_does_not_keep_what_was_served(writer: Watched, embedder: Gated, make: Callable[..., Background]) -> None:
    """It is recorded between two batches."""
    background = make(seconds=0.0)
    record(writer, ANN, *range(130))
    answers = [kept()]
    embedder.act = lambda: answers and background.served(ANN, answers.pop())

    background.drain(ANN)

    assert [Enrich, RecordRecall, Enrich, Enrich] == writer.kinds()


def test_a_served_recall_is_tried_again(writer: Watched, make: Callable[..., Background]) -> None:
    """With the same id, after an error that passes; the error is visible until then."""
    record(writer, ANN, 1)
    writer.errors[RecordRecall] = [Busy("others write")]

    make(seconds=0.001).served(ANN, kept())

    assert writer.recalled.wait(PATIENCE)
    assert 1 == len({commands[0].id for _, commands in writer.calls if isinstance(commands[0], RecordRecall)})


@pytest.mark.parametrize(("error", "calls"), [(Busy("for ever"), 3), (InvalidInput("never"), 1)])
def test_what_cannot_be_recorded_is_given_up(
    error: MemoryActorsError, calls: int, writer: Watched, make: Callable[..., Background]
) -> None:
    """Closing ends, and says what was lost."""
    background = make()
    writer.errors[RecordRecall] = [error] * 9
    background.served(ANN, kept())

    background.close()

    assert [RecordRecall] * calls == writer.kinds()
    assert {ANN: error} == background.errors


def test_recalls_are_recorded_at_once_where_a_setting_says_so(writer: Watched, make: Callable[..., Background]) -> None:
    """By the caller; no thread is needed."""
    make().served(ANN, kept(), now=True)

    assert [RecordRecall] == writer.kinds()


def test_closing_finishes_and_keeps_errors(log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]) -> None:
    """All that was waiting is tried; what failed is not raised."""
    background = make()
    embedder.may.clear()
    for stream in (ANN, BOB):
        record(writer, stream, 1)
        background.wrote(stream)
    assert embedder.begun.wait(PATIENCE)
    writer.errors[Enrich] = [Busy("others write")]
    embedder.may.set()

    background.close()

    assert (1, 0) == (pending(log, ANN), pending(log, BOB))
    assert ["Busy"] == [type(error).__name__ for error in background.errors.values()]


def test_closing_without_finishing_leaves_what_the_next_one_finds(
    log: FileLog, writer: Watched, embedder: Gated, make: Callable[..., Background]
) -> None:
    """What was begun is written; what was not is still due."""
    background = make()
    embedder.may.clear()
    for stream in (ANN, BOB):
        record(writer, stream, 1)
        background.wrote(stream)
    assert embedder.begun.wait(PATIENCE)
    closing = threading.Thread(target=background.close, kwargs={"finish": False})
    with background._changed:
        closing.start()
        assert background._changed.wait_for(lambda: background._leaving, PATIENCE)
    embedder.may.set()
    closing.join(PATIENCE)

    assert (0, 1) == (pending(log, ANN), pending(log, BOB))
    make().drain(BOB)
    assert pending(log, BOB) == 0


def test_a_closed_background_takes_nothing_and_nobody_waits(writer: Watched, make: Callable[..., Background]) -> None:
    """Writes after closing stay due; waiting for them would be for ever."""
    background = make()
    background.close()
    record(writer, ANN, 1)

    background.wrote(ANN)
    background.served(ANN, kept())
    background.wait(ANN, LONG)
    background.drain(ANN)
    background.close()

    assert [] == writer.kinds()


def test_whoever_wants_to_is_told_of_work_that_was_done(log: FileLog, writer: Watched, make: Callable[..., Background]) -> None:
    """Once a stream, after the last piece."""
    told: list[tuple[StreamId, int]] = []
    record(writer, ANN, *range(130))
    background = make(worked=lambda stream: told.append((stream, pending(log, stream))))

    background.wrote(ANN)
    background.close()

    assert [(ANN, 0)] == told
