"""Why something is believed: the events about a fact, and those that they are derived from, back to what was said."""

from collections.abc import Iterable

from events.envelope import Envelope
from events.errors import InvalidInput
from events.vocabulary import (
    FactAsserted,
    FactConfirmed,
    FactCorrected,
    FactEnded,
    FactRetracted,
    MemoryForgotten,
)
from projections.view import StreamView


def why(view: StreamView, fact_id: str, seq: int) -> list[Envelope]:
    """The events that made the fact what it is as of event `seq`, oldest first. Raises InvalidInput for an unknown id."""
    events = [event for event in view.recorded if event.seq <= seq]
    about = [event for event in events if _concerns(event, fact_id)]
    if not about:
        known = [event.data.fact for event in events if isinstance(event.data, FactAsserted)]
        raise InvalidInput(f"no fact {fact_id!r}; `facts --all` lists them ({', '.join(known[-5:]) or 'none yet'})")
    return sorted(_with_sources(view, about), key=lambda event: event.seq)


def _concerns(event: Envelope, fact_id: str) -> bool:
    match event.data:
        case FactAsserted() as data:
            return data.fact == fact_id or fact_id in data.supersedes
        case FactConfirmed(fact=fact) | FactEnded(fact=fact) | FactRetracted(fact=fact) | FactCorrected(fact=fact):
            return fact == fact_id
        case MemoryForgotten(facts=facts):
            return fact_id in facts
        case _:
            return False


def _with_sources(view: StreamView, events: Iterable[Envelope]) -> list[Envelope]:
    """These events and all that they lead back to in the stream."""
    found: dict[int, Envelope] = {}
    waiting = list(events)
    while waiting:
        event = waiting.pop()
        if event.seq not in found:
            found[event.seq] = event
            waiting += [known for source in event.sources if not source.user and (known := view.event(source.seq))]
    return list(found.values())
