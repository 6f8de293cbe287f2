"""What kind of answer a text asks for, and what kind of answer a turn could hold. English; pure.

Surface cues only: a question that begins with "when" is answered where a time is named. A cue never excludes a turn.
"""

import re
from collections.abc import Sequence
from typing import Final

QUESTION: Final = 1
TIME: Final = 2
NUMBER: Final = 4
NAME: Final = 8

_TIME_WORDS = frozenset(
    (
        "yesterday today tonight tomorrow ago last next weekend week month year recently soon since "
        "monday tuesday wednesday thursday friday saturday sunday "
        "january february march april may june july august september october november december"
    ).split()
)
_NUMBER_WORDS = frozenset("one two three four five six seven eight nine ten couple few several once twice half dozen".split())
_NAME = re.compile(r"(?<=[^\W\d_A-Z, ] |, )(?!I\b)[A-Z][^\W\d_]+|(?<=[^\W\d_], )(?!I\b)[A-Z][^\W\d_]+")
_IMAGE = re.compile(r"\s*\[image: .*\Z", re.DOTALL)

_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|how (?:long|recently))\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|old|far)\b", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:who|whose|whom|where|which|what (?:city|country|place|name|book|movie|game|song|band|state|company|team|type|kind))\b",
    re.IGNORECASE,
)


def marks(content: str, words: Sequence[str]) -> int:
    """Which of QUESTION (it ends by asking), TIME, NUMBER and NAME (a capital inside a sentence) a turn bears.

    `words` are the content's (`projections.index.tokens.words`).
    """
    asks = _IMAGE.sub("", content).rstrip().endswith("?")
    numbers = [word for word in words if word.isdecimal()]
    timed = not _TIME_WORDS.isdisjoint(words) or any(len(word) == 4 and word.startswith(("19", "20")) for word in numbers)
    counted = bool(numbers) or not _NUMBER_WORDS.isdisjoint(words)
    return QUESTION * asks | TIME * timed | NUMBER * counted | NAME * bool(_NAME.search(content))


def wanted(question: str) -> int:
    """Which of TIME, NUMBER and NAME an answer to the question would likely bear."""
    return TIME * bool(_WHEN.search(question)) | NUMBER * bool(_HOW_MANY.search(question)) | NAME * bool(_WHICH.search(question))
