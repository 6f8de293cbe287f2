"""Values as bytes in parts: small enough that Ray sends each within the call.

What is recorded, or read of it, never enters Ray's object store, which may spill to disk, where no erasure would find it.
"""

import pickle
from collections.abc import Sequence
from typing import Any

from events.commands import Command
from events.errors import InvalidInput

PART_BYTES = 64_000
"""Ray keeps values of 100 KB and more in its object store, and smaller ones, up to 10 MB a call, in the call."""
CALL_BYTES = 8_000_000
"""Commands are cut into calls of about this, which leaves room for one that is as large as a turn may be."""
MOST_BYTES = 9_900_000


def parts(body: bytes) -> list[bytes]:
    """The body, cut; at least one part."""
    return [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)] or [b""]


def in_parts(*values: Any) -> list[bytes]:
    """The arguments of a call. Raises InvalidInput for more than fits into one."""
    body = packed(values)
    if len(body) > MOST_BYTES:
        raise InvalidInput(f"a call carries at most {MOST_BYTES:,} bytes, not {len(body):,}; ask for less at once")
    return parts(body)


def packed(value: Any) -> bytes:
    """The value as bytes."""
    return pickle.dumps(value)


def unpacked(pieces: Sequence[bytes]) -> Any:
    """The value of which these are the parts, in order."""
    return pickle.loads(b"".join(pieces))  # noqa: S301 - Ray would have done the same


def batches(commands: Sequence[Command]) -> list[list[Command]]:
    """Commands in order, in as few calls as fit."""
    if len(commands) <= 1 or len(packed(list(commands))) <= CALL_BYTES:
        return [list(commands)]
    half = len(commands) // 2
    return batches(commands[:half]) + batches(commands[half:])
