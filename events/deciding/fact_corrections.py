"""The user puts a fact right. Pure: what is held goes in, events come out.

Knows nothing of clocks, texts or policies. Times are microseconds since the epoch, UTC.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from events.deciding.held_facts import FactSlots, HeldFact
from events.envelope import NewEvent
from events.errors import InvalidInput
from events.vocabulary import FactAsserted, FactCorrected, FactRetracted


def decide_correction(slots: FactSlots, fact_id: str, value: str, *, next_seq: int, occurred_at: int | None = None) -> list[NewEvent]:
    """The user puts a held fact right: FactCorrected, FactRetracted of the old, FactAsserted of the new.

    The new fact is certain (1.0), by extractor "user", holds for the same interval, and cites the FactCorrected.
    Raises InvalidInput, with near matches, if there is no such fact, if it is not held, or if nothing would change.
    """
    old = _held_fact(slots, fact_id)
    if not value.strip():
        raise InvalidInput(f"a correction of {fact_id} needs a value; to withdraw it, forget it")
    if old.value == value.strip():
        raise InvalidInput(f"{fact_id} already says {old.value!r}")
    others = (one for one in slots.of(old.slot) if one.held and one.id != old.id)
    asserted = FactAsserted(
        fact=f"f{next_seq + 2}",
        subject=old.subject,
        category=old.category,
        key=old.key,
        value=value.strip(),
        confidence=1.0,
        importance=old.importance,
        valid_from=old.valid_from,
        valid_to=old.valid_to,
        many=old.many,
        extractor="user",
        supersedes=tuple(one.id for one in others if not old.many or one.says(value)),
        tags=old.tags,
    )
    return [
        NewEvent(data=FactCorrected(fact=old.id, value=value.strip()), occurred_at=occurred_at, sources=(old.seq,)),
        NewEvent(
            data=FactRetracted(fact=old.id, reason="corrected by the user"),
            occurred_at=occurred_at,
            sources=(next_seq,),
        ),
        NewEvent(data=asserted, occurred_at=occurred_at, sources=(next_seq,)),
    ]


def _held_fact(slots: FactSlots, fact_id: str) -> HeldFact:
    fact = slots.fact(fact_id)
    if fact is not None and fact.held:
        return fact
    held = slots.held()
    if fact is not None:
        near = [one for one in held if one.slot == fact.slot]
        raise InvalidInput(f"{fact_id} ({fact.key}: {fact.value}) is {fact.state}, not held.{_hint(near)}")
    close = get_close_matches(fact_id, [one.id for one in held], n=3, cutoff=0.5)
    raise InvalidInput(f"there is no fact {fact_id!r}.{_hint([one for one in held if one.id in close])}")


def _hint(near: Sequence[HeldFact]) -> str:
    if not near:
        return " `memory-actors facts` lists those that are."
    return f" Did you mean {', '.join(f'{one.id} ({one.key}: {one.value})' for one in near)}?"
