"""What a pattern found, and the clause as patterns see it.

A `Rule` is a compiled pattern, anchored at the start of a clause, and a function from its match to findings; a table
of rules is tried in order and the first rule that finds something is the clause's reading in that table.
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from events.candidates import Candidate
from events.vocabulary import Category
from memory_actors.extraction.clauses import Clause
from memory_actors.extraction.dates import When
from memory_actors.extraction.slots import describe

Act = Literal["assert", "end", "retract"]

FROM_CONFIDENCE = 0.7
"""Of "I'm from X": weaker than "I live in X", because people are also from where they no longer live."""

I_AM = r"(?:i'm|i am|we're|we are)"
I_HAVE = r"(?:i've|i have|we've|we have)"
JUST = r"(?:(?:just|recently|only just|finally|now|currently|still|also|actually|presently|originally|really) )?"


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A clause without its phrase of time. `text` is what rules match; `raw` still has its circumstances."""

    text: str
    raw: str
    clause: Clause
    when: When
    now: bool = False

    @property
    def chat(self) -> bool:
        """Whether it was written without capitals."""
        return self.clause.chat


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate without its subject and its slot's properties."""

    category: Category
    key: str
    value: str
    act: Act = "assert"
    confidence: float = 0.95
    changed: bool = False
    valid_from: int | None = None
    valid_to: int | None = None
    tags: tuple[str, ...] = ()
    from_previous: bool = False

    def candidate(self, subject: str, quote: str) -> Candidate:
        """The proposal, with importance and arity from the list of slots."""
        slot = describe(self.category, self.key)
        return Candidate(
            subject=subject,
            category=self.category,
            key=self.key,
            value=self.value,
            act=self.act,
            confidence=self.confidence,
            importance=slot.importance,
            many=slot.many,
            from_previous=self.from_previous,
            changed=self.changed and self.act == "assert" and not slot.many,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            quote=quote,
            tags=self.tags,
        )


Build = Callable[[re.Match[str], Spoken], Iterable[Finding]]
Rule = tuple[re.Pattern[str], Build]


def rule(pattern: str, build: Build) -> Rule:
    """A rule whose pattern ignores letter case and starts where the clause does."""
    return re.compile(f"^{pattern}", re.IGNORECASE), build


def first(rules: Iterable[Rule], spoken: Spoken) -> list[Finding]:
    """The findings of the first rule that finds any."""
    for pattern, build in rules:
        match = pattern.match(spoken.text)
        found = list(build(match, spoken)) if match else []
        if found:
            return found
    return []


def stated(category: Category, key: str, value: str, spoken: Spoken, *, confidence: float = 0.95, changed: bool = False) -> list[Finding]:
    """An assertion, since when it was said to hold; of no value, none. `until` makes it an ending."""
    if not value:
        return []
    if spoken.when.relation == "until":
        return ended(category, key, value, spoken)
    return [
        Finding(
            category=category,
            key=key,
            value=value,
            confidence=confidence,
            changed=changed or spoken.clause.corrects or spoken.now,
            valid_from=spoken.when.instant,
        )
    ]


def ended(category: Category, key: str, value: str, spoken: Spoken) -> list[Finding]:
    """An ending, at the time that was said, if any."""
    if not value:
        return []
    until = None if spoken.when.relation in ("since", "for") else spoken.when.instant
    return [Finding(category=category, key=key, value=value, act="end", confidence=0.9, valid_to=until)]


def never(category: Category, key: str, value: str) -> list[Finding]:
    """A retraction."""
    return [Finding(category=category, key=key, value=value, act="retract", confidence=0.9)] if value else []
