"""What a request to forget names: the facts that "that I am vegetarian", "my address" or "f12" is about.

Deterministic and not greedy: an exact id wins; else a request that names a slot or a category ("my address") means all
that is in it; else each content word that occurs in values stands for the facts that the request describes best, of
which it must say half of the value, or nothing else. Stems are Snowball's (Porter2, snowballstem.org). Nothing is changed
here, and whether rows are held is the caller's choice of `rows`.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import snowballstemmer

from memory_actors.extraction.slots import find
from projections.facts import FactRow

VALUE_SHARE = 0.5
USER = "user"
"""The subject of facts about the stream's user."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_ID = re.compile(r"\bf\d{1,19}\b")
_NEGATED = re.compile(r"\b(?:don't|do not|doesn't|does not) (?:really )?(?:like|enjoy|love)\b", re.IGNORECASE)
_STEMMER = snowballstemmer.stemmer("english")
_EMPTY = frozenset(
    (
        "a an the that this these those it its of to in on at by for with from as and or but not no nor so if then than i me my"
        " mine myself you your yours we us our am is are was were be been being do does did don't have has had i'm i've i'd can"
        " could will would should shall may might must please forget remember delete remove erase withdraw drop about what where"
        " when who whom which why how everything anything all any fact facts memory know knows known said told tell say there"
        " here just also now ever really no-longer someone something thing things user"
    ).split()
)
_OTHERS = frozenset(
    "sister brother mother father mom mum dad wife husband son daughter partner boyfriend girlfriend friend boss colleague"
    " neighbour neighbor uncle aunt cousin grandmother grandfather he she they his her their".split()
)


def match_facts(text: str, rows: Sequence[FactRow]) -> list[FactRow]:
    """The facts among `rows` that `text` names, in the order of `rows`; empty if it names none."""
    named = set(_ID.findall(text.casefold()))
    exact = [row for row in rows if row.id in named]
    if exact or named:
        return exact
    wanted = _stems(_NEGATED.sub("dislike", text.replace("\u2019", "'")))
    rows = _of_subject(text, rows)
    return _of_slot(wanted, rows) or _of_value(wanted, rows)


def _of_subject(text: str, rows: Sequence[FactRow]) -> Sequence[FactRow]:
    """Only facts of the persons that the text names, else the user's own; none if it is about somebody's relative."""
    tokens = {word.casefold() for word in _WORD.findall(text)}
    named = [row for row in rows if tokens & {word.casefold() for word in _WORD.findall(row.subject)}]
    if named:
        return named
    own = [row for row in rows if row.subject.casefold() == USER]
    return [] if tokens & _OTHERS else own or rows


def _of_slot(wanted: frozenset[str], rows: Sequence[FactRow]) -> list[FactRow]:
    """Facts whose key, alias or category is what the request says, and nothing else."""
    wanted -= frozenset().union(*(_stems(row.subject) for row in rows)) if rows else frozenset()
    of_category = [row for row in rows if wanted and wanted == _stems(row.category)]
    return of_category or [row for row in rows if wanted in _names(row)]


def _of_value(wanted: frozenset[str], rows: Sequence[FactRow]) -> list[FactRow]:
    """For each word, the facts with that word in their value that the request describes best."""
    fitting = [(row, _stems(row.value)) for row in rows]
    fitting = [(row, value) for row, value in fitting if _is_meant(wanted, row, value)]
    chosen: set[str] = set()
    for word in sorted(wanted):
        hits = [(_fit(wanted, row, value), row.id) for row, value in fitting if word in value]
        best = max((fit for fit, _ in hits), default=None)
        chosen.update(fact for fit, fact in hits if fit == best)
    return [row for row in rows if row.id in chosen]


def _is_meant(wanted: frozenset[str], row: FactRow, value: frozenset[str]) -> bool:
    """Enough of the value was said, or nothing was said that the fact does not explain."""
    said = value & wanted
    return bool(said) and (len(said) >= VALUE_SHARE * len(value) or _fit(wanted, row, value)[0] == len(wanted))


def _fit(wanted: frozenset[str], row: FactRow, value: frozenset[str]) -> tuple[int, float]:
    """How many words of the request the fact explains, then how much of its value the request says."""
    described = value.union(*_names(row), _stems(row.subject))
    return len(wanted & described), len(value & wanted) / len(value)


def _names(row: FactRow) -> frozenset[frozenset[str]]:
    return _slot_names(row.category, row.key)


@lru_cache(maxsize=1024)
def _slot_names(category: str, key: str) -> frozenset[frozenset[str]]:
    slot = find(category, key)
    names: Iterable[str] = (key, *(slot.aliases if slot else ()))
    return frozenset(_stems(name) for name in names if _stems(name))


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    tokens = (word.casefold().removesuffix("'s") for word in _WORD.findall(text.replace("\u2019", "'")))
    return frozenset(_STEMMER.stemWord(token) for token in tokens if token not in _EMPTY)
