"""A projection that cannot fold an event: it is left as it was, is said to be missing from there on, and the others go on."""

import logging
from collections.abc import Callable

import pytest
from builders import ANN, stamp
from embedders import MODEL, HashedStems

from events.envelope import Envelope
from events.errors import StoreDamaged
from events.log.memory_log import MemoryLog
from events.log.row import Stamped
from events.policy import Policy
from events.vocabulary import EpisodeClosed, EpisodeSummarised, FactAsserted, TopicStarted, TurnEmbedded, TurnRecorded
from memory_actors.reads.reading import Reader
from projections.episodes import EpisodeTable
from projections.facts import FactTable
from projections.index.turn_feed import TurnFeed
from projections.topics import TopicDecay
from projections.transcript import Transcript
from projections.view import StreamView

PARTS = {"turns": Transcript, "facts": FactTable, "episodes": EpisodeTable, "topics": TopicDecay, "index": TurnFeed}
READS: dict[str, list[Callable[[Reader], object]]] = {
    "turns": [Reader.session, Reader.conversations],
    "facts": [Reader.facts, lambda reader: reader.facts(everything=True)],
    "episodes": [Reader.episodes],
    "topics": [Reader.topics],
    "index": [],
}


def turn(number: int, content: str) -> TurnRecorded:
    return TurnRecorded(turn_id=f"t{number}", conversation="main", turn=number, role="user", content=content)


def fact(name: str, key: str, value: str) -> FactAsserted:
    return FactAsserted(fact=name, subject="user", category="identity", key=key, value=value, confidence=0.9, importance=0.8, extractor="x")


def history() -> list[Stamped]:
    """Eleven events, one every second."""
    vector = HashedStems().embed(["I live in Porto."])
    said: list[tuple[object, dict[str, object]]] = [
        (turn(1, "I live in Porto."), {}),
        (TurnEmbedded(turn_seq=1, model=MODEL, kinds=("turn",)), {"vector": vector}),
        (fact("f3", "home_city", "Porto"), {}),
        (TopicStarted(topic="t4", title="Porto", importance=0.5, turn_seq=1), {}),
        (EpisodeClosed(episode="e5", conversation="main", turn_start=1, turn_end=1, turns=(1,)), {}),
        (EpisodeSummarised(episode="e5", title="Porto", summary="Lives in Porto.", model="x", embedder=MODEL), {"vector": vector}),
        (turn(2, "The boats left the harbour of Porto."), {}),
        (fact("f8", "name", "Ann"), {}),
        (TopicStarted(topic="t9", title="boats", importance=0.5, turn_seq=7), {}),
        (EpisodeClosed(episode="e10", conversation="main", turn_start=2, turn_end=2, turns=(7,)), {}),
        (turn(3, "Porto is windy."), {}),
    ]
    return [stamp(data, number * 1_000_000, f"c{number}", **event) for number, (data, event) in enumerate(said, 1)]


@pytest.fixture
def written() -> MemoryLog:
    log = MemoryLog()
    log.append(log.open(ANN)[0], history(), expected_seq=0)
    return log


def break_at(monkeypatch: pytest.MonkeyPatch, leg: str, seq: int, error: BaseException | None = None) -> list[int]:
    """From now on the part raises at event `seq`. Returns the seqs that it is given."""
    seen: list[int] = []
    apply = PARTS[leg].apply

    def failing(self: object, envelope: Envelope) -> None:
        seen.append(envelope.seq)
        apply(self, envelope)
        if envelope.seq == seq:
            raise error or KeyError("no such thing")

    monkeypatch.setattr(PARTS[leg], "apply", failing)
    return seen


def reader(view: StreamView, seq: int) -> Reader:
    return Reader(view, view.at_seq(seq), Policy(), HashedStems(), 0)


@pytest.mark.parametrize("leg", PARTS)
def test_a_part_that_raised_gets_no_further_event_and_the_others_all(written: MemoryLog, monkeypatch: pytest.MonkeyPatch, leg: str) -> None:
    broken = break_at(monkeypatch, leg, 7)
    whole = break_at(monkeypatch, next(name for name in PARTS if name != leg), 0)

    view = StreamView(ANN).catch_up(written)

    assert list(range(1, 8)) == broken
    assert list(range(1, 12)) == whole
    assert 11 == view.tail.seq


@pytest.mark.parametrize("leg", PARTS)
def test_reads_of_that_leg_alone_name_the_event(written: MemoryLog, monkeypatch: pytest.MonkeyPatch, leg: str) -> None:
    """At it, and at any later one; reads of the other legs answer."""
    break_at(monkeypatch, leg, 7)
    view = StreamView(ANN).catch_up(written)

    for name, reads in READS.items():
        for read in reads:
            for seq in (7, 11):
                if name != leg:
                    read(reader(view, seq))
                    continue
                with pytest.raises(StoreDamaged, match=rf"the {leg} leg is missing: event 7 of home/ann .*KeyError.*as of @6 it answers"):
                    read(reader(view, seq))


@pytest.mark.parametrize("leg", PARTS)
def test_as_of_a_seq_before_that_event_everything_is_as_if_nothing_had_happened(
    written: MemoryLog, monkeypatch: pytest.MonkeyPatch, leg: str
) -> None:
    """Even though the part had begun to fold it."""
    whole = StreamView(ANN).catch_up(written)
    break_at(monkeypatch, leg, 7)
    view = StreamView(ANN).catch_up(written)

    for seq in range(7):
        expected, actual = reader(whole, seq), reader(view, seq)

        assert expected.recall("Porto boats") == actual.recall("Porto boats")
        assert expected.context("Porto boats") == actual.context("Porto boats")
        assert expected.remembered() == actual.remembered()
        assert expected.session() == actual.session()


@pytest.mark.parametrize(
    ("leg", "hits", "facts", "episodes", "missing"),
    [
        ("facts", 3, 0, 1, ("facts",)),
        ("episodes", 3, 1, 0, ("episodes",)),
        ("index", 0, 1, 1, ("index",)),
        ("turns", 0, 1, 0, ("turns", "dense")),
        ("topics", 3, 1, 1, ()),
    ],
)
def test_a_recall_gives_what_is_there_and_lists_what_is_not(
    written: MemoryLog, monkeypatch: pytest.MonkeyPatch, leg: str, hits: int, facts: int, episodes: int, missing: tuple[str, ...]
) -> None:
    break_at(monkeypatch, leg, 7)

    found = reader(StreamView(ANN).catch_up(written), 11).recall("what is my home city, Porto?")

    assert (hits, facts, episodes, missing) == (len(found.hits), len(found.facts), len(found.episodes), found.missing)


@pytest.mark.parametrize(
    ("leg", "sections"),
    [
        ("facts", {"session", "recalled"}),
        ("turns", {"facts", "episodes"}),
        ("episodes", {"facts", "session", "recalled"}),
        ("index", {"facts", "session", "episodes"}),
    ],
)
def test_a_context_degrades_in_order_and_warns(written: MemoryLog, monkeypatch: pytest.MonkeyPatch, leg: str, sections: set[str]) -> None:
    """Facts, then the session, then episodes: whatever is available is there."""
    break_at(monkeypatch, leg, 7)

    block = reader(StreamView(ANN).catch_up(written), 11).context("Porto")

    assert sections == {section.name for section in block.sections}
    assert 1 == sum(f"the {leg} leg is missing: event 7" in warning for warning in block.warnings)


def test_all_legs_can_be_missing(written: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the block is empty, and says why."""
    for leg in PARTS:
        break_at(monkeypatch, leg, 7)

    block = reader(StreamView(ANN).catch_up(written), 11).context("Porto")

    assert () == block.sections
    assert 4 == sum("leg is missing: event 7" in warning for warning in block.warnings)


def test_a_context_without_a_query_does_not_miss_the_index(written: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    break_at(monkeypatch, "index", 7)

    assert not [one for one in reader(StreamView(ANN).catch_up(written), 11).context().warnings if "leg" in one]


def test_it_is_logged_once(written: MemoryLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """With the event, however much is read after it."""
    break_at(monkeypatch, "facts", 7)

    with caplog.at_level(logging.ERROR):
        view = StreamView(ANN).catch_up(written)
        for _ in range(3):
            reader(view.catch_up(written), 11).recall("Porto")

    assert ["home/ann: facts could not fold event 7 (TurnRecorded)"] == [record.message for record in caplog.records]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_a_fold_that_is_interrupted_starts_again(written: MemoryLog, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """What is not the event's fault degrades nothing, and no event is left out afterwards."""
    expected = reader(StreamView(ANN).catch_up(written), 11).recall("Porto")
    view = StreamView(ANN)
    with monkeypatch.context() as patch:
        break_at(patch, "facts", 7, error)
        with pytest.raises(type(error)):
            view.catch_up(written)

    assert (0, 0) == (view.tail.seq, len(view.recorded))
    assert expected == reader(view.catch_up(written), 11).recall("Porto")
