"""How much a store holds."""

import msgspec

from events.ids import StreamId
from events.log.file_log import FileLog


class UserCount(msgspec.Struct, frozen=True, kw_only=True):
    """One stream. `first` and `last`: when its events were recorded; `backfilled`: events that were imported as of the past."""

    space: str
    user: str
    events: int
    turns: int
    first: int | None
    last: int | None
    backfilled: int


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """The whole store."""

    users: tuple[UserCount, ...]
    files: int
    bytes: int


def statistics(log: FileLog) -> Statistics:
    """Count everything."""
    users = tuple(_count(log, stream) for stream in log.streams())
    files = [path for path in log.store.path.rglob("*") if path.is_file()]
    return Statistics(users=users, files=len(files), bytes=sum(path.stat().st_size for path in files))


def _count(log: FileLog, stream: StreamId) -> UserCount:
    rows = log.read(stream, vectors=False).rows
    return UserCount(
        space=stream.space,
        user=stream.user,
        events=len(rows),
        turns=sum(1 for row in rows if row.type == "TurnRecorded"),
        first=rows[0].recorded_at if rows else None,
        last=rows[-1].recorded_at if rows else None,
        backfilled=sum(1 for row in rows if row.imported_at is not None),
    )
