"""How people say who they are and where they live: name, pronouns, home, time zone, languages."""

import re

from memory_actors.extraction import values, words
from memory_actors.extraction.findings import (
    FROM_CONFIDENCE,
    I_AM,
    I_HAVE,
    JUST,
    Build,
    Finding,
    Rule,
    Spoken,
    ended,
    never,
    rule,
    stated,
)

_PRONOUNS = r"(?P<v>(?:he|she|they|ze|xe|it|any)(?:/\w+){1,3})"
_ZONE = (
    r"(?P<v>(?:utc|gmt) ?[+-] ?\d{1,2}(?::\d\d)?|utc|gmt|[ap][sd]t|e[sd]t|m[sd]t|c[sd]t|ces?t|ees?t|wes?t|bst|ist|jst"
    r"|kst|a[ew][sd]t|nz[sd]t|sgt|hkt|msk|[a-z]+/[a-z_]+|(?:us )?(?:pacific|eastern|central|mountain|atlantic))"
)
_LIVING = r"(?:living|based|located|residing|settled)"


def _as_name(key: str, confidence: float, *, changed: bool = False, whole: bool = False) -> Build:
    """Take the rest of the clause as a name."""

    def build(match: re.Match[str], spoken: Spoken) -> list[Finding]:
        value = values.name(match["v"], chat=spoken.chat, most=5, whole=whole)
        return stated("identity", key, value, spoken, confidence=confidence, changed=changed)

    return build


def _introduced(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """Of "I'm Jonas" and "this is Marta from Ghent", where a capital is all there is to go by: much is excluded."""
    value = values.name(match["v"], chat=spoken.chat, most=2)
    if spoken.chat and value not in words.FIRST_NAMES:
        return []
    tokens = [token.strip(".,") for token in value.split()]
    rest = match["v"][len(value) :].strip()
    odd = rest and not re.match(r"(?:from|and i|and my|here|by the)(?: |$)|,", rest, re.IGNORECASE)
    shouted = any((len(token) > 1 and token.isupper()) or re.search(r"-[a-z]", token) for token in tokens)
    if not value or odd or shouted or any(token.lower() in words.NOT_NAMES for token in tokens):
        return []
    origin = re.match(r"from (?P<v>.+)", rest, re.IGNORECASE)
    found = stated("identity", "name", value, spoken, confidence=0.95)
    return [*found, *_from(origin, spoken)] if origin else found


def _greeting(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "This is Max" introduces the speaker only after a greeting; else it may be a dog."""
    return _introduced(match, spoken) if spoken.clause.greets else []


def _city(match: re.Match[str], spoken: Spoken) -> str:
    return values.place(match["v"], chat=spoken.chat)


def _home(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "home_city", _city(match, spoken), spoken, confidence=0.95)


def _home_for_long(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "I've lived in Oslo" is an experience; with "since" or "for" it is where the speaker lives."""
    return _home(match, spoken) if spoken.when.relation in ("since", "for") else []


def _home_until(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return _home_over(match, spoken) if spoken.when.relation == "until" else []


def _home_over(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return ended("identity", "home_city", _city(match, spoken), spoken)


def _home_never(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return never("identity", "home_city", _city(match, spoken))


def _moved(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "home_city", _city(match, spoken), spoken, confidence=0.95, changed=True)


def _moving(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """A plan counts once it has a time."""
    return _moved(match, spoken) if spoken.when.instant is not None and spoken.when.future else []


def _from(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "home_city", _city(match, spoken), spoken, confidence=FROM_CONFIDENCE)


def _origin(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """Where somebody grew up; when is not when it holds."""
    value = _city(match, spoken)
    return [Finding(category="identity", key="hometown", value=value)] if value else []


def _pronouns(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "pronouns", match["v"], spoken)


def _zone(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "timezone", values.trim(match["v"]), spoken)


def _languages(match: re.Match[str], _: Spoken) -> list[Finding]:
    """Only known languages: people also speak from experience and at conferences."""
    found = []
    for item in re.split(r",? (?:and|as well as|or|&) |, ?", match["v"]):
        bare = re.sub(
            r"^(?:(?:also|both|fluent|native|some|a little(?: bit of)?|a bit of|basic|decent|good|passable|brazilian"
            r"|mexican"
            r"|fluently|perfect|british|american|swiss|conversational) )+",
            "",
            item.strip(),
            flags=re.IGNORECASE,
        )
        token = bare.split()[0] if bare else ""
        if token.lower() in words.LANGUAGES:
            found.append(Finding(category="identity", key="language", value=token, confidence=0.9))
        else:
            break
    return found


RULES: tuple[Rule, ...] = (
    rule(r"my full name(?: is|'s) (?P<v>.+)", _as_name("full_name", 0.95)),
    rule(r"(?:my|the)(?: first)? name(?:'s| is) (?P<v>.+)", _as_name("name", 1.0)),
    rule(r"my (?:nickname|nick)(?:'s| is) (?P<v>.+)", _as_name("nickname", 0.95)),
    rule(r"(?:my )?pronouns(?: are|:) " + _PRONOUNS, _pronouns),
    rule(r"i (?:use|go by|prefer) " + _PRONOUNS, _pronouns),
    rule(r"(?:i prefer to be|i prefer being|i'd rather be) called (?P<v>.+)", _as_name("nickname", 0.9)),
    rule(rf"{I_AM} (?:called|named) (?P<v>.+)", _as_name("name", 0.95)),
    rule(r"i go by (?P<v>.+)", _as_name("name", 0.9)),
    rule(
        r"(?:please )?(?:from now on,?|going forward,?) (?:please )?(?:just )?call me (?P<v>.+)",
        _as_name("nickname", 0.95, changed=True),
    ),
    rule(r"(?:please )?call me (?P<v>.+) from now on", _as_name("nickname", 0.95, changed=True)),
    rule(
        r"(?:(?:please|just|you can|you may|but|feel free to|everyone calls|everybody calls|people call"
        r"|(?:all )?my friends call"
        r"|most people call|friends call) )*(?:just )?(?:call )?me (?P<v>.+)",
        _as_name("name", 0.6),
    ),
    rule(r"(?:please )?(?:just )?call me (?P<v>.+)", _as_name("name", 0.6)),
    rule(rf"i {JUST}(?:live|reside) in (?P<v>.+)", _home),
    rule(rf"we {JUST}live in (?P<v>.+)", _home),
    rule(rf"{I_AM} {JUST}{_LIVING} (?:in|out of|at) (?P<v>.+)", _home),
    rule(r"(?:i call (?P<v>.+) home)$", _home),
    rule(r"my (?:home )?city is (?P<v>.+)", _home),
    rule(rf"{I_HAVE} (?:lived|been {_LIVING}) in (?P<v>.+)", _home_for_long),
    rule(r"(?:i|we) lived in (?P<v>.+)", _home_until),
    rule(r"(?:i|we) (?:used to live|no longer live) in (?P<v>.+)", _home_over),
    rule(rf"{I_AM} no longer {_LIVING} in (?P<v>.+)", _home_over),
    rule(r"(?:i|we) (?:don't|do not) live in (?P<v>.+?) (?:anymore|any more|any longer|now)$", _home_over),
    rule(r"(?:i|we|i've|i have)(?: have)? never (?:actually )?lived in (?P<v>.+)", _home_never),
    rule(
        rf"(?:i|we|i've|we've|i have|we have) {JUST}(?:moved|relocated)(?: back| over| down| up| out)?(?: from [\w' -]{{2,40}}?)? to (?P<v>.+)",
        _moved,
    ),
    rule(rf"{I_AM} (?:moving|relocating)(?: back| over)? to (?P<v>.+)", _moving),
    rule(rf"{I_AM} originally from (?P<v>.+)", _origin),
    rule(r"i grew up (?:mostly )?in (?P<v>.+)", _origin),
    rule(r"i was (?:born and raised|born|raised) in (?P<v>.+)", _origin),
    rule(r"my home ?town is (?P<v>.+)", _origin),
    rule(rf"(?:{I_AM}|i come) from (?P<v>.+)", _from),
    rule(rf"my time ?zone(?: is|'s) {_ZONE}(?: time)?$", _zone),
    rule(rf"{I_AM} (?:in|on) (?:the )?{_ZONE}(?: standard)?(?: time(?: ?zone)?)$", _zone),
    rule(rf"{I_AM} (?:in|on) (?-i:(?=[A-Z]{{3}})){_ZONE}$", _zone),
    rule(r"my (?:native|first|mother|main|second|primary|home) (?:language|tongue)(?: is|'s) (?P<v>.+)", _languages),
    rule(r"(?P<v>\w+) is my (?:native|first|mother) (?:language|tongue)", _languages),
    rule(r"i (?:can )?(?:also )?speak (?:fluent |native )?(?P<v>.+)", _languages),
    rule(rf"{I_AM} (?:also )?(?:fluent|bilingual) in (?P<v>.+)", _languages),
    rule(rf"{I_AM} a (?:native|fluent) (?P<v>\w+) speaker", _languages),
    rule(rf"{I_AM} (?P<v>.+)", _introduced),
    rule(r"(?:this is|it's) (?P<v>.+)", _greeting),
)
"""In order: the explicit before the doubtful."""
