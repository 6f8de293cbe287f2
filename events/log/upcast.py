"""Old schema versions, made new on read: pure functions, chained, one a step.

To change a type: add optional fields without a new version, or raise its version in `CURRENT` and add the step from the
old one to `STEPS`. Stored bytes are never rewritten.
"""

from collections.abc import Callable

CURRENT: dict[str, int] = {}
"""The schema version that is written now, by type; 1 where nothing is said."""

STEPS: dict[tuple[str, int], Callable[[bytes], bytes]] = {}
"""`(type, version) -> payload of version -> payload of version + 1`, both JSON."""


def upcast(kind: str, schema_version: int, payload: bytes) -> bytes:
    """The payload as the current version of its type has it."""
    for version in range(schema_version, CURRENT.get(kind, 1)):
        payload = STEPS[kind, version](payload)
    return payload
