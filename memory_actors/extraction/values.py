"""What may stand as a value: names, places, organisations, occupations and things, cut out of the rest of a clause.

Each function takes the words that follow a pattern ("Lisbon with my two cats") and gives the value in the words of
the speaker, trimmed of determiners and punctuation, or "" if it is none. In `chat` (a message without capitals) a
proper name cannot be told by its capital, so fewer words are let through. At most `VALUE_CHARACTERS` characters.
"""

import re

from memory_actors.extraction import words

VALUE_CHARACTERS = 80

_TRIM = " \t.,;:!?\"'()[]{}*_-\u25a1"
_LINKING = frozenset("de la le & + of the on upon sur am der do du del al da los las el and & van von den ter".split())
_PLACE_TAIL = re.compile(
    r"(?: (?:with|and|or|for|near|by|because|cause|at|on|as|from|to|but|in|where|which|who|since|right|these|during"
    r"|after|before"
    r"|until|again|permanently|full|this|last|next|every|so|when|while|if|currently|though|tho|too|also|just|already"
    r"|all|now"
    r"|thanks|btw|lol|is|are|was|that)\b| -|[;:(]| \d).*$",
    re.IGNORECASE,
)
_ORG_TAIL = re.compile(
    r"(?: (?:as|in|on|with|for|since|because|cause|but|where|which|who|now|from|remotely|full|part|right|doing|during"
    r"|until|out"
    r"|near|by|so|when|while|if|currently|though|tho|too|also|just|already|again|these|this|last|next|at|to|is|are|was"
    r"|that|btw|lol|thanks)\b| -|[,;:(]).*$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r" (?:because|cause|cuz|when|while|although|though|tho|whereas|which|who|where|if|unless|so|as|after|before|thanks"
    r"|and then"
    r"|but|since|especially|more than|over|instead of|rather than|a lot|so much|very much|too|also|most of all|the most"
    r"|best"
    r"|better|even|lol|haha|btw|by the way|please|tbh|these days|now|nowadays|right now|at the moment|every|everyday"
    r"|anymore"
    r"|any more|any longer|on weekends|on the weekends?|at weekends|on \w+days|in (?:the |my )?(?:mornings?|evenings?"
    r"|afternoons?"
    r"|summers?|winters?|free time|spare time)|at (?:night|home|all|work)|for|with (?:my|the|a|an|friends|our)"
    r"|from time"
    r"|in general|in particular|whenever|to (?:be|say)|than|actually|though)\b.*$",
    re.IGNORECASE,
)
_LIST = re.compile(r",? (?:and|or|&) |, ?| \+ ")
_DETERMINERS = re.compile(
    r"^(?:(?:an? (?:mix|combination|variety|range|lot) of|actually|definitely|probably|certainly|all kinds of|all sorts of|any kind of|lots of|a lot of|some|any|a|an|all|most|many) )+",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r" (?:and|or|&|\+) |\w, ?\w[\w ]*, ?\w")
_CUT_SHORT = re.compile(r"\w+ing\b.* (?:a|an|the) \w+$", re.IGNORECASE)
_INSIDE = re.compile(r"\w (?:with|about|from|of|in|on|between) ", re.IGNORECASE)
_DANGLING = re.compile(r" (?:to|in|of|at|on|with|by|from|into|about|a|an|the|and|or|designed|made|based|used|meant)$", re.IGNORECASE)
_INITIAL = re.compile(r"\b[A-Z]\.[A-Z]\.?$")
_AGE = re.compile(r"^\d{1,3}[- ]years?[- ]old ", re.IGNORECASE)
_POSSESSED = re.compile(r"\w's \w")


def trim(text: str, most: int = VALUE_CHARACTERS) -> str:
    """Without outer punctuation, at most `most` characters, cut between words."""
    value = text.strip(_TRIM)
    if len(value) <= most:
        return value
    return value[: most + 1].rpartition(" ")[0].strip(_TRIM) or value[:most]


def cut(text: str) -> str:
    """Without the trailing clause or circumstance."""
    return _TAIL.sub("", text.partition(" - ")[0])


def name(text: str, *, chat: bool = False, most: int = 3, whole: bool = False) -> str:
    """A person's name: capitalised words, or in chat one word that ends the clause. `whole`: nothing may follow."""
    head = re.split(
        r"[,;:(]| (?:and|but|from|because|btw|by|since|so|though|lol|if|when|in|here|or|-|these|now|for|i|i'm|i've|my|I|I'm|I've|My)\b",
        text,
    )[0]
    tokens = head.split()
    if not tokens or (whole and head.strip(_TRIM) != text.strip(_TRIM)):
        return ""
    if chat:
        alone = len(tokens) == 1 and tokens[0].lower().strip(_TRIM) not in words.NOT_CALLED | words.NOT_NAMES
        return trim(tokens[0]) if alone and _is_word(tokens[0]) else ""
    if len(tokens) > most or not all(_is_capitalised(token) for token in tokens):
        return ""
    unlikely = tokens[0].lower().strip(_TRIM) in words.NOT_CALLED or _POSSESSED.search(text)
    return "" if unlikely else trim(head)


def _is_word(token: str) -> bool:
    return token.strip(_TRIM).replace("-", "").replace("'", "").isalpha()


def _is_capitalised(token: str) -> bool:
    bare = token.strip(_TRIM)
    return bool(bare) and bare[0].isupper() and _is_word(bare.replace(".", ""))


def place(text: str, *, chat: bool = False) -> str:
    """A place, with its region if that follows ("Buenos Aires, Argentina")."""
    head, _, rest = _PLACE_TAIL.sub("", text).partition(",")
    tokens = _without_the(head.split(), words.NOT_PLACES)
    if not tokens or not _is_proper(tokens, words.NOT_PLACES, chat=chat, most=3):
        return ""
    value, region = trim(" ".join(tokens)), rest.strip(_TRIM)
    if region and not chat and len(region.split()) <= 2 and all(map(_is_capitalised, region.split())):
        return trim(f"{value}, {region}")
    return value


def organisation(text: str, *, chat: bool = False) -> str:
    """An organisation's proper name; "a bank" and "Google's office" are none."""
    if _POSSESSED.search(_ORG_TAIL.sub("", text)):
        return ""
    head = re.split(r" (?:and|&) (?![A-Z])", _ORG_TAIL.sub("", text))[0]
    tokens = _without_the(head.split(), words.NOT_ORGS)
    return trim(" ".join(tokens)) if tokens and _is_proper(tokens, words.NOT_ORGS, chat=chat, most=3) else ""


def _without_the(tokens: list[str], excluded: frozenset[str]) -> list[str]:
    """A lower-case article goes if a proper name follows; "the back row" stays, to be refused."""
    if len(tokens) > 1 and tokens[0] == "the" and _is_capitalised(tokens[1]) and tokens[1].lower() not in excluded:
        return tokens[1:]
    return tokens


def _is_proper(tokens: list[str], excluded: frozenset[str], *, chat: bool, most: int) -> bool:
    first = tokens[0].lower().strip(_TRIM)
    if first in excluded or (first == "the" and tokens[0] != "The") or len(tokens) > 6:
        return False
    if chat and not tokens[0][0].isupper():
        return len(tokens) <= most and all(_is_word(token) and token not in excluded for token in tokens)
    proper = [token for token in tokens if token.lower() not in _LINKING]
    return tokens[0][0].isupper() and all(token[0].isupper() or token[0].isdigit() for token in proper)


def occupation(text: str, *, sure: bool = False) -> str:
    """What somebody works as. Unless `sure`, its last word must be a known occupation and its words be neutral."""
    head = re.split(
        r"[,;:(]| (?:at|for|in|with|from|by|and|but|who|because|based|on|since|so|here|now|working|living|to|when|while|as|btw"
        r"|that|too"
        r"|these|of(?! \w+$)|myself|-)(?: |$)",
        text,
    )[0]
    head = head if sure else head.partition(" of ")[0]
    tokens = _AGE.sub("", head).split()
    lower = [token.lower().strip(_TRIM) for token in tokens]
    if not tokens or len(tokens) > 5 or _POSSESSED.search(head):
        return ""
    known = lower[-1] in words.OCCUPATIONS and not words.NOT_QUALIFIERS & set(lower)
    return trim(" ".join(tokens)) if sure or known else ""


def things(text: str, *, most: int = 6) -> list[str]:
    """The items of an enumeration of what is liked, hated or not tolerated; empty if the first is none."""
    enumeration = cut(text)
    items = _LIST.split(enumeration)
    if any(item.rpartition(" ")[2].lower() in words.ADJECTIVES for item in items[:-1]):
        items = [enumeration]
    elif not _CONJUNCTION.search(enumeration):
        if len(items) > 1 and (" " in items[1] or _CUT_SHORT.search(items[0])):
            return []
        items = items[:1]
    items = items[: _coordinated(items)]
    found = [_thing(item, most) for item in items]
    return [item for item in found if item] if found[0] else []


def _coordinated(items: list[str]) -> int:
    """How many items stand side by side: in "books with maps and riddles" the last belongs to the first, perhaps."""
    head = items[0].split()
    if _INSIDE.search(items[0]):
        return 1
    if len(head) > 1 and head[0].lower().endswith("ing"):
        return next((place for place, item in enumerate(items) if not item.split()[:1] or "ing" not in item.split()[0]), len(items))
    return len(items)


def _thing(text: str, most: int) -> str:
    bare = _DETERMINERS.sub("", text.strip(_TRIM))
    bare = re.sub(r"^to (?!be |think |say |know |see |have |hear |believe |imagine |go over )", "", bare, flags=re.IGNORECASE)
    tokens = bare.split()
    lower = {token.lower().strip(_TRIM) for token in tokens}
    if (
        not tokens
        or len(tokens) > most
        or lower & (words.NOT_THINGS | words.DISCOURSE)
        or "\u25a1" in bare
        or _DANGLING.search(bare)
        or _INITIAL.search(bare)
        or bare.lower() in words.VAGUE
    ):
        return ""
    if tokens[0] in ("the", "to", "to.") or (tokens[0] == "The" and len(tokens) == 1):
        return ""
    return trim(re.sub(r"^The (?=[a-z])", "", bare))
