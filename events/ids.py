"""Names: of streams, and of the folders that hold them. Pure; no file is touched here."""

import re

import msgspec

from events.errors import InvalidInput

MAX_ID_BYTES = 128
MAX_ENCODED_BYTES = 200
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_ENCODED = re.compile(r"(?:[a-z0-9_-]|%[0-9A-F]{2})+")


def check_id(value: str, what: str) -> str:
    """`value`, if it can name a space or a user: 1 to 128 bytes of UTF-8 without lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}")
    encoded = _utf8(value, what)
    if not 1 <= len(encoded) <= MAX_ID_BYTES:
        raise InvalidInput(f"{what} must have 1 to {MAX_ID_BYTES} bytes of UTF-8; this one has {len(encoded)}")
    if len(encode_id(value)) > MAX_ENCODED_BYTES:
        raise InvalidInput(
            f"{what} {value[:20]!r}... needs {len(encode_id(value))} bytes as a folder name, {MAX_ENCODED_BYTES} at most:"
            " every byte outside a-z, 0-9, _ and - takes three; use a shorter id"
        )
    return value


def _utf8(value: str, what: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} {value[:20]!a} holds a lone surrogate (half of a character), which no file name or UTF-8 text can keep"
        ) from error


def encode_id(value: str) -> str:
    """The folder-safe form: every byte outside `[a-z0-9_-]` percent-encoded, capitals too (some file systems fold case)."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in value.encode())


def decode_id(encoded: str) -> str | None:
    """The id that `encode_id` made this of; None for a folder that is not ours."""
    if not _ENCODED.fullmatch(encoded):
        return None
    raw = re.sub(rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), encoded.encode())
    try:
        value = raw.decode()
    except UnicodeDecodeError:
        return None
    return value if encode_id(value) == encoded else None


class StreamId(msgspec.Struct, frozen=True, order=True):
    """One user of one space: one stream. Nothing crosses spaces."""

    space: str
    user: str

    @property
    def folder(self) -> str:
        """The path of the stream's folder below `log/`."""
        return f"space={encode_id(self.space)}/user={encode_id(self.user)}"

    def __str__(self) -> str:
        return f"{self.space}/{self.user}"


SPACE_STREAM = "@space"
"""The user of a space's own stream: policy, display names, daily calls."""


def stream_id(space: str, user: str) -> StreamId:
    """The stream of a user. Raises InvalidInput for ids that cannot be kept."""
    check_id(space, "a space")
    check_id(user, "a user")
    if user.startswith("@"):
        raise InvalidInput(f"user {user!r} begins with '@', which is reserved for a space's own streams")
    return StreamId(space, user)


def space_stream(space: str) -> StreamId:
    """The space's own stream."""
    return StreamId(check_id(space, "a space"), SPACE_STREAM)
