"""Facts that need the words before them: short answers to a question, and "actually it's ...".

A bare "Lisbon" is a fact only after "where do you live?". Confidence is .8: the question was somebody else's.
"""

import re

from events.vocabulary import Category
from memory_actors.extraction import values
from memory_actors.extraction.clauses import Clause, plain
from memory_actors.extraction.findings import Finding
from memory_actors.extraction.words import LANGUAGES

ANSWER_CHARACTERS = 80

_ASKED: tuple[tuple[str, Category, str], ...] = (
    (
        r"\b(?:what's|what is|may i (?:have|know|ask)|can i (?:have|get)) your name\b|\bwhat should i call you\b",
        "identity",
        "name",
    ),
    (r"\byour full name\b", "identity", "full_name"),
    (r"\byour pronouns\b", "identity", "pronouns"),
    (
        r"\bwhere (?:do you live|are you (?:based|living|located))|\b(?:what|which) city (?:do you live|are you)",
        "identity",
        "home_city",
    ),
    (r"\byour time ?zone\b", "identity", "timezone"),
    (r"\bwhere do you work\b|\bwho do you work for\b|\byour employer\b", "identity", "employer"),
    (
        r"\bwhat do you do (?:for (?:a living|work)|\?)|\bwhat's your (?:job|profession|occupation)\b",
        "identity",
        "job",
    ),
    (r"\b(?:which|what) languages? do you speak\b|\byour native language\b", "identity", "language"),
    (
        r"\bany (?:food )?allergies\b|\bwhat are you allergic to\b|\bare you allergic to anything\b",
        "constraint",
        "allergy",
    ),
)
_QUESTIONS = tuple((re.compile(pattern, re.IGNORECASE), category, key) for pattern, category, key in _ASKED)
_LEAD = re.compile(r"^(?:(?:yes|yeah|yep|sure|it's|it is|its|that's|that would be|in|at|as|an?|just|oh|well|to)[,:]? )+", re.IGNORECASE)
_ITS = re.compile(r"^(?:it's|it is|its|that's|make that|i meant|i mean) (?:actually |now )?(?P<v>[^,;]+)", re.IGNORECASE)
_NOT_AN_ANSWER = re.compile(
    r"^(?:no|none|nope|not|nothing|why|what|who|where|how|i|you|he|she|they|we|my|the|maybe|guess|secret|private|idk"
    r"|dunno|sorry"
    r"|later|never|n/a|pass|skip|thanks|ok|okay|yes|yeah|good|fine)\b",
    re.IGNORECASE,
)


def answered(text: str, previous: str) -> list[Finding]:
    """What a short `text` says if `previous` ended in a question about a slot."""
    answer = _LEAD.sub("", " ".join(plain(text[: ANSWER_CHARACTERS + 1]).split()))
    question = " ".join(plain(previous[-400:]).split())
    if len(text) > ANSWER_CHARACTERS or "?" in answer or not question.endswith("?") or _NOT_AN_ANSWER.match(answer):
        return []
    asked = next(((category, key) for pattern, category, key in _QUESTIONS if pattern.search(question)), None)
    return _filled(*asked, answer) if asked else []


def _filled(category: Category, key: str, answer: str) -> list[Finding]:
    chat = answer == answer.lower()
    return [
        Finding(category=category, key=key, value=value, confidence=0.8, from_previous=True)
        for value in _values(key, answer.rstrip(".! "), chat=chat)
    ]


def _values(key: str, answer: str, *, chat: bool) -> list[str]:
    """At most a few values that fit the slot."""
    one = ""
    if key in ("name", "full_name", "nickname"):
        one = values.name(answer, chat=chat, whole=True)
    elif key in ("home_city", "hometown"):
        one = values.place(answer, chat=chat)
    elif key == "employer":
        one = values.organisation(answer, chat=chat)
    elif key == "job":
        one = values.occupation(answer)
    elif key == "allergy":
        return values.things(answer, most=3)
    elif key == "language":
        return [item for item in values.things(answer) if item.lower() in LANGUAGES]
    elif re.fullmatch(r"[\w+:/ -]{2,30}", answer):
        one = values.trim(answer) if "/" in answer or key == "timezone" else ""
    return [one] if one else []


def corrected(clause: Clause, earlier: list[Finding]) -> list[Finding]:
    """As in "Actually it's Anna": the slot that was last filled in this turn, with another value."""
    match = _ITS.match(clause.text)
    slot = earlier[-1] if earlier else None
    if not (match and slot and clause.corrects and slot.act == "assert"):
        return []
    found = _values(slot.key, match["v"].strip(), chat=clause.chat)
    return [
        Finding(category=slot.category, key=slot.key, value=value, confidence=max(slot.confidence, 0.9), changed=True)
        for value in found[:1]
    ]
