"""What becomes of what was read in a turn: the pure decisions about facts.

The rules of conflict are deterministic and never look beyond one slot. One-valued slots supersede, many-valued ones
accumulate; an update needs a confidence that is not lower, unless the speaker said that it changed; what was said
earlier but arrives later lands in the past and never displaces what is held (seeds 1 and 3, and DESIGN.md, *Where
they meet, decided*). Knows nothing of clocks, texts or policies. Times are microseconds since the epoch, UTC.
"""

from collections.abc import Iterable, Sequence

from events.candidates import Candidate
from events.deciding.fact_corrections import decide_correction
from events.deciding.held_facts import FactSlots, HeldFact, SlotKey, held_values, same_value, slot_key
from events.envelope import NewEvent
from events.policy import FactRules
from events.vocabulary import (
    FactAsserted,
    FactConfirmed,
    FactEnded,
    FactRefused,
    FactRetracted,
    Payload,
)

__all__ = ["FactRules", "FactSlots", "decide_candidates", "decide_correction"]

CHANGED = "the speaker said that it changed"
OVER = "the speaker said that it is over"
NEVER = "the speaker said that it was never so"


def decide_candidates(
    slots: FactSlots,
    candidates: Sequence[Candidate],
    *,
    turn_seq: int,
    happened_at: int,
    next_seq: int,
    rules: FactRules,
    extractor: str,
) -> list[NewEvent]:
    """What becomes of the candidates that `extractor` read in the turn at `turn_seq`, in their order.

    `happened_at` is the turn's time; `next_seq` the seq that the first event returned here will get, from which the
    ids of new facts (`f<seq>`) follow. A candidate either changes its slot or leaves a FactRefused with its reason,
    except these, which leave nothing: a repetition within the turn, an ending or retraction that matches nothing,
    and all of a turn that was withdrawn. Conflict rules: seeds 1 and 3, and DESIGN.md, *Where they meet, decided*.
    """
    if slots.is_withdrawn(turn_seq):
        return []
    wanted = _distinct(candidates)
    deciding = _Deciding(slots, wanted, turn_seq=turn_seq, happened_at=happened_at, next_seq=next_seq, rules=rules, extractor=extractor)
    for candidate in wanted:
        deciding.consider(candidate)
    return deciding.events


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without repetitions: of equal ones the most confident, in the place of the first."""
    best: dict[tuple[SlotKey, str, str], Candidate] = {}
    for one in candidates:
        key = slot_key(one.subject, one.category, one.key), one.act, same_value(one.value)
        if key not in best or one.confidence > best[key].confidence:
            best[key] = one
    return list(best.values())


class _Deciding:
    """The events decided so far in one turn, and a fork of the slots in which they already happened."""

    def __init__(
        self,
        slots: FactSlots,
        candidates: Iterable[Candidate],
        *,
        turn_seq: int,
        happened_at: int,
        next_seq: int,
        rules: FactRules,
        extractor: str,
    ) -> None:
        self.events: list[NewEvent] = []
        self._slots = slots
        self._fork = slots.fork({_slot_of(one) for one in candidates})
        self._turn, self._now, self._next = turn_seq, happened_at, next_seq
        self._rules, self._extractor = rules, extractor

    def consider(self, candidate: Candidate) -> None:
        """Decide one candidate."""
        reason = self._unfit(candidate)
        if reason:
            self._refuse(candidate, reason)
        elif candidate.act == "assert":
            self._assert(candidate)
        elif candidate.act == "end":
            self._end(candidate)
        else:
            self._retract(candidate)

    def _unfit(self, candidate: Candidate) -> str:
        if self._slots.touched_at(_slot_of(candidate)) > self._turn:
            return "the user changed this slot after the turn"
        if candidate.confidence < self._rules.store_confidence:
            return f"confidence below {self._rules.store_confidence:g}"
        if candidate.importance < self._rules.store_importance:
            return f"importance below {self._rules.store_importance:g}"
        if candidate.act == "assert" and not candidate.value.strip():
            return "no value"
        return ""

    def _assert(self, candidate: Candidate) -> None:
        facts = self._facts(candidate)
        same = [one for one in facts if one.held and one.says(candidate.value)]
        if candidate.valid_to is not None and candidate.valid_to <= self._now:
            self._remember_past(candidate, candidate.valid_to)
        elif same and not self._is_earlier(same[0], facts):
            self._repeat(candidate, same[0], facts)
        elif candidate.many:
            self._add(candidate)
        elif any(one.said_at > self._now for one in facts if _counted(one) or one.says(candidate.value)):
            self._land(candidate, facts)
        else:
            self._replace(candidate, facts)

    def _is_earlier(self, same: HeldFact, facts: Sequence[HeldFact]) -> bool:
        """Whether this turn is older than the time for which its value is held, so that others may lie between."""
        others = any(_counted(one) and one is not same for one in facts)
        return others and not same.many and self._now < same.start

    def _repeat(self, candidate: Candidate, old: HeldFact, facts: Sequence[HeldFact]) -> None:
        """The value is there already: confirm it, promote it, or refuse a weaker repetition."""
        if candidate.confidence < old.confidence:
            self._refuse(candidate, "already known with higher confidence")
        elif old.state == "pending" and self._status(candidate) == "active":
            self._replace(candidate, [old] if candidate.many else facts, promoted=old)
        else:
            learnt = candidate.valid_from if old.valid_from is None else None
            self._emit(FactConfirmed(fact=old.id, confidence=candidate.confidence, valid_from=learnt))

    def _replace(self, candidate: Candidate, facts: Sequence[HeldFact], promoted: HeldFact | None = None) -> None:
        """The value takes the place of all that `facts` hold, or is refused because they are better known."""
        rivals = [one for one in facts if one.held and one is not promoted]
        stronger = [one for one in rivals if one.confidence > candidate.confidence]
        if stronger and not candidate.changed:
            self._refuse(candidate, f"the slot holds {stronger[0].value!r} with higher confidence")
            return
        start = candidate.valid_from
        if start is None and any(one.believed for one in facts):
            start = self._now
        if candidate.changed:
            for one in rivals:
                self._emit(FactEnded(fact=one.id, valid_to=self._now if start is None else start, reason=CHANGED))
            rivals = []
        if self._status(candidate) == "pending":
            rivals = [one for one in rivals if one.state == "pending"]
        replaced = [*([promoted] if promoted else []), *rivals]
        turns = promoted.turns if promoted else ()
        self._add(candidate, valid_from=start, supersedes=tuple(one.id for one in replaced), turns=turns)

    def _land(self, candidate: Candidate, facts: Sequence[HeldFact]) -> None:
        """A statement older than what is believed: it holds from its own time to the next statement's."""
        start = self._now if candidate.valid_from is None else candidate.valid_from
        believed = [one for one in facts if _counted(one)]
        over = [one.valid_to for one in facts if one.valid_to is not None and one.says(candidate.value) and not _counted(one)]
        following = [_next_after(one, self._now) for one in believed if one.said_at > self._now]
        end = min([*following, *(instant for instant in over if instant > self._now)], default=None)
        before = [one for one in believed if one.start <= start and one.said[0] <= self._now and _reaches(one, start)]
        stronger = [one for one in before if one.confidence > candidate.confidence]
        known = [one for one in before if one.says(candidate.value)]
        if end is not None and end <= start:
            self._refuse(candidate, "a later statement covers that time")
        elif known and candidate.confidence >= known[-1].confidence:
            self._emit(FactConfirmed(fact=known[-1].id, confidence=candidate.confidence))
        elif stronger and not candidate.changed:
            self._refuse(candidate, f"the slot held {stronger[0].value!r} with higher confidence")
        else:
            for one in before:
                self._emit(FactEnded(fact=one.id, valid_to=start, reason="another value held from then on"))
            for one in before:
                self._resume(one)
            self._add(candidate, valid_from=start if before else candidate.valid_from, valid_to=end)

    def _resume(self, old: HeldFact) -> None:
        """The rest of a fact that was said on both sides of a late statement, as a fact of its own."""
        later = [instant for instant in old.said if instant > self._now]
        if not later:
            return
        rest = FactAsserted(
            fact=f"f{self._next + len(self.events)}",
            subject=old.subject,
            category=old.category,
            key=old.key,
            value=old.value,
            confidence=old.confidence,
            importance=old.importance,
            valid_from=later[0],
            valid_to=old.valid_to,
            many=old.many,
            extractor=self._extractor,
            tags=old.tags,
        )
        self._emit(rest, old.turns, happened_at=later[0])
        for instant in later[1:]:
            self._emit(FactConfirmed(fact=rest.fact, confidence=old.confidence), old.turns, happened_at=instant)

    def _end(self, candidate: Candidate) -> None:
        facts = self._facts(candidate)
        end = self._now if candidate.valid_to is None else candidate.valid_to
        meant = [one for one in facts if one.says(candidate.value) or not candidate.value.strip()]
        ending = [one for one in meant if one.said[0] <= self._now and _reaches(one, end)]
        for one in ending:
            self._emit(FactEnded(fact=one.id, valid_to=end, reason=OVER))
            self._resume(one)
        if candidate.value.strip() and not ending:
            self._remember_past(candidate, self._past_end(candidate, facts))

    def _past_end(self, candidate: Candidate, facts: Sequence[HeldFact]) -> int:
        """When something that is over was over: as said, else when what the slot holds began, else by now."""
        began = [one.start for one in facts if one.held and one.valid_from is not None and not candidate.many]
        return candidate.valid_to if candidate.valid_to is not None else min([self._now, *began])

    def _remember_past(self, candidate: Candidate, end: int) -> None:
        """History that was never held: asserted with its end, so that it is never active after it."""
        if not any(one.says(candidate.value) for one in self._facts(candidate)):
            self._add(candidate, valid_from=candidate.valid_from, valid_to=end)

    def _retract(self, candidate: Candidate) -> None:
        facts = self._facts(candidate)
        named = [one for one in facts if one.says(candidate.value)]
        meant = named if candidate.value.strip() else held_values(facts, "")
        for one in meant:
            if one.said_at <= self._now:
                self._emit(FactRetracted(fact=one.id, reason=NEVER))

    def _add(
        self,
        candidate: Candidate,
        *,
        valid_from: int | None = None,
        valid_to: int | None = None,
        supersedes: tuple[str, ...] = (),
        turns: tuple[int, ...] = (),
    ) -> None:
        fact = FactAsserted(
            fact=f"f{self._next + len(self.events)}",
            subject=candidate.subject,
            category=candidate.category,
            key=candidate.key,
            value=candidate.value.strip(),
            confidence=candidate.confidence,
            importance=candidate.importance,
            status="pending" if self._status(candidate) == "pending" else "active",
            valid_from=candidate.valid_from if valid_from is None else valid_from,
            valid_to=candidate.valid_to if valid_to is None else valid_to,
            many=candidate.many,
            extractor=self._extractor,
            quote=candidate.quote,
            supersedes=supersedes,
            tags=candidate.tags,
        )
        self._emit(fact, turns)

    def _refuse(self, candidate: Candidate, reason: str) -> None:
        self._emit(
            FactRefused(
                subject=candidate.subject,
                category=candidate.category,
                key=candidate.key,
                value=candidate.value,
                confidence=candidate.confidence,
                reason=reason,
            )
        )

    def _emit(self, data: Payload, turns: tuple[int, ...] = (), *, happened_at: int | None = None) -> None:
        sources = tuple(sorted({*turns, self._turn}))
        instant = self._now if happened_at is None else happened_at
        self._fork.fold(data, seq=self._next + len(self.events), happened_at=instant, turns=sources)
        self.events.append(NewEvent(data=data, occurred_at=instant, sources=sources))

    def _facts(self, candidate: Candidate) -> tuple[HeldFact, ...]:
        return self._fork.of(_slot_of(candidate))

    def _status(self, candidate: Candidate) -> str:
        weak = candidate.confidence < self._rules.active_confidence
        return "pending" if weak and self._rules.pending else "active"


def _slot_of(candidate: Candidate) -> SlotKey:
    return slot_key(candidate.subject, candidate.category, candidate.key)


def _counted(fact: HeldFact) -> bool:
    """Whether it was believed to hold when it was said: what is said to be over says nothing about what came then."""
    return fact.believed and (fact.valid_to is None or fact.valid_to > fact.said[0])


def _next_after(fact: HeldFact, instant: int) -> int:
    """When a fact that was said after the instant next counts: when it is next said, or began before that."""
    following = min(one for one in fact.said if one > instant)
    return following if fact.said[0] <= instant else min(fact.start, following)


def _reaches(fact: HeldFact, instant: int) -> bool:
    return fact.valid_to is None or fact.valid_to > instant
