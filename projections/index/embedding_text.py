"""What is embedded for a turn.

A turn is embedded by itself (kind `turn`), a long one in pieces: the model averages what it reads, and reads no further
than 256 tokens. Only a short one, of up to 20 tokens, comes with at most the two turns before it in the same sitting (kind
`past`), so that "Yes, in Lisbon" is found by what it answers. That is one vector for most turns. A second one, of every
turn with its past, brought nothing on LoCoMo that the ranking's sums over neighbours had not, and on chats with an
assistant, whose answers are long, it drowned the user's words.

What follows a turn is never embedded with it (it does not exist yet); it is combined at query time, from visible turns.
Pure: the tokenizer comes as a callable that counts the tokens of a text. Must not know of models, vectors or events.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from events.commands import PAST_TURNS

TURN: Final = "turn"
PAST: Final = "past"
KINDS: Final = frozenset({TURN, PAST})

PIECE_TOKENS = 100
"""Most tokens of one piece, the speaker's name not counted."""

SHORT_TOKENS = 20
"""Most tokens of a turn that is embedded with its past."""

PAST_HEAD_TOKENS = 60
"""Most tokens taken from each earlier turn: its beginning says what it is about."""

PAUSE = 3_600_000_000
"""Microseconds between two turns of a conversation that part sittings: one hour."""

CountTokens = Callable[[str], int]

_BREAK = re.compile(r"(?<=[.!?…。])\s+|\n+|\s(?=\[image: )")


class Line(NamedTuple):
    """One turn as it is read: who spoke (the role where there is no name), the words, and when, in microseconds."""

    speaker: str
    content: str
    occurred_at: int = 0


def embedding_texts(turn: Line, past: Sequence[Line], count_tokens: CountTokens) -> list[tuple[str, str]]:
    """The (kind, text) pairs to embed for a turn, in the order in which their vectors are recorded; at least one.

    `past` holds the turns before it in the same conversation, oldest first; the last `PAST_TURNS` count, back to a pause.
    """
    earlier = _sitting(turn, past[-PAST_TURNS:])
    if earlier and count_tokens(turn.content) <= SHORT_TOKENS:
        heads = [_line(line.speaker, _head(line.content, count_tokens)) for line in earlier]
        return [(PAST, "\n".join([*heads, _line(turn.speaker, turn.content)]))]
    pieces = split_text(turn.content, PIECE_TOKENS, count_tokens) or [""]
    return [(TURN, _line(turn.speaker, piece)) for piece in pieces]


def split_text(text: str, limit: int, count_tokens: CountTokens) -> list[str]:
    """`text` in pieces of at most about `limit` tokens, cut between sentences where possible, else between words.

    Tokens are counted by sentence and added up. A single word above the limit is a piece of its own (the model truncates
    it). Text of spaces gives no piece.
    """
    if count_tokens(text) <= limit:
        return [text.strip()] if text.strip() else []
    pieces: list[str] = []
    room = 0
    for part in _parts(text, limit, count_tokens):
        tokens = count_tokens(part)
        if pieces and tokens <= room:
            pieces[-1] += " " + part
            room -= tokens
        else:
            pieces.append(part)
            room = limit - tokens
    return pieces


def _sitting(turn: Line, past: Sequence[Line]) -> list[Line]:
    """Those of the past turns that no pause parts from the turn."""
    near: list[Line] = []
    later = turn
    for line in reversed(past):
        if abs(later.occurred_at - line.occurred_at) > PAUSE:
            break
        near.insert(0, line)
        later = line
    return near


def _parts(text: str, limit: int, count_tokens: CountTokens) -> Iterator[str]:
    """Sentences; those above the limit as runs of words within it."""
    for sentence in _BREAK.split(text):
        rest = sentence.split()
        while rest:
            run = _fitting(rest, limit, count_tokens)
            yield " ".join(rest[:run])
            rest = rest[run:]


def _fitting(words: Sequence[str], limit: int, count_tokens: CountTokens) -> int:
    """How many of the first words fit, by bisection; at least one."""
    if len(words) <= limit and count_tokens(" ".join(words)) <= limit:
        return len(words)
    low, high = 1, min(len(words), limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(" ".join(words[:middle])) <= limit else (low, middle - 1)
    return low


def _head(content: str, count_tokens: CountTokens) -> str:
    return (split_text(content, PAST_HEAD_TOKENS, count_tokens) or [""])[0]


def _line(speaker: str, words: str) -> str:
    return f"{speaker}: {words}".strip()
