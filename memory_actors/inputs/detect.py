"""What a path holds, and the turns in it: JSON Lines or LoCoMo, told apart by content. "-" is standard input.

All paths are read and checked before the first turn is handed out, so that a mistake in the last file is found before
anything of the first is recorded. What is none of the two is refused with a hint on how to make it one.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from events.errors import InvalidInput
from memory_actors.inputs import locomo
from memory_actors.inputs.jsonl import MAX_LINE, ByteStream, bounded_lines, read_jsonl
from memory_actors.inputs.line import EXAMPLE, TurnLine

_KINDS = f"JSON Lines (one object a line, such as {EXAMPLE}) and LoCoMo JSON files are read"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PACKED = {
    b"\x1f\x8b": "is packed by gzip: gunzip -c FILE | memory-actors ingest -",
    b"BZh": "is packed by bzip2: bunzip2 -c FILE | memory-actors ingest -",
    b"(\xb5/\xfd": "is packed by zstd: zstd -dc FILE | memory-actors ingest -",
    b"PK\x03\x04": "is a zip archive: unpack it and name the files in it",
    b"PAR1": "is a Parquet file; a store's own log is copied with `memory-actors log copy`",
}
_FOREIGN = {
    "mapping": "is a ChatGPT export: write each message of `mapping` as one line",
    "chat_messages": "is a Claude export: write each of `chat_messages` as one line",
    "messages": "is a list of conversations: write each of `messages` as one line",
    "content": "is a list of turns in one document: write one object a line (jq -c '.[]' FILE)",
}


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of all inputs in the order given, the bad lines left out on request, and notes on files passed over."""

    lines: list[TurnLine]
    problems: list[str]
    notes: list[str]


def read_inputs(paths: Sequence[str | Path], *, skip_bad: bool = False, space: str = "") -> Inputs:
    """The turns of all `paths`; those without a space of their own get `space`. Writes nothing.

    Anything wrong is an InvalidInput naming the file (and line), except bad lines with `skip_bad`, which are listed in
    `problems`. An input without any turn is an error as well.
    """
    _check_paths(paths)
    lines: list[TurnLine] = []
    problems: list[str] = []
    notes: list[str] = []
    for path in paths:
        if str(path).endswith(locomo.AUDIT_SUFFIX) and Path(path).is_file():
            notes.append(f"{_shown(path)}: corrections of labels, not turns; passed over")
            continue
        turns, wrong = _read_path(path, skip_bad=skip_bad)
        lines += turns
        problems += wrong
    if not lines:
        raise InvalidInput(f"no turns in {', '.join(map(_shown, paths))}; {_KINDS}")
    return Inputs(lines=[_in_space(line, space) for line in lines], problems=problems, notes=notes)


def _in_space(line: TurnLine, space: str) -> TurnLine:
    return line if line.space or not space else msgspec.structs.replace(line, space=space)


def _shown(path: str | Path) -> str:
    """A path for messages and origins; the bytes of a name that is no UTF-8 are written as escapes."""
    return str(path).encode(errors="backslashreplace").decode()


def _check_paths(paths: Sequence[str | Path]) -> None:
    if not paths:
        raise InvalidInput(f"no input named; give files, or - for standard input. {_KINDS}")
    seen: set[Path] = set()
    for path in paths:
        place = Path("-") if str(path) == "-" else Path(path).absolute()
        if place in seen:
            raise InvalidInput(f"{_shown(path)} is given twice; name each input once")
        seen.add(place)


def _read_path(path: str | Path, *, skip_bad: bool) -> tuple[list[TurnLine], list[str]]:
    name = "standard input" if str(path) == "-" else _shown(path)
    with _opened(path) as stream:
        try:
            turns, problems = _read_stream(stream, name, skip_bad=skip_bad)
        except OSError as error:
            raise InvalidInput(f"{name}: cannot be read ({error.strerror})") from None
    if problems and not turns:
        raise InvalidInput(f"{name}: every line is bad, so none is left to record. The first: {problems[0]}")
    return turns, problems


@contextmanager
def _opened(path: str | Path) -> Iterator[ByteStream]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    place = Path(path)
    if place.is_dir():
        raise InvalidInput(f"{_shown(path)} is a directory; name the files in it, such as {_shown(place / '*.jsonl')}")
    try:
        stream = place.open("rb")
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {str(path)!r} (seen from {Path.cwd()})") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{str(path)!r} cannot be opened ({reason})") from None
    with stream:
        yield stream


def _read_stream(stream: ByteStream, name: str, *, skip_bad: bool) -> tuple[list[TurnLine], list[str]]:
    first = stream.readline(MAX_LINE + 1)
    if not first:
        raise InvalidInput(f"{name} is empty; {_KINDS}")
    _refuse_binary(first, name)
    start = first.removeprefix(_BOM).lstrip()
    if start.startswith(b"["):
        return _read_document(first.removeprefix(_BOM) + stream.read(), name), []
    if start.rstrip() == b"{":
        raise InvalidInput(f"{name} is one JSON object over many lines; write one object a line (jq -c . FILE). {_KINDS}")
    return read_jsonl(bounded_lines(stream, first), name, skip_bad=skip_bad)


def _refuse_binary(first: bytes, name: str) -> None:
    for magic, what in _PACKED.items():
        if first.startswith(magic):
            raise InvalidInput(f"{name} {what}. {_KINDS}")
    if first.startswith(_UTF16):
        raise InvalidInput(f"{name} is UTF-16 text; save it as UTF-8 (iconv -f UTF-16 -t UTF-8 FILE)")
    if b"\0" in first:
        raise InvalidInput(f"{name} is a binary file. {_KINDS}")


def _read_document(document: bytes, name: str) -> list[TurnLine]:
    """The turns of a document that is one JSON list."""
    try:
        entries = msgspec.json.decode(document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{name} begins like a JSON list and is not one ({error}). {_KINDS}") from None
    if not entries:
        raise InvalidInput(f"{name} is an empty list; {_KINDS}")
    keys = _common_keys(entries)
    if {"sample_id", "conversation"} <= keys:
        return locomo.read_turns(document, name)
    for key, what in _FOREIGN.items():
        if key in keys:
            raise InvalidInput(f"{name} {what}. {_KINDS}")
    raise InvalidInput(f"{name} is a JSON list of another kind. {_KINDS}")


def _common_keys(entries: list[Any]) -> set[str]:
    """The keys that all entries have; none where an entry is no object."""
    keys = [set(entry) if isinstance(entry, dict) else set[str]() for entry in entries]
    return set.intersection(*keys)
