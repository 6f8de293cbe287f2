"""The write side of facts: what each slot holds and held, as a fold of the log.

A slot is `(subject, category, key)`, the subject compared without regard to letter case. A slot's whole history is
kept (retracted facts aside), so that a statement that arrives late can land where it belongs. `FactSlots.evolve` is
total: what it does not know it passes over. Knows nothing of clocks, texts or policies; what is decided from this
state is in `events.deciding.fact_slots`. Times are microseconds since the epoch, UTC.
"""

from collections.abc import Iterable, Sequence

import msgspec

from events.envelope import Envelope
from events.vocabulary import (
    Category,
    FactAsserted,
    FactConfirmed,
    FactCorrected,
    FactEnded,
    FactRetracted,
    MemoryForgotten,
    Payload,
    StreamErased,
)

SlotKey = tuple[str, str, str]


class HeldFact(msgspec.Struct, frozen=True, kw_only=True):
    """One fact that was asserted and not retracted.

    state    active, pending: held; ended, superseded: history
    said     when it was said, ascending: by the assertion and by confirmations
    turns    seqs of the turns that said so, ascending
    believed it was active once (a pending fact that was replaced never was)
    """

    id: str
    subject: str
    category: Category
    key: str
    value: str
    confidence: float
    importance: float
    state: str
    many: bool
    valid_from: int | None
    valid_to: int | None
    seq: int
    said: tuple[int, ...]
    turns: tuple[int, ...]
    tags: tuple[str, ...]
    believed: bool

    @property
    def slot(self) -> SlotKey:
        """The slot it stands in."""
        return slot_key(self.subject, self.category, self.key)

    @property
    def held(self) -> bool:
        """Whether the slot still holds it."""
        return self.state in ("active", "pending")

    @property
    def said_at(self) -> int:
        """When it was last said."""
        return self.said[-1]

    @property
    def start(self) -> int:
        """From when it counts in the order of its slot: `valid_from`, else when it was first said."""
        return self.said[0] if self.valid_from is None else self.valid_from

    def says(self, value: str) -> bool:
        """Whether it has that value, letter case and outer space aside."""
        return same_value(self.value) == same_value(value)


def slot_key(subject: str, category: str, key: str) -> SlotKey:
    """The identity of a slot."""
    return subject.casefold(), category, key


def same_value(value: str) -> str:
    """The form in which two values are compared: casefolded, with single inner spaces."""
    return " ".join(value.casefold().split())


class FactSlots:
    """What every slot of one stream holds, which slots the user touched, and which turns were withdrawn."""

    def __init__(self) -> None:
        self._places: dict[str, SlotKey] = {}
        self._facts: dict[str, HeldFact] = {}
        self._slots: dict[SlotKey, tuple[str, ...]] = {}
        self._touched: dict[SlotKey, int] = {}
        self._withdrawn: set[int] = set()

    def evolve(self, envelope: Envelope) -> None:
        """Fold one event. Events that are not about facts, or name unknown ones, change nothing."""
        turns = tuple(source.seq for source in envelope.sources if not source.user)
        self.fold(envelope.data, seq=envelope.seq, happened_at=envelope.happened_at, turns=turns)

    def fold(self, data: Payload, *, seq: int, happened_at: int, turns: tuple[int, ...]) -> None:
        """The same for an event that has no envelope yet. `turns` are the seqs it cites."""
        match data:
            case FactAsserted():
                self._assert(data, seq, happened_at, turns)
            case FactConfirmed():
                self._confirm(data, happened_at, turns)
            case FactEnded():
                self._end(data.fact, "ended", data.valid_to)
            case FactRetracted():
                self._retract(data.fact)
            case FactCorrected():
                self._touch(data.fact, seq)
            case MemoryForgotten():
                self._forget(data, seq)
            case StreamErased():
                self._clear()
            case _:
                pass

    def fact(self, fact_id: str) -> HeldFact | None:
        """The fact of that id, unless it was retracted or never was."""
        return self._facts.get(fact_id)

    def of(self, slot: SlotKey) -> tuple[HeldFact, ...]:
        """All that the slot holds or held, in the order of assertion."""
        return tuple(self._facts[one] for one in self._slots.get(slot, ()))

    def held(self) -> tuple[HeldFact, ...]:
        """Every fact that is held, by the seq of its assertion."""
        return tuple(sorted((one for one in self._facts.values() if one.held), key=lambda one: one.seq))

    def touched_at(self, slot: SlotKey) -> int:
        """The seq at which the user last forgot or corrected something in the slot; 0 for never."""
        return self._touched.get(slot, 0)

    def is_withdrawn(self, turn_seq: int) -> bool:
        """Whether the user withdrew that turn."""
        return turn_seq in self._withdrawn

    def fork(self, slots: Iterable[SlotKey]) -> "FactSlots":
        """A copy that knows only these slots; folding into it leaves this one as it is."""
        copy = FactSlots()
        for slot in slots:
            ids = self._slots.get(slot, ())
            copy._slots[slot] = ids
            copy._facts.update((one, self._facts[one]) for one in ids)
        return copy

    def _assert(self, data: FactAsserted, seq: int, happened_at: int, turns: tuple[int, ...]) -> None:
        if data.fact in self._places:
            return
        fact = HeldFact(
            id=data.fact,
            subject=data.subject,
            category=data.category,
            key=data.key,
            value=data.value,
            confidence=data.confidence,
            importance=data.importance,
            state="ended" if self._is_history(data, happened_at) else data.status,
            many=data.many,
            valid_from=data.valid_from,
            valid_to=data.valid_to,
            seq=seq,
            said=(happened_at,),
            turns=tuple(sorted(set(turns))),
            tags=data.tags,
            believed=data.status == "active",
        )
        for old in data.supersedes:
            self._end(old, "superseded", fact.start)
        self._facts[fact.id], self._places[fact.id] = fact, fact.slot
        self._slots[fact.slot] = (*self._slots.get(fact.slot, ()), fact.id)

    def _is_history(self, data: FactAsserted, happened_at: int) -> bool:
        """Whether the slot never holds it: it was over when it was said, or something newer was there already."""
        if data.valid_to is None:
            return False
        there = self.of(slot_key(data.subject, data.category, data.key))
        newer = not data.many and any(one.state == "active" and one.said_at > happened_at for one in there)
        return data.valid_to <= happened_at or newer

    def _clear(self) -> None:
        for state in (self._places, self._facts, self._slots, self._touched, self._withdrawn):
            state.clear()

    def _confirm(self, data: FactConfirmed, happened_at: int, turns: tuple[int, ...]) -> None:
        fact = self._facts.get(data.fact)
        if fact is None:
            return
        self._facts[fact.id] = msgspec.structs.replace(
            fact,
            confidence=max(fact.confidence, data.confidence),
            valid_from=fact.valid_from if data.valid_from is None else data.valid_from,
            said=tuple(sorted({*fact.said, happened_at})),
            turns=tuple(sorted({*fact.turns, *turns})),
        )

    def _end(self, fact_id: str, state: str, valid_to: int) -> None:
        fact = self._facts.get(fact_id)
        if fact is None:
            return
        kept = fact.state if fact.state == "superseded" else state
        end = valid_to if fact.valid_to is None or state == "ended" else min(fact.valid_to, valid_to)
        said = tuple(one for one in fact.said if one < end) or fact.said[:1]
        self._facts[fact_id] = msgspec.structs.replace(fact, state=kept, valid_to=end, said=said)

    def _retract(self, fact_id: str) -> None:
        fact = self._facts.pop(fact_id, None)
        if fact is not None:
            self._slots[fact.slot] = tuple(one for one in self._slots[fact.slot] if one != fact_id)

    def _touch(self, fact_id: str, seq: int) -> None:
        slot = self._places.get(fact_id)
        if slot is not None:
            self._touched[slot] = seq

    def _forget(self, data: MemoryForgotten, seq: int) -> None:
        self._withdrawn.update(data.turns)
        for fact_id in data.facts:
            self._touch(fact_id, seq)
            self._retract(fact_id)


def held_values(facts: Sequence[HeldFact], value: str) -> tuple[HeldFact, ...]:
    """Those of `facts` that are held and have `value`; an empty `value` stands for any."""
    return tuple(fact for fact in facts if fact.held and (not value.strip() or fact.says(value)))
