"""What every placement promises: the suite of the port `memory_actors.actors.writer.Writer`. They differ in cost, never in outcome."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from builders import ANN, BOB, turn

from events.commands import RecordTurn
from events.errors import Busy, InvalidInput, StoreDamaged, StoreNotHere
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import Store
from events.log.verify import verify
from events.policy import Policy
from memory_actors.actors.user_actor import Ack, UserActor
from memory_actors.actors.writer import InlineWriter, Writer, acks


def inline(store: Store) -> InlineWriter:
    """A writer in this process, with the real clock."""
    from events.ambient import SystemClock

    return InlineWriter(UserActor(FileLog(store), SystemClock(), lambda _: Policy()))


def said(log: FileLog, stream: StreamId) -> list[str]:
    """What the turns of the stream say, in order."""
    return [event.data.content for event in log.read(stream).events if event.type == "TurnRecorded"]


class WriterContract(ABC):
    """Subclass it, and say how a writer on a store is made."""

    @abstractmethod
    @pytest.fixture
    def writer(self, store: Store) -> Writer:
        """A writer on an empty store."""

    def test_a_recorded_turn_is_acknowledged_with_its_seq_and_is_in_the_log(self, writer: Writer, log: FileLog) -> None:
        """At once, and for every reader."""
        [first] = acks(writer.execute(ANN, [turn(1, "hello")]))
        [second] = acks(writer.execute(ANN, [turn(2, "again")]))

        events = log.read(ANN).events

        assert [1, 2] == [first.seq, second.seq]
        assert [first.recorded_at, second.recorded_at] == [event.recorded_at for event in events]
        assert ["hello", "again"] == said(log, ANN)

    def test_a_repeat_is_found_and_not_written_twice(self, writer: Writer, log: FileLog) -> None:
        """It answers with what the first one wrote."""
        [first] = acks(writer.execute(ANN, [turn(1)]))
        acks(writer.execute(ANN, [turn(2)]))

        [again] = acks(writer.execute(ANN, [turn(1)]))

        assert Ack(first.seq, first.recorded_at, duplicate=True, first=first.first) == again
        assert ["turn 1", "turn 2"] == said(log, ANN)

    def test_an_id_with_another_content_is_an_error_of_that_command_alone(self, writer: Writer, log: FileLog) -> None:
        """The commands around it stand."""
        acks(writer.execute(ANN, [turn(1)]))

        two, wrong, three = writer.execute(ANN, [turn(2), turn(1, "other"), turn(3)])

        assert isinstance(wrong, InvalidInput)
        assert "c1" in str(wrong)
        assert [False, False] == [reply.duplicate for reply in acks([two, three])]
        assert ["turn 1", "turn 2", "turn 3"] == said(log, ANN)

    def test_a_batch_of_hundreds_has_a_reply_each_in_order(self, writer: Writer, log: FileLog) -> None:
        """However many commits it becomes."""
        commands = [turn(number) for number in range(300)]

        replies = acks(writer.execute(ANN, commands))

        assert 300 == len(replies)
        assert sorted({reply.seq for reply in replies}) == [reply.seq for reply in replies]
        assert [f"turn {number}" for number in range(300)] == said(log, ANN)

    def test_long_contents_pass(self, writer: Writer, log: FileLog) -> None:
        """Twelve turns of a megabyte, of characters that take several bytes."""
        content = "日本語\0" * 100_000

        acks(writer.execute(ANN, [turn(number, content) for number in range(12)]))

        assert [content] * 12 == said(log, ANN)

    def test_many_users_at_once(self, writer: Writer, log: FileLog) -> None:
        """Each has a stream of its own, from 1, whoever else is writing."""
        streams = [StreamId("home", f"user {number}") for number in range(6)]

        with ThreadPoolExecutor(6) as threads:
            replies = threads.map(lambda stream: [acks(writer.execute(stream, [turn(number)]))[0].seq for number in range(3)], streams)

        assert [[1, 2, 3]] * 6 == list(replies)
        assert streams == log.streams()

    def test_damage_is_said_with_its_file(self, writer: Writer, log: FileLog) -> None:
        """It keeps its type and its fields on the way to the caller, and other streams are not concerned."""
        acks(inline(log.store).execute(ANN, [turn(1)]))
        [file] = log.folder(ANN).glob("*.parquet")
        damaged = bytearray(file.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        file.write_bytes(damaged)

        with pytest.raises(StoreDamaged) as caught:
            writer.execute(ANN, [turn(2)])

        assert str(file) == caught.value.file
        assert 1 == acks(writer.execute(BOB, [turn(1)]))[0].seq

    def test_a_store_that_went_away_is_said(self, writer: Writer, log: FileLog) -> None:
        """And works again when it is back."""
        acks(writer.execute(ANN, [turn(1)]))
        away = log.store.path.rename(log.store.path.with_name("away"))

        with pytest.raises(StoreNotHere):
            writer.execute(ANN, [turn(2)])

        away.rename(log.store.path)
        assert 2 == acks(writer.execute(ANN, [turn(2)]))[0].seq

    def test_two_writers_never_fork_a_stream(self, writer: Writer, log: FileLog) -> None:
        """Both write one user at once; whoever is told Busy asks again. Every turn is there once, and the chain verifies."""
        start = threading.Barrier(2)
        peer = inline(log.store)

        with ThreadPoolExecutor(2) as threads:
            running = [threads.submit(_insist, one, start, range(at, 60, 2)) for at, one in enumerate((writer, peer))]
            seqs = [seq for one in running for seq in one.result()]

        recorded = [event for event in log.read(ANN).events if event.type == "TurnRecorded"]
        assert sorted(seqs) == [event.seq for event in recorded]
        assert sorted(f"turn {number}" for number in range(60)) == sorted(event.data.content for event in recorded)
        assert verify(log).ok

    def test_what_a_peer_wrote_is_found_by_its_id(self, writer: Writer, log: FileLog) -> None:
        """A repeat to another writer is a repeat."""
        [first] = acks(writer.execute(ANN, [turn(1)]))
        peer: Callable[[RecordTurn], Ack] = lambda command: acks(inline(log.store).execute(ANN, [command]))[0]  # noqa: E731

        assert (first.seq, True) == (peer(turn(1)).seq, peer(turn(1)).duplicate)
        assert 2 == peer(turn(2)).seq
        assert (2, True) == (acks(writer.execute(ANN, [turn(2)]))[0].seq, acks(writer.execute(ANN, [turn(2)]))[0].duplicate)


def _insist(writer: Writer, start: threading.Barrier, numbers: range) -> list[int]:
    start.wait()
    return [_recorded(writer, turn(number)) for number in numbers]


def _recorded(writer: Writer, command: RecordTurn) -> int:
    while True:
        try:
            return acks(writer.execute(ANN, [command]))[0].first
        except Busy:
            continue
