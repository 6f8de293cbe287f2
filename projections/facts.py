"""The fact table: what is believed, and was believed at any moment, about any moment.

Two clocks. A fact's row changes when an event about it is recorded; every version of the row is kept with the seq
from which it stood, so a view as of a seq is a filter, and equals the view of a table that was fed only up to there.
The interval `valid_from`..`valid_to` (half-open, None: unbounded) says when the fact held. The table holds one stream
and is a fold of its log: no clock, no thresholds, nothing written. Times are microseconds since the epoch, UTC.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

import msgspec

from events.envelope import Envelope
from events.vocabulary import (
    Category,
    FactAsserted,
    FactConfirmed,
    FactEnded,
    FactRetracted,
    MemoryForgotten,
    StreamErased,
)

Status = Literal["active", "pending", "ended", "superseded", "retracted", "archived"]


class FactRow(msgspec.Struct, frozen=True, kw_only=True):
    """One fact as it stood at a seq.

    seq, recorded_at   its assertion's
    occurred_at        when it was first said, as far as is known
    source_seqs        the turns that said so, ascending
    """

    id: str
    subject: str
    category: Category
    key: str
    value: str
    confidence: float
    importance: float
    valid_from: int | None
    valid_to: int | None
    recorded_at: int
    occurred_at: int
    status: Status
    source_seqs: tuple[int, ...]
    quote: str | None
    extractor: str
    many: bool
    tags: tuple[str, ...]
    seq: int


class _Version(msgspec.Struct, frozen=True):
    """A row from the seq `since` on. `believed`: it was active at some time, not only pending."""

    since: int
    row: FactRow
    believed: bool


class _State(msgspec.Struct):
    seq: int = 0
    versions: dict[str, list[_Version]] = msgspec.field(default_factory=dict)


class FactTable:
    """The facts of one stream on both clocks."""

    name = "facts"
    version = 1

    def __init__(self) -> None:
        self._state = _State()
        self._by_key: dict[str, list[str]] = {}

    @property
    def seq(self) -> int:
        """The seq of the last event applied; 0 before the first."""
        return self._state.seq

    def apply(self, envelope: Envelope) -> None:
        """Fold one event; one that was seen already, or says nothing about a known fact, changes no row."""
        if envelope.seq <= self._state.seq:
            return
        self._state.seq = envelope.seq
        match envelope.data:
            case FactAsserted() as data:
                self._assert(data, envelope)
            case FactConfirmed() as data:
                self._confirm(data, envelope)
            case FactEnded() as data:
                self._change(data.fact, valid_to=data.valid_to)
            case FactRetracted() as data:
                self._change(data.fact, status="retracted")
            case MemoryForgotten() as data:
                for fact in data.facts:
                    self._change(fact, status="retracted")
            case StreamErased():
                self._state = _State(seq=envelope.seq)
                self._by_key = {}
            case _:
                pass

    def view(self, seq: int, valid_at: int | None, now: int) -> list[FactRow]:
        """Every fact recorded by `seq`, whatever its status at `now`; with `valid_at`, those that cover that instant.

        Ordered by importance (highest first), category, key, and the order of recording.
        """
        stood = (_at(versions, seq) for versions in self._state.versions.values())
        rows = (_shown(version, now) for version in stood if version is not None)
        return _ordered(row for row in rows if valid_at is None or covers(row, valid_at))

    def active(self, seq: int, valid_at: int | None, now: int) -> list[FactRow]:
        """The facts that count, as known at `seq`, in the order of `view`.

        Without `valid_at`: the active ones that hold at `now`. With it: those believed to have held at that instant,
        also if they have ended or been superseded since; never a retracted one, nor one that was only ever pending. Of
        a one-valued slot one fact counts: where statements without a beginning overlap, the latest before that instant.
        """
        stood = (_at(versions, seq) for versions in self._state.versions.values())
        rows = [_shown(one, now) for one in stood if one is not None and _counts(one, valid_at, now)]
        return _ordered(rows if valid_at is None else _one_a_slot(rows, valid_at))

    def history(self, key: str, seq: int, now: int, *, category: str | None = None, subject: str | None = None) -> list[FactRow]:
        """All that slots of that key ever held, as known at `seq`: by order of recording, retracted ones included."""
        stood = (_at(self._state.versions[fact], seq) for fact in self._by_key.get(key, ()))
        rows = (_shown(version, now) for version in stood if version is not None)
        return [row for row in rows if _in_slot(row, category, subject)]

    def get(self, fact_id: str, seq: int, now: int) -> FactRow | None:
        """The fact of that id as known at `seq`, or None."""
        version = _at(self._state.versions.get(fact_id, []), seq)
        return None if version is None else _shown(version, now)

    def dump(self) -> bytes:
        """The whole state, as MessagePack."""
        return msgspec.msgpack.encode(self._state)

    @classmethod
    def load(cls, data: bytes) -> "FactTable":
        """The table that `dump` wrote. Raises msgspec.DecodeError if it is not one."""
        table = cls()
        table._state = msgspec.msgpack.decode(data, type=_State)
        for fact, versions in table._state.versions.items():
            table._by_key.setdefault(versions[0].row.key, []).append(fact)
        return table

    def _assert(self, data: FactAsserted, envelope: Envelope) -> None:
        if data.fact in self._state.versions:
            return
        start = envelope.happened_at if data.valid_from is None else data.valid_from
        for old in data.supersedes:
            self._change(old, status="superseded", valid_to=start)
        row = FactRow(
            id=data.fact,
            subject=data.subject,
            category=data.category,
            key=data.key,
            value=data.value,
            confidence=data.confidence,
            importance=data.importance,
            valid_from=data.valid_from,
            valid_to=data.valid_to,
            recorded_at=envelope.recorded_at,
            occurred_at=envelope.happened_at,
            status=data.status,
            source_seqs=_own_sources(envelope),
            quote=data.quote,
            extractor=data.extractor,
            many=data.many,
            tags=data.tags,
            seq=envelope.seq,
        )
        self._state.versions[data.fact] = [_Version(envelope.seq, row, data.status == "active")]
        self._by_key.setdefault(data.key, []).append(data.fact)

    def _confirm(self, data: FactConfirmed, envelope: Envelope) -> None:
        version = self._last(data.fact)
        if version is None:
            return
        row = msgspec.structs.replace(
            version.row,
            confidence=max(version.row.confidence, data.confidence),
            valid_from=version.row.valid_from if data.valid_from is None else data.valid_from,
            occurred_at=min(version.row.occurred_at, envelope.happened_at),
            source_seqs=tuple(sorted({*version.row.source_seqs, *_own_sources(envelope)})),
        )
        self._put(version, row)

    def _change(self, fact: str, *, status: Status | None = None, valid_to: int | None = None) -> None:
        """A new version of a known row. A retracted one stays so; superseding never lengthens an interval."""
        version = self._last(fact)
        if version is None or version.row.status == "retracted":
            return
        row = version.row
        if valid_to is not None and status == "superseded" and row.valid_to is not None:
            valid_to = min(valid_to, row.valid_to)
        self._put(
            version,
            msgspec.structs.replace(row, status=status or row.status, valid_to=row.valid_to if valid_to is None else valid_to),
        )

    def _put(self, version: _Version, row: FactRow) -> None:
        versions = self._state.versions[row.id]
        versions.append(_Version(self._state.seq, row, version.believed))

    def _last(self, fact: str) -> _Version | None:
        versions = self._state.versions.get(fact)
        return versions[-1] if versions else None


def covers(row: FactRow, instant: int) -> bool:
    """Whether the fact's interval contains the instant."""
    begun = row.valid_from is None or row.valid_from <= instant
    return begun and (row.valid_to is None or instant < row.valid_to)


def _counts(version: _Version, valid_at: int | None, now: int) -> bool:
    if valid_at is None:
        return _shown(version, now).status == "active" and covers(version.row, now)
    return version.believed and version.row.status != "retracted" and covers(version.row, valid_at)


def _one_a_slot(rows: Iterable[FactRow], instant: int) -> list[FactRow]:
    """All rows of many-valued slots, and of each other slot the one that says most about the instant."""
    chosen: dict[tuple[object, ...], FactRow] = {}
    for row in rows:
        slot = (row.subject.casefold(), row.category, row.key, row.seq if row.many else 0)
        if slot not in chosen or _nearness(row, instant) > _nearness(chosen[slot], instant):
            chosen[slot] = row
    return list(chosen.values())


def _nearness(row: FactRow, instant: int) -> tuple[bool, int, int]:
    """Begun by then beats said only later; of the begun ones the latest, of the others the earliest."""
    begin = row.occurred_at if row.valid_from is None else row.valid_from
    return begin <= instant, begin if begin <= instant else -begin, row.seq


def _shown(version: _Version, now: int) -> FactRow:
    """The row with the status that it has at `now`: an end that is known in advance has not come yet."""
    row = version.row
    if row.valid_to is None:
        return row
    status = row.status
    if status in ("active", "pending") and row.valid_to <= now:
        status = "ended"
    elif status == "superseded" and version.believed and now < row.valid_to:
        status = "active"
    return row if status == row.status else msgspec.structs.replace(row, status=status)


def _at(versions: list[_Version], seq: int) -> _Version | None:
    place = bisect_right(versions, seq, key=lambda version: version.since)
    return versions[place - 1] if place else None


def _in_slot(row: FactRow, category: str | None, subject: str | None) -> bool:
    right_category = category is None or row.category == category
    return right_category and (subject is None or row.subject.casefold() == subject.casefold())


def _ordered(rows: Iterable[FactRow]) -> list[FactRow]:
    return sorted(rows, key=lambda row: (-row.importance, row.category, row.key, row.seq))


def _own_sources(envelope: Envelope) -> tuple[int, ...]:
    """The seqs of this stream that the event cites, ascending."""
    return tuple(sorted({source.seq for source in envelope.sources if not source.user}))
