"""How people say where they work and what as."""

import re

from memory_actors.extraction import values
from memory_actors.extraction.findings import (
    FROM_CONFIDENCE,
    I_AM,
    I_HAVE,
    JUST,
    Finding,
    Rule,
    Spoken,
    ended,
    never,
    rule,
    stated,
)

_AT = r"(?:at|for)"
_AS = re.compile(r" as an? (?P<v>.+)", re.IGNORECASE)
_FROM_AFTER = re.compile(r" (?P<how>from|living in|based in) (?P<v>.+)", re.IGNORECASE)
_ORG_AFTER = re.compile(r" (?:at|for|with|of) (?P<v>.+)", re.IGNORECASE)


def _organisation(match: re.Match[str], spoken: Spoken) -> str:
    return values.organisation(match["v"], chat=spoken.chat)


def _employer(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """Where somebody works, and what as, if that follows."""
    found = stated("identity", "employer", _organisation(match, spoken), spoken)
    job = _AS.search(match["v"])
    return [*found, *stated("identity", "job", values.occupation(job["v"], sure=True), spoken)] if found and job else found


def _employer_for_long(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return _employer(match, spoken) if spoken.when.relation in ("since", "for") else []


def _joined(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "employer", _organisation(match, spoken), spoken, confidence=0.9, changed=True)


def _joining(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return _joined(match, spoken) if spoken.when.instant is not None and spoken.when.future else []


def _employer_over(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return ended("identity", "employer", _organisation(match, spoken), spoken)


def _employer_until(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return _employer_over(match, spoken) if spoken.when.relation == "until" else []


def _employer_never(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return never("identity", "employer", _organisation(match, spoken))


def _switched(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "I left Acme and joined Globex": both must be names, since people also leave their keys."""
    old = values.organisation(match["old"], chat=spoken.chat)
    new = _joined(match, spoken)
    return [*ended("identity", "employer", old, spoken), *new] if old and new else []


def _works_as(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    job = stated("identity", "job", values.occupation(match["v"], sure=True), spoken)
    return [*job, *_place_of(match, spoken)] if job else []


def _is_a(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "I'm a nurse at Mercy Hospital": only known occupations, because "I'm a mess" looks the same."""
    job = stated("identity", "job", values.occupation(match["v"]), spoken, confidence=0.9)
    if job and job[0].value.lower().split()[-1] in ("student", "undergraduate"):
        return [*job, *_is_a_from(match, spoken)]
    return [*job, *_place_of(match, spoken), *_is_a_from(match, spoken)] if job else []


def _is_the(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "I'm the CTO of Acme": of something with a name, since others are the cook of the family."""
    found = _is_a(match, spoken)
    return found if any(one.key == "employer" for one in found) else []


def _is_a_from(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "a nurse from Porto" and "a nurse living in Porto"."""
    origin = _FROM_AFTER.search(match["v"])
    city = values.place(origin["v"], chat=spoken.chat) if origin else ""
    sure = 0.95 if origin and origin["how"].lower() != "from" else FROM_CONFIDENCE
    return stated("identity", "home_city", city, spoken, confidence=sure)


def _place_of(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    after = _ORG_AFTER.search(match["v"])
    return stated("identity", "employer", _organisation(after, spoken), spoken, confidence=0.9) if after else []


def _title(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "job", values.occupation(match["v"], sure=True), spoken)


def _became(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "job", values.occupation(match["v"]), spoken, confidence=0.9, changed=True)


def _promoted(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("identity", "job", values.occupation(match["v"], sure=True), spoken, confidence=0.9, changed=True)


def _was_a(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return ended("identity", "job", values.occupation(match["v"]), spoken)


def _a_until(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return _was_a(match, spoken) if spoken.when.relation == "until" else []


def _a_for_long(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return _is_a(match, spoken) if spoken.when.relation in ("since", "for") else []


RULES: tuple[Rule, ...] = (
    rule(
        r"i(?:'ve| have)? (?:just |recently )?(?:left|quit) (?P<old>.+?) (?:and|to|then)(?: then)?(?: have)?"
        r" (?:just )?(?:join|joined|started at|start at|started working (?:at|for)|moved to) (?P<v>.+)",
        _switched,
    ),
    rule(rf"i {JUST}work as an? (?P<v>.+)", _works_as),
    rule(rf"{I_AM} {JUST}(?:working|employed) as an? (?P<v>.+)", _works_as),
    rule(rf"i {JUST}work {_AT} (?P<v>.+)", _employer),
    rule(rf"{I_AM} {JUST}(?:employed|working) (?:at|for|by) (?P<v>.+)", _employer),
    rule(r"my (?:current )?employer(?: is|'s) (?P<v>.+)", _employer),
    rule(r"(?:the company i work for|my company) is called (?P<v>.+)", _employer),
    rule(rf"{I_HAVE} (?:worked|been working|been employed) (?:at|by|for) (?P<v>.+)", _employer_for_long),
    rule(r"i worked (?:at|for) (?P<v>.+)", _employer_until),
    rule(r"i (?:used to work|no longer work|stopped working) (?:at|for) (?P<v>.+)", _employer_over),
    rule(r"i (?:don't|do not) work (?:at|for) (?P<v>.+?) (?:anymore|any more|any longer|now)$", _employer_over),
    rule(rf"{I_AM} no longer (?:working|employed) (?:at|for|by) (?P<v>.+)", _employer_over),
    rule(
        r"i(?:'ve| have)? (?:just |recently )?(?:quit|left) my (?:old )?(?:job|position|role) (?:at|with) (?P<v>.+)",
        _employer_over,
    ),
    rule(
        r"i (?:was|got|have been|'ve been) (?:just |recently )?(?:laid off|fired|let go) (?:from|by) (?P<v>.+)",
        _employer_over,
    ),
    rule(r"i(?:'ve| have)? (?:resigned|retired) from (?P<v>.+)", _employer_over),
    rule(r"(?:i|i've|i have)(?: have)? never (?:actually )?worked (?:at|for) (?P<v>.+)", _employer_never),
    rule(r"i(?:'ve| have)? (?:just |recently )?joined (?P<v>.+)", _joined),
    rule(
        r"i(?:'ve| have)? (?:just |recently )?started (?:working |a new job |my new job )?(?:at|for|with) (?P<v>.+)",
        _joined,
    ),
    rule(
        rf"(?:{I_AM} (?:starting|joining)|i start|i'll start|i'll join|i join)(?: (?:work|working|a new job))?(?: at"
        rf"| for)? (?P<v>.+)",
        _joining,
    ),
    rule(r"my (?:job title|occupation|profession) (?:is|at \w+ is) (?:an? )?(?P<v>(?!to |killing|not |yet |still ).+)", _title),
    rule(rf"{I_AM} now an? (?P<v>.+)", _became),
    rule(r"i(?:'ve| have)? (?:just |recently )?bec(?:a|o)me an? (?P<v>.+)", _became),
    rule(
        r"i(?:'ve| have| was| got|'ve been| have been)? (?:just |recently )?(?:been |got "
        r"|gotten )?promoted to (?:an? )?(?P<v>.+)",
        _promoted,
    ),
    rule(r"i (?:used to be|no longer work as) an? (?P<v>.+)", _was_a),
    rule(rf"{I_AM} no longer an? (?P<v>.+)", _was_a),
    rule(rf"{I_AM} not an? (?P<v>.+?) (?:anymore|any more|any longer)$", _was_a),
    rule(r"i was an? (?P<v>.+)", _a_until),
    rule(rf"{I_HAVE} been an? (?P<v>.+)", _a_for_long),
    rule(rf"{I_HAVE} been (?:working|employed) as an? (?P<v>.+)", _works_as),
    rule(rf"{I_AM} (?:also )?an? (?P<v>.+)", _is_a),
    rule(rf"{I_AM} the (?P<v>.+)", _is_the),
)
"""In order: the explicit before the doubtful."""
