"""An event as it stands in the log: what happened, when it was recorded, and its place in the chain."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from events.vocabulary import Payload

Vectors = npt.NDArray[np.int16]


class Unknown(Payload, frozen=True, kw_only=True):
    """The payload of a type that this version does not know; kept and passed over."""

    raw: bytes


class Source(msgspec.Struct, frozen=True, array_like=True):
    """An event that another one is derived from. `space` and `user` are empty for the event's own stream."""

    seq: int
    user: str = ""
    space: str = ""


class NewEvent(msgspec.Struct, frozen=True):
    """What `decide` returns: an event without a place yet."""

    data: Payload
    occurred_at: int | None = None
    sources: tuple[int, ...] = ()
    vector: Vectors | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded event. Times are microseconds since the epoch; `vector` is int16, one row a text."""

    space: str
    user: str
    seq: int
    type: str
    schema_version: int
    recorded_at: int
    data: Payload
    imported_at: int | None = None
    occurred_at: int | None = None
    command_id: str | None = None
    sources: tuple[Source, ...] = ()
    vector: Vectors | None = None
    prev_digest: bytes = b""
    payload_digest: bytes = b""
    digest: bytes = b""
    redacted: bool = False

    @property
    def happened_at(self) -> int:
        """When it happened: `occurred_at` where it is known, else when it was recorded."""
        return self.recorded_at if self.occurred_at is None else self.occurred_at

    def to_dict(self) -> dict[str, Any]:
        """The payload as plain JSON-ready values."""
        built: dict[str, Any] = msgspec.to_builtins(self.data)
        return built
