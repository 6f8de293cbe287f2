"""Answers as JSON: the shapes that are promised. Fields may be added here, never renamed. Times are ISO 8601, UTC."""

from collections.abc import Sequence
from typing import Any

import msgspec

from events.envelope import Envelope, Unknown
from memory_actors.actors.user_actor import Ack
from memory_actors.ingest import Ingested
from memory_actors.reads.context import Context
from memory_actors.reads.difference import Difference
from memory_actors.reads.recall import Recall
from memory_actors.reads.withdrawal import Forgotten
from memory_actors.times import as_micros, show
from projections.basis import Basis
from projections.episodes import EpisodeRow
from projections.facts import FactRow
from projections.topics import TopicRow
from projections.transcript import ConversationRow, TurnRow

Answer = dict[str, Any]


def time(micros: int | None) -> str | None:
    """An instant, or null."""
    return None if micros is None else show(micros)


def basis(found: Basis) -> Answer:
    """What the read stands on."""
    return {"seq": found.seq, "now": time(found.now), "final": found.final}


def ack(found: Ack) -> Answer:
    """A durable command."""
    return {"seq": found.seq, "recorded_at": time(found.recorded_at), "duplicate": found.duplicate}


def ingested(found: Ingested) -> Answer:
    """What an ingest did."""
    return {"recorded": found.recorded, "already_there": found.already_there, "streams": found.streams, "seconds": found.seconds}


def fact(row: FactRow) -> Answer:
    """One fact."""
    return {
        "id": row.id,
        "subject": row.subject,
        "category": row.category,
        "key": row.key,
        "value": row.value,
        "confidence": row.confidence,
        "importance": row.importance,
        "valid_from": time(row.valid_from),
        "valid_to": time(row.valid_to),
        "recorded_at": time(row.recorded_at),
        "status": row.status,
        "source_seqs": list(row.source_seqs),
        "quote": row.quote,
        "extractor": row.extractor,
    }


def episode(row: EpisodeRow) -> Answer:
    """One episode."""
    return {
        "id": row.id,
        "conversation": row.conversation,
        "title": row.title,
        "summary": row.summary,
        "turn_start": row.turn_start,
        "turn_end": row.turn_end,
        "topics": list(row.topics),
        "closed_at": time(row.closed_at),
    }


def topic(row: TopicRow) -> Answer:
    """One topic."""
    return {
        "id": row.id,
        "title": row.title,
        "priority": row.priority,
        "half_life_days": row.half_life_days,
        "accesses": row.accesses,
        "messages": row.messages,
        "importance": row.importance,
        "last_active": time(row.last_active),
        "forgotten": row.forgotten,
    }


def turn(row: TurnRow) -> Answer:
    """One turn."""
    return {
        "seq": row.seq,
        "turn_id": row.turn_id,
        "conversation": row.conversation,
        "turn": row.turn,
        "role": row.role,
        "speaker": row.speaker,
        "content": row.content,
        "occurred_at": time(row.occurred_at),
    }


def session(conversation: str | None, rows: Sequence[TurnRow]) -> Answer:
    """The open turns of a conversation."""
    return {"conversation": conversation, "turns": [turn(row) for row in rows]}


def conversation(row: ConversationRow) -> Answer:
    """One conversation."""
    return {
        "conversation": row.conversation,
        "turns": row.turns,
        "open": row.open,
        "first": time(row.first),
        "last": time(row.last),
        "ended": row.ended,
    }


def recall(found: Recall) -> Answer:
    """Ranked memories."""
    return {
        "user": found.user,
        "query": found.query,
        "basis": basis(found.basis),
        "exact": found.exact,
        "pending": found.pending,
        "hits": [msgspec.to_builtins(hit) | {"occurred_at": time(as_micros(hit.occurred_at))} for hit in found.hits],
        "facts": [fact(hit.fact) | {"score": hit.score} for hit in found.facts],
        "episodes": [episode(hit.episode) | {"score": hit.score} for hit in found.episodes],
        "missing": list(found.missing),
        "begins": time(found.begins),
    }


def context(found: Context) -> Answer:
    """A rendered block."""
    plain: Answer = msgspec.to_builtins(found)
    return plain | {"basis": basis(found.basis), "begins": time(found.begins)}


def event(found: Envelope) -> Answer:
    """One event, all fields of its payload said; the payload of a type that is not known here comes as it is stored."""
    data = found.data
    payload = msgspec.json.decode(data.raw or b"null") if isinstance(data, Unknown) else msgspec.to_builtins(msgspec.structs.asdict(data))
    return {
        "seq": found.seq,
        "type": found.type,
        "recorded_at": time(found.recorded_at),
        "imported_at": time(found.imported_at),
        "occurred_at": time(found.occurred_at),
        "sources": [source.seq if not source.user else msgspec.structs.asdict(source) for source in found.sources],
        "payload": payload,
    }


def difference(found: Difference) -> Answer:
    """What differs."""
    return {
        "from": basis(found.before) if isinstance(found.before, Basis) else found.before,
        "to": basis(found.after) if isinstance(found.after, Basis) else found.after,
        "facts": {
            "gained": [fact(row) for row in found.facts.gained],
            "lost": [fact(row) for row in found.facts.lost],
            "changed": [{"from": fact(change.before), "to": fact(change.after)} for change in found.facts.changed],
        },
        "episodes": msgspec.to_builtins(found.episodes),
        "topics": msgspec.to_builtins(found.topics),
    }


def forgotten(found: Forgotten) -> Answer:
    """What was withdrawn."""
    return {
        "found": found.found,
        "facts": [fact(row) for row in found.facts],
        "turns": [turn(row) for row in found.turns],
        "episodes": list(found.episodes),
        "pending": found.pending,
    }
