"""Extraction of facts from English turns by patterns: precision first, no model, no network.

`extract` is a pure function of its arguments. It reads a turn sentence by sentence and clause by clause, passes over
what is asked, supposed, quoted, negated, temporary or said of others, and gives candidates, which are only proposals:
`events.deciding.fact_slots` decides. Work is linear in the text and bounded by the limits of `clauses`.
"""

import re
from collections.abc import Iterator

import msgspec

from events.candidates import Candidate
from memory_actors.extraction import identity_patterns, need_patterns, taste_patterns, work_patterns
from memory_actors.extraction.answers import answered, corrected
from memory_actors.extraction.clauses import QUOTE_CHARACTERS, Clause, Sentence, clauses, plain, sentences, states
from memory_actors.extraction.dates import NEVER_SAID, split_time
from memory_actors.extraction.findings import FROM_CONFIDENCE, Finding, Spoken, first
from memory_actors.extraction.instruction_patterns import instruction

TABLES = (need_patterns.RULES, work_patterns.RULES, taste_patterns.RULES, identity_patterns.RULES)
CONTINUATIONS = 8
DESCRIPTION_WORDS = 6

_I_AM = re.compile(r"^(?:i'm|i am)\b", re.IGNORECASE)
_TASTE = re.compile(r"^i (?:\w+ )?(?:love|like|enjoy|adore)\b", re.IGNORECASE)
_SWITCHES = re.compile(r"^i(?:'ve| have)? (?:just |recently )?(?:left|quit) ", re.IGNORECASE)
_I = re.compile(r"^(?:i|i'm|i've|we|we're)\b", re.IGNORECASE)
_NEXT_IS = (
    r"(?:an? (?!bit|few|lot)|from [A-Z]|originally from|based in|living in|working (?:at|as|for)|allergic to"
    r"|vegetarian\b|vegan\b"
    r"|pescatarian\b|lactose|gluten|fluent in|a native|not a |really into|into |very allergic)"
)
_NEXT_DOES = (
    r"(?:live in|work (?:at|for|as)|(?:really |absolutely )?(?:love|like|enjoy|hate|dislike|prefer|adore) |speak "
    r"|moved to|joined "
    r"|used to|no longer|don't |can't |grew up|was born|started at|have an? \w+ allergy|go by|use (?:he|she|they)/|am )"
)
_CONTINUES = re.compile(rf"(?:,? (?:and|but)(?: (?:also|now|then))? |, ?)(?=(?P<is>{_NEXT_IS})|(?P<does>{_NEXT_DOES}))", re.IGNORECASE)
_NOW = re.compile(r",? (?:right now|now|at the moment|currently|these days|nowadays|instead)$", re.IGNORECASE)
_PASSING = re.compile(
    r",? (?:this (?:week|month|weekend|morning|afternoon|evening|semester)|today|tonight|temporarily|for now"
    r"|for the moment"
    r"|until (?:mon|tues|wednes|thurs|fri|satur|sun)day|for (?:a|the|one|two|three|a few|a couple of) (?:days?|weeks?"
    r"|weekend|conference"
    r"|meeting|visit|holidays?))$",
    re.IGNORECASE,
)
_AHEAD = re.compile(r"^(?:i'm|i am|we're|we are) (?:moving|relocating|starting|joining)|^i(?:'ll)? (?:start|join)\b", re.IGNORECASE)
_WHY = re.compile(
    r",? (?:because|cause|cuz|since (?:i|my|we|it|the)|when (?:i|my|we|it|the)|while|although|though|so that|so (?:i|we"
    r"|my|it)"
    r"|if|unless|which|who|where|in case|thanks|btw|by the way|lol|haha|ok|okay)\b.*$",
    re.IGNORECASE,
)


def extract(text: str, *, subject: str, occurred_at: int, previous: str | None = None) -> list[Candidate]:
    """What the speaker of `text` says about themselves, in the order of the words.

    subject      goes into the candidates: "user", or the name of the speaker
    occurred_at  microseconds since the epoch: what "last year" is relative to
    previous     the turn before, if it may hold the question that this one answers
    """
    found: list[tuple[Finding, str]] = []
    for sentence in sentences(text):
        found.extend((one, sentence.quote) for one in _findings(sentence, occurred_at, [one for one, _ in found]))
    if not found and previous:
        found.extend((one, " ".join(plain(text).split())[:QUOTE_CHARACTERS]) for one in answered(text, previous))
    return [one.candidate(subject, quote) for one, quote in _settled(found)]


def _findings(sentence: Sentence, occurred_at: int, earlier: list[Finding]) -> Iterator[Finding]:
    standing = instruction(sentence.text) if states(sentence) else []
    if standing:
        yield from standing
        return
    for clause in clauses(sentence):
        yield from corrected(clause, earlier) or _clause_findings(clause, occurred_at)


def _clause_findings(clause: Clause, occurred_at: int) -> Iterator[Finding]:
    for part in _parts(clause):
        spoken = _spoken(part, occurred_at)
        yield from next((found for table in TABLES if spoken and (found := first(table, spoken))), [])


def _parts(clause: Clause) -> Iterator[Clause]:
    """The predicates of an I-clause, each with its subject: "I'm 34, live in Oslo and love skiing" has three."""
    if not _I.match(clause.text) or _SWITCHES.match(clause.text):
        yield clause
        return
    begin, lead = 0, ""
    for found in list(_CONTINUES.finditer(clause.text))[:CONTINUATIONS]:
        before = clause.text[begin : found.start()]
        if (found["is"] and not _describes(clause.text, before)) or (found["does"] and _lists(clause.text, found)):
            continue
        yield _part(clause, lead + before)
        begin, lead = found.end(), "I'm " if found["is"] else "I "
    yield _part(clause, lead + clause.text[begin:])


def _describes(text: str, before: str) -> bool:
    """Whether a noun phrase goes on describing the speaker: "I'm Ana, a nurse", but not "I'm hiring Ana, a nurse"."""
    return bool(_I_AM.match(text)) and len(before.split()) <= DESCRIPTION_WORDS


def _lists(text: str, found: re.Match[str]) -> bool:
    """Whether "like" or "love" is no verb there: "things, like a walk", "I love the hope and love theme"."""
    if found["does"].lower().strip() not in ("like", "love"):
        return False
    return not found[0].lower().strip(", ").startswith(("and", "but")) or bool(_TASTE.match(text))


def _part(clause: Clause, text: str) -> Clause:
    return msgspec.structs.replace(clause, text=text.strip(" ,"))


def _spoken(clause: Clause, occurred_at: int) -> Spoken | None:
    """The clause with its time taken off; None if what it says is only for the moment."""
    if _PASSING.search(clause.text):
        return None
    text = _WHY.sub("", clause.text)
    now = bool(_NOW.search(text))
    text = text if re.search(r"(?:n't|not|no longer) .* now$", text) else _NOW.sub("", text)
    text, when = split_time(text, occurred_at, ahead=bool(_AHEAD.match(text)))
    if when == NEVER_SAID:
        text, when = split_time(_NOW.sub("", text), occurred_at)
    return Spoken(text=text.strip(" ,.-"), raw=clause.text, clause=clause, when=when, now=now)


def _settled(found: list[tuple[Finding, str]]) -> list[tuple[Finding, str]]:
    """Where both are said, "I'm from X" is where somebody comes from and "I live in Y" where their home is."""
    surer = any(_is_home(one) and one.confidence > FROM_CONFIDENCE for one, _ in found)
    if not surer:
        return found
    return [
        (
            msgspec.structs.replace(one, key="hometown") if _is_home(one) and one.confidence <= FROM_CONFIDENCE else one,
            quote,
        )
        for one, quote in found
    ]


def _is_home(one: Finding) -> bool:
    return one.key == "home_city" and one.act == "assert"
