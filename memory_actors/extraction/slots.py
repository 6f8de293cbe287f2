"""The known slots of the fact table: one list, read by the extractors, by `forget` and by whoever renders facts.

A slot is `(subject, category, key)`; what is listed here is its category and key, whether it holds one value or
many, how much it matters, and what people call it. A slot that is not listed is still a slot: `describe` gives it
the importance of its category and one value. This module knows nothing of texts or of the log.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from events.vocabulary import Category

IMPORTANCE: Mapping[Category, float] = MappingProxyType(
    {
        "identity": 0.8,
        "preference": 0.6,
        "constraint": 0.6,
        "instruction": 0.8,
        "fact": 0.5,
        "decision": 0.7,
        "entity": 0.5,
        "procedure": 0.5,
        "goal": 0.8,
    }
)
"""Default importance, 0 to 1: seed 3's table of memory types, with identity and instruction at seed 1's .8."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a slot before anybody fills it. `aliases` are lower-case phrases, singular."""

    category: Category
    key: str
    many: bool = False
    importance: float
    aliases: tuple[str, ...] = ()


def _slot(category: Category, key: str, *aliases: str, many: bool = False) -> Slot:
    return Slot(category=category, key=key, many=many, importance=IMPORTANCE[category], aliases=aliases)


SLOTS: tuple[Slot, ...] = (
    _slot("identity", "name", "first name", "called", "what i am called"),
    _slot("identity", "full_name", "full name", "complete name", "legal name"),
    _slot("identity", "nickname", "nick", "goes by", "call me"),
    _slot("identity", "pronouns", "pronoun", "gender pronoun"),
    _slot("identity", "home_city", "city", "location", "lives in", "address", "home", "town", "where i live"),
    _slot("identity", "hometown", "home town", "birthplace", "grew up in", "born in", "comes from", "origin"),
    _slot("identity", "timezone", "time zone", "utc offset"),
    _slot("identity", "language", "spoken language", "native language", "mother tongue", "speaks", many=True),
    _slot("identity", "employer", "company", "workplace", "works at", "works for", "where i work"),
    _slot("identity", "job", "occupation", "profession", "job title", "role", "position", "works as"),
    _slot("preference", "likes", "like", "love", "enjoy", "favourite", "favorite", "prefer", "hobby", many=True),
    _slot("preference", "dislikes", "dislike", "hate", "least favourite", "least favorite", many=True),
    _slot("preference", "language", "programming language", "coding language", "preferred language"),
    _slot("preference", "coding_style", "code style", "coding style", "formatting"),
    _slot("constraint", "allergy", "allergic to", "allergen", "intolerance", many=True),
    _slot("constraint", "diet", "dietary restriction", "eats", "food restriction"),
    _slot("instruction", "standing", "instruction", "rule", "standing instruction", "standing rule", many=True),
)
"""Every slot known by name. Keys are unique within a category, not between categories."""

_BY_PLACE: Mapping[tuple[str, str], Slot] = MappingProxyType({(slot.category, slot.key): slot for slot in SLOTS})


def _names(slot: Slot) -> tuple[str, ...]:
    return (slot.key, slot.key.replace("_", " "), *slot.aliases)


def find(category: str, key: str) -> Slot | None:
    """The listed slot of that category and key, or None."""
    return _BY_PLACE.get((category, key))


def describe(category: Category, key: str) -> Slot:
    """The listed slot, or for a key nobody listed a one-valued one with its category's importance."""
    return _BY_PLACE.get((category, key)) or _slot(category, key)


def named(text: str) -> tuple[Slot, ...]:
    """The slots whose key or alias is exactly `text`, in the order of the list; letter case does not matter."""
    wanted = " ".join(text.casefold().split())
    return tuple(slot for slot in SLOTS if wanted in _names(slot))
