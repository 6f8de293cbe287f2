"""A question as the legs of a ranking see it: its terms, whom it names, the answer it wants, the times it names.

Read against what is visible: only someone who has spoken by then can be named. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from projections.index.cues import wanted
from projections.index.lexical import LexicalView
from projections.index.tokens import stem, stems, words

MOST_TERMS = 24
"""Terms of a long query that are searched: the rarest visible ones. Bounds the cost of a read."""

_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """`terms` are distinct and in the order of the question; `idfs` belong to them; `speakers` are numbers."""

    terms: tuple[str, ...]
    idfs: tuple[float, ...]
    speakers: frozenset[int]
    own: bool
    """It names nobody and speaks of "I": about what the user said."""
    wanted: int


def read_question(text: str, lexical: LexicalView, speakers: Mapping[int, str]) -> Asked:
    """Reads a question against the documents and speakers visible at a moment.

    Names of speakers are taken out of the terms, for they stand before every line of theirs, unless nothing else is left.
    """
    asked = words(text)
    named = {number: {stem(word) for word in words(name)} for number, name in speakers.items()}
    mentioned = frozenset(number for number, name in named.items() if name & {stem(word) for word in asked})
    names = frozenset[str]().union(*(named[number] for number in mentioned))
    every = tuple(dict.fromkeys(stems(asked)))
    weighed = _rarest(tuple(term for term in every if term not in names) or every, lexical)
    about = mentioned if len(mentioned) < len(named) else frozenset[int]()
    own = not mentioned and _FIRST_PERSON.search(text) is not None
    return Asked(tuple(weighed), tuple(weighed.values()), about, own, wanted(text))


def _rarest(terms: tuple[str, ...], lexical: LexicalView) -> dict[str, float]:
    """Idf by term, in the order given, of at most MOST_TERMS terms; those that occur nowhere go first."""
    idfs = {term: lexical.idf(term) for term in terms}
    if len(terms) <= MOST_TERMS:
        return idfs
    present = [term for term in terms if lexical.document_frequency(term)]
    kept = set(sorted(present, key=lambda term: (-idfs[term], term))[:MOST_TERMS])
    return {term: idfs[term] for term in terms if term in kept}
