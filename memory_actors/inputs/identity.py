"""Which line is which: ids that the same line gets every time it is ingested, so that a repeat is known as one.

A command id is a keyed hash of (space, user, conversation, turn_id) or, without a turn_id, of all the line's fields
and its how-manieth among equals. The key is the store's secret, so that ids tell nothing of what was said. UUIDs are
of version 8 (RFC 9562, section 5.8): made by rules of our own, without a timestamp.
"""

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from events.errors import InvalidInput
from memory_actors.inputs.line import TurnLine

_Place = tuple[str, str, str, str]


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The command id of a line, the turn id it is recorded under, and whether the input said it before."""

    command_id: str
    turn_id: str
    repeat: bool = False


def command_ids(lines: Sequence[TurnLine], key: bytes) -> list[str]:
    """The command id of each line, in order; a repeat has the id of the line that it repeats."""
    return [identity.command_id for identity in identities(lines, key)]


def identities(lines: Iterable[TurnLine], key: bytes) -> list[Identity]:
    """The identity of each line, in order. `key` is 1 to 64 secret bytes; every line must have its space.

    InvalidInput, naming both lines, where two share conversation and turn_id but not role, speaker and content.
    """
    if not key:
        raise ValueError("identities need a key: the store's secret")
    said: dict[_Place, TurnLine] = {}
    seen: Counter[bytes] = Counter()
    return [_identity(line, key, said, seen) for line in lines]


def _identity(line: TurnLine, key: bytes, said: dict[_Place, TurnLine], seen: Counter[bytes]) -> Identity:
    if not line.space:
        raise ValueError(f"{line.origin} has no space yet: pass space= to read_inputs")
    if line.turn_id is None:
        fields = _pack(*_fields(line))
        digest = _hash(key, b"fields", fields + _pack(str(seen[fields])))
        seen[fields] += 1
        return Identity(command_id=_uuid8(digest), turn_id=f"t-{digest.hex()[:16]}")
    place = (line.space, line.user, line.conversation, line.turn_id)
    _check_text(line)
    first = said.setdefault(place, line)
    _check_same(first, line)
    command_id = _uuid8(_hash(key, b"turn_id", _pack(*place)))
    return Identity(command_id=command_id, turn_id=line.turn_id, repeat=first is not line)


def _check_text(line: TurnLine) -> None:
    for what, name in (("turn_id", line.turn_id), ("conversation", line.conversation)):
        try:
            (name or "").encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{line.origin}: {what} {name!r} holds a lone surrogate (half of a character); it is not valid text"
            ) from error


def _check_same(first: TurnLine, line: TurnLine) -> None:
    if (first.role, first.speaker, first.content) != (line.role, line.speaker, line.content):
        raise InvalidInput(
            f"{line.origin}: turn_id {line.turn_id!r} of conversation {line.conversation!r} was already given at "
            f"{first.origin} with other content: a turn is never changed, so give this one an id of its own"
        )


def _fields(line: TurnLine) -> tuple[str | None, ...]:
    numbers = (line.occurred_at, line.importance)
    meta = None if line.meta is None else msgspec.json.encode(line.meta, order="deterministic").decode()
    named = (line.space, line.user, line.conversation, line.role, line.speaker, line.content, line.channel, line.agent)
    return (*named, *(None if number is None else repr(number) for number in numbers), meta)


def _pack(*fields: str | None) -> bytes:
    """Fields as bytes that no other fields have: each with its length, and an absent one unlike an empty one."""
    packed = bytearray()
    for field in fields:
        encoded = b"" if field is None else b"=" + field.encode()
        packed += len(encoded).to_bytes(8, "big") + encoded
    return bytes(packed)


def _hash(key: bytes, purpose: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16, key=key, person=purpose).digest()


def _uuid8(digest: bytes) -> str:
    """16 bytes as a UUID: 4 bits become the version, 2 the variant, 122 stay."""
    bits = int.from_bytes(digest, "big")
    bits = bits & ~(0xF << 76) | (8 << 76)
    bits = bits & ~(0b11 << 62) | (0b10 << 62)
    return str(uuid.UUID(int=bits))
