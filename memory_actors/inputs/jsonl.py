"""JSON Lines: one turn a line. A whole file is read before any of it is recorded, so bad lines are told together.

No line is held that is longer than a turn can be; blank lines are skipped, and a byte order mark is tolerated.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from events.errors import InvalidInput
from memory_actors.inputs.line import TurnLine, parse_line

MAX_LINE = 16 << 20
"""Bytes of one line: 1 MiB of content takes up to 6 MiB when every byte is a \\u escape; meta likewise."""
MAX_PROBLEMS = 20
SHOWN = 5
_BOM = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    """Whatever bytes can be read from: an open file, a pipe, BytesIO."""

    def readline(self, size: int = -1, /) -> bytes:
        """The next line of at most `size` bytes, with its end; empty at the end of the stream."""

    def read(self, size: int = -1, /) -> bytes:
        """The next `size` bytes, or all that is left."""


def read_jsonl(lines: Iterable[bytes], name: str, *, skip_bad: bool = False) -> tuple[list[TurnLine], list[str]]:
    """The turns of `lines` and what was wrong with the lines left out (empty unless `skip_bad`).

    Without `skip_bad` any bad line is an InvalidInput that lists the first few of up to 20. `name` stands for the file
    in messages. Lines from a stream of unknown kind should come through `bounded_lines`.
    """
    turns: list[TurnLine] = []
    problems: list[str] = []
    for number, raw in enumerate(lines, start=1):
        text = (raw.removeprefix(_BOM) if number == 1 else raw).strip()
        if not text:
            continue
        try:
            turns.append(_parse(text, name, number))
        except InvalidInput as problem:
            problems.append(str(problem))
        if len(problems) == MAX_PROBLEMS and not skip_bad:
            break
    if problems and not skip_bad:
        raise InvalidInput(_listing(problems, name))
    return turns, problems


def bounded_lines(stream: ByteStream, first: bytes = b"") -> Iterator[bytes]:
    """The lines of a stream, each cut at MAX_LINE + 1 bytes. `first` is what was already read of the first line."""
    line = first or stream.readline(MAX_LINE + 1)
    while line:
        yield line
        _drain(line, stream)
        line = stream.readline(MAX_LINE + 1)


def _drain(line: bytes, stream: ByteStream) -> None:
    """Read past the rest of a line that was cut, holding little of it at a time."""
    while len(line) > MAX_LINE and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE + 1)


def _parse(text: bytes, name: str, number: int) -> TurnLine:
    if len(text) > MAX_LINE:
        raise InvalidInput(f"{name}:{number}: longer than {MAX_LINE >> 20} MiB; a turn's content is at most 1 MiB")
    return parse_line(text, origin=name, number=number)


def _listing(problems: list[str], name: str) -> str:
    count = f"at least {MAX_PROBLEMS}" if len(problems) == MAX_PROBLEMS else str(len(problems))
    noun = "line" if len(problems) == 1 else "lines"
    shown = [f"  {problem}" for problem in problems[:SHOWN]]
    more = ["  ..."] if len(problems) > SHOWN else []
    head = f"{count} bad {noun} in {name}; nothing was recorded"
    return "\n".join([head, *shown, *more, "Mend them, or leave bad lines out with --skip-bad."])
