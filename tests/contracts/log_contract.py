"""What every log promises: the suite of the port `events.log.Log`. An adapter's test is three lines (see test_logs.py)."""

from abc import ABC, abstractmethod

import numpy as np
import pytest
from builders import ANN, BOB, contents, said, stamp, stamped, write

from events.envelope import Source, Unknown
from events.errors import OutcomeUnknown
from events.ids import StreamId, space_stream
from events.log import Handle, Log, Lost, Tail
from events.log.digest import genesis
from events.log.row import Row, contiguous
from events.vocabulary import Payload, TurnEmbedded


class Premonition(Payload, frozen=True, kw_only=True):
    """A type of a later version."""

    of: str


class LogContract(ABC):
    """Subclass it, and say how a log is made. `peer` is another process's view of the same streams."""

    @abstractmethod
    @pytest.fixture
    def log(self) -> Log:
        """An empty log."""

    @pytest.fixture
    def handle(self, log: Log) -> Handle:
        """A writer on a stream that was never written."""
        return log.open(ANN)[0]

    def test_a_stream_that_was_never_made_reads_as_empty(self, log: Log) -> None:
        """Nothing is there, and its end is the stream's own genesis."""
        expected = ([], Tail(0, genesis(ANN)), 1)

        reading = log.read(ANN)

        assert expected == (list(reading.rows), reading.tail, reading.start)

    def test_seqs_are_gapless_from_one(self, log: Log, handle: Handle) -> None:
        """Commits of any size follow one another without a hole."""
        write(log, handle, 1, 3, 2)

        reading = log.read(ANN)

        assert [1, 2, 3, 4, 5, 6] == [row.seq for row in reading.rows]
        assert [f"event {seq}" for seq in range(1, 7)] == contents(reading.rows)

    def test_append_returns_the_rows_as_they_are_read(self, log: Log, handle: Handle) -> None:
        """The writer sees what every reader will."""
        appended = log.append(handle, stamped("a", "b"), expected_seq=0)

        assert list(log.read(ANN).rows) == appended

    def test_the_handle_stands_at_the_end_of_what_it_wrote(self, log: Log, handle: Handle) -> None:
        """Its tail is the tail that a reader finds."""
        rows = log.append(handle, stamped("a", "b", at=7), expected_seq=0)

        assert Tail(2, rows[-1].digest, 7) == handle.tail
        assert log.read(ANN).tail == handle.tail

    def test_a_refused_commit_leaves_nothing(self, log: Log, handle: Handle) -> None:
        """A commit of several events is there whole or not at all."""
        late, _ = log.open(ANN)
        write(log, handle, 1)

        with pytest.raises(Lost):
            log.append(late, stamped("x", "y", "z"), expected_seq=0)

        assert ["event 1"] == contents(log.read(ANN).rows)

    def test_a_commit_that_cannot_be_stored_leaves_nothing(self, log: Log, handle: Handle) -> None:
        """When the last of its events is unfit, the first is not there either, and the handle works on."""
        unfit = stamp(said("c"), vector=np.zeros(3, np.int16))

        with pytest.raises(ValueError, match="unpack"):
            log.append(handle, [*stamped("a", "b"), unfit], expected_seq=0)
        log.append(handle, stamped("d"), expected_seq=0)

        assert ["d"] == contents(log.read(ANN).rows)

    def test_an_empty_commit_is_refused(self, log: Log, handle: Handle) -> None:
        """There is no commit without an event."""
        with pytest.raises(ValueError, match="at least one"):
            log.append(handle, [], expected_seq=0)

        assert [] == list(log.read(ANN).rows)

    def test_every_event_is_chained_to_the_one_before(self, log: Log, handle: Handle) -> None:
        """From the genesis on, within a commit and across commits, and each row fits its own digests."""
        write(log, handle, 2, 1, 4)

        rows = log.read(ANN).rows

        assert contiguous(rows, 0, genesis(ANN)) is None
        assert [None] * 7 == [row.damage() for row in rows]
        assert 7 == len({row.digest for row in rows})

    def test_equal_streams_of_two_users_share_no_digest(self, log: Log) -> None:
        """The chain begins with the stream's name."""
        for stream in (ANN, BOB):
            write(log, log.open(stream)[0], 2)

        ann, bob = ([row.digest for row in log.read(stream).rows] for stream in (ANN, BOB))

        assert not set(ann) & set(bob)

    def test_reading_after_a_tail(self, log: Log, handle: Handle) -> None:
        """`after` is exclusive; the tail is the whole stream's."""
        write(log, handle, 2)
        after = handle.tail
        write(log, handle, 1, 2)

        reading = log.read(ANN, after)

        assert (3, [3, 4, 5], handle.tail) == (reading.start, [row.seq for row in reading.rows], reading.tail)

    def test_reading_after_the_end(self, log: Log, handle: Handle) -> None:
        """There is nothing, and the tail is where it was."""
        write(log, handle, 2)

        reading = log.read(ANN, handle.tail)

        assert ([], handle.tail) == (list(reading.rows), reading.tail)

    def test_reading_in_pages_gives_the_whole(self, log: Log, handle: Handle) -> None:
        """Each page begins where the last one ended, while the stream grows."""
        pages: list[Row] = []
        tail: Tail | None = None
        for size in (1, 3, 2):
            write(log, handle, size)
            reading = log.read(ANN, tail)
            pages += reading.rows
            tail = reading.tail

        assert list(log.read(ANN).rows) == pages

    def test_a_stale_handle_is_lost(self, log: Log, handle: Handle) -> None:
        """Whoever comes second to a place is told, and has changed nothing."""
        late, _ = log.open(ANN)
        write(log, handle, 1)

        with pytest.raises(Lost):
            log.append(late, stamped("late"), expected_seq=0)

        assert ["event 1"] == contents(log.read(ANN).rows)

    def test_two_handles_take_turns(self, log: Log, handle: Handle) -> None:
        """A loser opens again, stands behind the winner and writes on; then the winner is the stale one."""
        loser, _ = log.open(ANN)
        write(log, handle, 2)
        with pytest.raises(Lost):
            write(log, loser, 1)

        again, reading = log.open(ANN)
        write(log, again, 1)
        with pytest.raises(Lost):
            write(log, handle, 1)

        assert [1, 2] == [row.seq for row in reading.rows]
        assert ["event 1", "event 2", "event 3"] == contents(log.read(ANN).rows)

    @pytest.mark.parametrize("expected_seq", [0, 1, 3])
    def test_another_expected_seq_is_lost(self, log: Log, handle: Handle, expected_seq: int) -> None:
        """A commit goes where its decider thought the stream ended, or nowhere; the inside of a commit is no end."""
        write(log, handle, 2)

        with pytest.raises(Lost):
            log.append(handle, stamped("x"), expected_seq=expected_seq)

        assert 2 == log.read(ANN).tail.seq

    def test_a_closed_handle_stays_closed(self, log: Log, handle: Handle) -> None:
        """After an unknown outcome nothing goes through the handle; a new one works."""
        write(log, handle, 1)
        handle.closed = True

        with pytest.raises(OutcomeUnknown):
            log.append(handle, stamped("x"), expected_seq=1)
        write(log, log.open(ANN)[0], 1)

        assert ["event 1", "event 2"] == contents(log.read(ANN).rows)

    def test_opening_reads_the_whole_stream(self, log: Log, handle: Handle) -> None:
        """A writer begins with all that is there."""
        write(log, handle, 1, 2)

        again, reading = log.open(ANN)

        assert (list(log.read(ANN).rows), handle.tail) == (list(reading.rows), again.tail)

    def test_streams_are_listed_in_order(self, log: Log) -> None:
        """By space, then user, under the names that were given: capitals, dots and slashes come back."""
        unordered = [
            StreamId("work", "ann"),
            StreamId("home", "zoë"),
            StreamId("home", "Ann"),
            StreamId("a.b", "../x"),
            space_stream("home"),
        ]
        for stream in unordered:
            write(log, log.open(stream)[0], 1)

        assert sorted(unordered) == log.streams()

    def test_a_stream_exists_once_it_holds_something(self, log: Log) -> None:
        """To open it is not to make it: what was never written neither exists nor is listed."""
        handle, _ = log.open(ANN)
        before = (log.exists(ANN), log.streams())
        write(log, handle, 1)

        assert (False, []) == before
        assert (True, [ANN], False) == (log.exists(ANN), log.streams(), log.exists(BOB))

    def test_private_columns_come_back(self, log: Log, handle: Handle) -> None:
        """Command, times, sources and vectors of an event, and their absence."""
        write(log, handle, 1)
        vector = np.array([[1, -2, 3], [32767, -32768, 0]], np.int16)
        data = TurnEmbedded(turn_seq=1, model="m", kinds=("turn", "with past"))
        log.append(
            handle, [stamp(data, 5, "c9", occurred_at=-7, sources=(1,), vector=vector), stamp(said("plain"), 5, "c9")], expected_seq=1
        )

        full, plain = log.read(ANN).events[1:]

        assert (data, "c9", 5, -7, (Source(1),)) == (full.data, full.command_id, full.recorded_at, full.occurred_at, full.sources)
        assert vector.tolist() == full.vector.tolist()
        assert (vector.dtype, vector.shape) == (full.vector.dtype, full.vector.shape)
        assert (None, (), None) == (plain.occurred_at, plain.sources, plain.vector)

    def test_vectors_of_several_events_do_not_mix(self, log: Log, handle: Handle) -> None:
        """One commit holds events with none, one and several rows of numbers, of several dimensions."""
        shapes = [None, (1, 4), (3, 4), None, (2, 1)]
        vectors = [None if shape is None else np.arange(np.prod(shape), dtype=np.int16).reshape(shape) for shape in shapes]
        log.append(handle, [stamp(said("x"), vector=vector) for vector in vectors], expected_seq=0)

        actual = [None if event.vector is None else event.vector.tolist() for event in log.read(ANN).events]

        assert [None if vector is None else vector.tolist() for vector in vectors] == actual

    def test_reading_without_vectors(self, log: Log, handle: Handle) -> None:
        """Everything but the vectors is there."""
        vector = np.ones((1, 4), np.int16)
        log.append(handle, [stamp(said("x"), vector=vector), stamp(said("y"))], expected_seq=0)

        reading = log.read(ANN, vectors=False)

        assert [None, None] == [row.vector for row in reading.rows]
        assert (["x", "y"], handle.tail) == (contents(reading.rows), reading.tail)

    @pytest.mark.parametrize(
        "content", ["日本語 and العربية", "👩‍👩‍👧 é é", "before\0after", "\u2028\r\n\t", "memory_actors.file_digest" * 3, " "]
    )
    def test_content_comes_back_as_it_was(self, log: Log, handle: Handle, content: str) -> None:
        """Any text that is valid Unicode, without normalisation."""
        log.append(handle, stamped(content), expected_seq=0)

        [event] = log.read(ANN).events

        assert content == event.data.content
        assert log.read(ANN).rows[0].damage() is None

    def test_unknown_types_are_carried_through(self, log: Log, handle: Handle) -> None:
        """A type of a later version keeps its name, its bytes and its place in the chain."""
        log.append(handle, [stamp(Premonition(of="rain")), *stamped("known")], expected_seq=0)

        strange, known = log.read(ANN).events

        assert ("Premonition", Unknown(raw=b'{"of":"rain"}')) == (strange.type, strange.data)
        assert ("known", strange.digest) == (known.data.content, known.prev_digest)

    def test_streams_do_not_touch(self, log: Log) -> None:
        """One user's events are not another's, nor another space's."""
        elsewhere = StreamId("work", "ann")
        for stream, size in ((ANN, 2), (BOB, 3), (elsewhere, 1)):
            write(log, log.open(stream)[0], size)

        assert [2, 3, 1] == [log.read(stream).tail.seq for stream in (ANN, BOB, elsewhere)]
        assert {("work", "ann")} == {(row.space, row.user) for row in log.read(elsewhere).rows}

    def test_what_was_read_before_is_held(self, log: Log, handle: Handle) -> None:
        """At every event, at the end of a commit or inside one, and after more has been written."""
        write(log, handle, 2, 1, 3)
        tails = [Tail(row.seq, row.digest, row.recorded_at) for row in log.read(ANN).rows]
        write(log, handle, 1)

        assert ["held"] * 6 == [log.holds(ANN, 1, tail) for tail in tails]

    def test_a_tail_beyond_the_end_is_ahead(self, log: Log, handle: Handle) -> None:
        """Of a stream that is shorter, or was never made."""
        write(log, handle, 2)

        assert "ahead" == log.holds(ANN, 1, Tail(3, bytes(32)))
        assert "ahead" == log.holds(BOB, 1, Tail(1, bytes(32)))

    def test_a_tail_of_another_history_is_known_by_its_digest(self, log: Log, handle: Handle) -> None:
        """Whatever its seq."""
        write(log, handle, 2, 2)

        assert ["other"] * 4 == [log.holds(ANN, 1, Tail(seq, bytes(32))) for seq in (1, 2, 3, 4)]
