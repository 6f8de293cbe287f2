"""A view as bytes and back, and what is refused: torn, foreign, of other code, or made to do harm."""

import io
import os
import pickle
import re
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import ANN, stamp
from embedders import MODEL, HashedStems
from histories import SMALL, open_memory, tell

from events.errors import StoreDamaged
from events.ids import StreamId
from events.log.memory_log import MemoryLog
from events.vocabulary import Payload, TurnEmbedded, TurnRecorded
from projections import snapshot
from projections.index.growable import Growable
from projections.index.ranking import TurnIndex
from projections.snapshot import Seal, Unfit, dump, header, load
from projections.view import StreamView

SEAL = Seal(b"k" * 32, "code")


class Premonition(Payload, frozen=True, kw_only=True):
    """A type of a later version."""

    of: str


def view_of(*data: Payload, index: bool = True, vector: bool = True) -> StreamView:
    log = MemoryLog()
    vectors = HashedStems().embed(["a text"]) if vector else None
    events = [
        stamp(one, number, f"c{number}", vector=vectors if isinstance(one, TurnEmbedded) else None) for number, one in enumerate(data, 1)
    ]
    log.append(log.open(ANN)[0], events, expected_seq=0)
    return StreamView(ANN, index=index).catch_up(log)


def said(number: int = 1, **fields: Any) -> TurnRecorded:
    return TurnRecorded(**{"turn_id": f"t{number}", "conversation": "m", "turn": number, "role": "user", "content": "some text", **fields})


def small() -> StreamView:
    return view_of(said(1, meta={"a": [1, 2.5, None, "\u00fc"]}), TurnEmbedded(turn_seq=1, model=MODEL, kinds=("turn",)), said(2))


def same(one: StreamView, other: StreamView) -> None:
    assert [(event.vector is None, event.digest, event.data, event.type) for event in one.recorded] == [
        (event.vector is None, event.digest, event.data, event.type) for event in other.recorded
    ]
    for event, twin in zip(one.recorded, other.recorded, strict=True):
        assert event.vector is None or event.vector.tobytes() == twin.vector.tobytes()
        assert all(getattr(event, name) == getattr(twin, name) for name in event.__struct_fields__ if name != "vector")
    assert (one.tail, one.start, one.recorded_at, one.has_index, one.has_vectors, one.bytes) == (
        other.tail, other.start, other.recorded_at, other.has_index, other.has_vectors, other.bytes,
    )  # fmt: skip


def test_a_view_comes_back_as_it_was() -> None:
    """Every field of every event, its place, and how much it weighs."""
    view = small()

    loaded = load(dump(view, SEAL), SEAL)

    same(view, loaded)
    assert view.tail.seq == loaded.saved


@pytest.mark.parametrize("index", [True, False])
def test_a_loaded_view_goes_on(index: bool) -> None:
    """Its arrays grow, and what was written since is folded."""
    log = MemoryLog()
    handle, _ = log.open(ANN)
    log.append(handle, [stamp(said(number), number, f"c{number}") for number in range(1, 90)], expected_seq=0)
    loaded = load(dump(StreamView(ANN, index=index).catch_up(log), SEAL), SEAL)
    log.append(handle, [stamp(said(number), number, f"c{number}") for number in range(90, 300)], expected_seq=89)

    whole = StreamView(ANN, index=index).catch_up(log)

    same(whole, loaded.catch_up(log))
    assert whole.index.search("text", None, seq=299, now=0, k=None) == loaded.index.search("text", None, seq=299, now=0, k=None)


def test_a_real_view_comes_back(tmp_path: Path) -> None:
    """With facts, episodes, topics and vectors, as background work makes them."""
    memory = open_memory(tmp_path / "s", policy=SMALL)
    tell(memory, "ann", *(f"I live in Porto, number {number} of the boats." for number in range(9)))
    view = StreamView(StreamId("default", "ann")).catch_up(memory.log)

    loaded = load(dump(view, SEAL), SEAL)

    same(view, loaded)
    basis = view.latest(0)
    assert view.facts.view(basis.seq, None, basis.now) == loaded.facts.view(basis.seq, None, basis.now)
    assert view.episodes.view(basis.seq) == loaded.episodes.view(basis.seq)
    assert view.topics.view(basis, SMALL.topics) == loaded.topics.view(basis, SMALL.topics)


def test_unknown_types_are_carried_through() -> None:
    view = view_of(said(), Premonition(of="rain"))

    same(view, load(dump(view, SEAL), SEAL))


def test_the_header_is_read_without_the_rest() -> None:
    """Also of a snapshot that other code wrote: it still says how far the log once went."""
    view = small()

    head = header(dump(view, SEAL), Seal(SEAL.secret, "other code"))

    assert ("code", ANN, 1, view.tail, True, True) == (head.code, head.stream, head.start, head.tail, head.index, head.vectors)


def test_a_view_without_events_or_with_a_failed_leg_is_not_dumped() -> None:
    broken = small()
    broken.parts.failed["index"] = snapshot  # type: ignore[assignment]

    for view in (StreamView(ANN), broken):
        with pytest.raises(ValueError, match="nothing to keep, or a leg that failed"):
            dump(view, SEAL)


# -- what is refused


def test_every_flipped_byte_and_every_cut_is_found() -> None:
    content = dump(small(), SEAL)
    for at in range(0, len(content), max(1, len(content) // 400)):
        for torn in (content[:at], content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]):
            with pytest.raises(Unfit):
                load(torn, SEAL)


def test_other_secrets_and_other_code_are_refused() -> None:
    content = dump(small(), SEAL)

    with pytest.raises(Unfit, match="of another store"):
        load(content, Seal(b"x" * 32, "code"))
    with pytest.raises(Unfit, match="other code"):
        load(content, Seal(SEAL.secret, "code 2"))


def forged(index: bytes, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A snapshot whose seal holds, with this pickle for an index: from somebody who has the store, and so its secret."""
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "_pickled", lambda _: index)
        return dump(small(), SEAL)


class Call:
    """Pickles as a call."""

    def __init__(self, function: Callable[..., object], *given: object, state: object = None) -> None:
        self.reduced = (function, given, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


PLACE, CLASS = "has no place in a snapshot", "is no class of the index"
HARM: dict[str, tuple[object, str]] = {
    "a command": (Call(os.system, "touch harmed"), PLACE),
    "eval": (Call(eval, "open('harmed', 'w')"), PLACE),
    "a builtin": (Call(getattr, "", "join"), PLACE),
    "a file": (Call(io.open, "harmed", "w"), PLACE),
    "a class of ours": (Call(StreamView, ANN), PLACE),
    "a class of the index, as such": (TurnIndex, PLACE),
    "numpy's own reader": (Call(np.load, "harmed"), PLACE),
    "a numpy array": (np.zeros(3), PLACE),
    "a dtype": (np.dtype("i8"), PLACE),
    "another function of the module": (Call(snapshot.load, b"", SEAL), PLACE),
    "objects in an array": (Call(snapshot.numbers, "|O", (1,), bytearray(8)), "no array of '|O'"),
    "an array that is larger than its bytes": (Call(snapshot.numbers, "<i8", (1 << 40,), bytearray(8)), "cannot reshape"),
    "a class elsewhere": (Call(snapshot.made, "events.log.files", "Files"), CLASS),
    "a class that the index only uses": (Call(snapshot.made, "projections.index.growable", "Any"), CLASS),
    "a function of the index": (Call(snapshot.made, "projections.index.tokens", "terms"), CLASS),
    "a way out by dots": (Call(snapshot.made, "projections.index.ranking", "TurnIndex.__init__.__globals__"), CLASS),
    "an index that is none": ((Call(snapshot.made, "projections.index.growable", "Growable"), None), "not an index"),
    "nothing": (None, "TypeError"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_pickle_that_names_anything_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    """Its seal may hold: a store can come from elsewhere, with its secret. Nothing that it asks for happens."""
    monkeypatch.chdir(tmp_path)
    value, said = HARM[harm]

    for protocol in (0, 2, 5) if said == PLACE else (5,):
        with pytest.raises(Unfit, match=re.escape(said)):
            load(forged(pickle.dumps(value, protocol), monkeypatch), SEAL)

    assert [] == list(tmp_path.iterdir())


def test_a_pickle_cannot_change_what_it_is_handed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attribute set on a function stays on a wrapper that is thrown away."""
    before = dict(vars(snapshot.made)), snapshot.made.__defaults__
    # the function, then BUILD with ({}, {"__defaults__": (1,), "harmed": 1})
    harm = b"\x80\x02cprojections.snapshot\nmade\n}}(X\x0c\x00\x00\x00__defaults__K\x01\x85X\x06\x00\x00\x00harmedK\x01u\x86b."

    with pytest.raises(Unfit):
        load(forged(harm, monkeypatch), SEAL)

    assert before == (dict(vars(snapshot.made)), snapshot.made.__defaults__)


def test_arrays_are_written_without_their_spare_room() -> None:
    grown = Growable(np.int64)
    for number in range(65):
        grown.append(number)

    copied = pickle.loads(pickle.dumps(grown))
    copied.append(65)

    assert list(range(66)) == copied.all().tolist()
    assert 65 == len(grown.__getstate__()["_data"])


def test_what_the_pickler_writes_is_what_the_unpickler_makes() -> None:
    """Arrays of every kind that an index has, empty ones and views of others among them."""
    wide = np.arange(12, dtype=np.float32).reshape(3, 4)
    given = {"a": wide, "b": wide[:, 1], "c": wide.T, "d": np.zeros((0, 4), np.int64), "e": array("q", [1, 2]), "f": np.array([True])}

    made = snapshot._Unpickler(io.BytesIO(snapshot._pickled(given))).load()  # type: ignore[arg-type]

    assert {name: value.tolist() for name, value in given.items()} == {name: value.tolist() for name, value in made.items()}
    assert all(value.flags.writeable for value in made.values() if isinstance(value, np.ndarray))


def test_a_header_that_says_more_than_there_is_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    view = small()
    view.tail = type(view.tail)(7, view.tail.digest)

    with pytest.raises(Unfit, match="does not hold what its header says"):
        load(dump(view, SEAL), SEAL)


def test_a_missing_leg_is_missing_after_loading_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the index is folded again, so that an event which cannot be folded any more is found."""
    content = dump(small(), SEAL)
    monkeypatch.setattr("projections.transcript.Transcript._add", lambda *_: 1 / 0)

    with pytest.raises(StoreDamaged, match="event 1 of home/ann"):
        _ = load(content, SEAL).turns
