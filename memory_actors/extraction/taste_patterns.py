"""How people say what they like, what they dislike, and what they prefer to write programs in."""

import re

from memory_actors.extraction import values, words
from memory_actors.extraction.findings import I_AM, Finding, Rule, Spoken, rule

_VERY = (
    r"(?:(?:really|absolutely|just|also|totally|truly|genuinely|quite|particularly|especially|do|still|always|simply"
    r"|kinda"
    r"|generally|usually|so) )*"
)
_FAN = r"(?:a |an? (?:big|huge|massive|avid|great|real|die-hard) )?"
_CODE = re.compile(r"(?:programming|coding|scripting)? ?language", re.IGNORECASE)


def _items(match: re.Match[str], key: str, confidence: float) -> list[Finding]:
    found = values.things(match["v"])
    return [Finding(category="preference", key=key, value=item, confidence=confidence) for item in found]


def _likes(match: re.Match[str], _: Spoken) -> list[Finding]:
    return _items(match, "likes", 0.9)


def _dislikes(match: re.Match[str], _: Spoken) -> list[Finding]:
    """As in "I hate to bother you" is not about bothering."""
    return [] if match["v"].lower().startswith("to ") else _items(match, "dislikes", 0.9)


def _over(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    until = spoken.when.instant
    found = values.things(match["v"])
    return [Finding(category="preference", key="likes", value=item, act="end", confidence=0.9, valid_to=until) for item in found]


def _never(match: re.Match[str], _: Spoken) -> list[Finding]:
    found = values.things(match["v"])
    return [Finding(category="preference", key="likes", value=item, act="retract", confidence=0.9) for item in found]


def _prefers(match: re.Match[str], _: Spoken) -> list[Finding]:
    """A programming language has a slot of its own (seed 1's example); other preferences are likes."""
    chosen = re.split(r" (?:over|to|rather than|instead of|for|when)\b", match["v"])[0]
    if chosen.lower().strip(" .") in words.PROGRAMMING:
        return [Finding(category="preference", key="language", value=values.trim(chosen), confidence=0.9)]
    if match["v"].lower().startswith(("to ", "not ", "if ")):
        return []
    return [Finding(category="preference", key="likes", value=item, confidence=0.9) for item in values.things(chosen)]


def _favourite(match: re.Match[str], _: Spoken) -> list[Finding]:
    """The kind of favourite becomes a tag."""
    kind, value = match["kind"].lower(), match["v"]
    if set(kind.split()) & (words.DISCOURSE | {"thing", "things", "bit", "line", "one", "moment", "parts"}):
        return []
    found = values.things(re.sub(r"^the (?=[A-Z])", "The ", value))
    if _CODE.search(kind) and found and found[0].lower() in words.PROGRAMMING:
        return [Finding(category="preference", key="language", value=found[0], confidence=0.9)]
    return [Finding(category="preference", key="likes", value=item, confidence=0.9, tags=(f"favourite {kind}",)) for item in found]


def _least(match: re.Match[str], _: Spoken) -> list[Finding]:
    if set(match["kind"].lower().split()) & (words.DISCOURSE | {"thing", "bit", "one"}):
        return []
    return _items(match, "dislikes", 0.9)


RULES: tuple[Rule, ...] = (
    rule(
        r"i (?:don't|do not|no longer) (?:really )?(?:like|love|enjoy) (?P<v>.+?) (?:anymore|any more|any longer|now)$",
        _over,
    ),
    rule(rf"{I_AM} (?:no longer|not) (?:into|{_FAN}fan of) (?P<v>.+?) (?:anymore|any more|any longer)$", _over),
    rule(r"i no longer (?:like|love|enjoy) (?P<v>.+)", _over),
    rule(rf"{I_AM} no longer (?:into|{_FAN}fan of) (?P<v>.+)", _over),
    rule(r"i used to (?:really )?(?:like|love|enjoy|adore) (?P<v>.+)", _over),
    rule(r"i (?:have )?never (?:really )?(?:liked|loved|enjoyed) (?P<v>.+)", _never),
    rule(rf"i {_VERY}(?:don't|do not) {_VERY}(?:like|enjoy) (?P<v>.+)", _dislikes),
    rule(
        rf"i {_VERY}(?:hate|dislike|detest|loathe|despise|can't stand|cannot stand|can't bear) (?P<v>(?!up\b|by\b"
        rf"|here\b).+)",
        _dislikes,
    ),
    rule(rf"{I_AM} not {_VERY}(?:{_FAN}fan of|into|fond of|keen on) (?P<v>.+)", _dislikes),
    rule(r"my least favou?rite (?P<kind>[\w ]{2,30}?) (?:is|are) (?P<v>.+)", _least),
    rule(rf"i {_VERY}(?:love|like|enjoy|adore) (?P<v>.+)", _likes),
    rule(rf"{I_AM} {_VERY}{_FAN}fan of (?P<v>.+)", _likes),
    rule(rf"{I_AM} {_VERY}(?:into|fond of|keen on|passionate about|crazy about|obsessed with) (?P<v>.+)", _likes),
    rule(
        r"(?:my (?:favou?rite|fave|fav) (?P<kind>[\w ]{2,30}?)(?: of all time)? (?:is|are)"
        r"|my fav(?:ou?rite)? (?P<k>\w+)'s) (?P<v>.+)",
        _favourite,
    ),
    rule(r"(?:my (?:main )?hobb(?:y|ies)|one of my hobbies) (?:is|are) (?P<v>(?!none).+)", _likes),
    rule(rf"i {_VERY}prefer (?P<v>.+)", _prefers),
)
"""In order: endings and dislikes before likes."""
