"""What an extractor read in one turn, before anything is decided about it."""

from typing import Literal

import msgspec

from events.vocabulary import Category


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed change of one slot. `decide` accepts or refuses it.

    subject     "user" for the stream's user, else the name of the speaker or person, as written
    act         assert: it is so; end: it stopped being so (at `valid_to`, or at the turn); retract: it never was so.
                For end and retract an empty `value` means whatever value the slot holds.
    changed     the speaker said that it changed ("I moved to ..."), so the old value ends whatever the confidences
    confidence, importance   0 to 1
    from_previous            the words of the turn before were needed to read it: an answer to a question
    valid_from, valid_to     microseconds since the epoch, half-open; None: not said
    """

    subject: str
    category: Category
    key: str
    value: str
    act: Literal["assert", "end", "retract"] = "assert"
    confidence: float
    importance: float
    many: bool = False
    changed: bool = False
    from_previous: bool = False
    valid_from: int | None = None
    valid_to: int | None = None
    quote: str | None = None
    tags: tuple[str, ...] = ()
