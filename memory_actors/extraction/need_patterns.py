"""How people say what they must not or do not eat, and what they cannot tolerate."""

import re

import msgspec

from memory_actors.extraction import values, words
from memory_actors.extraction.findings import I_AM, I_HAVE, Finding, Rule, Spoken, ended, never, rule, stated

_DIET = (
    r"(?:an? )?(?:(?:strict|lifelong|committed|mostly|ethical|full-time|practi[sc]ing|lacto-ovo|happy|proud) )?"
    r"(?P<v>vegetarian|veggie|vegan|pescatarian|pescetarian|flexitarian|fruitarian|carnivore|omnivore|plant-based|keto)"
    r"(?= ?(?:$|[,;.!)]| (?:and|but|so|since|because|for|now|btw|by the way|too|though|anymore|any more|any longer|who"
    r"|-|if|these)\b))"
)
_FOOD = (
    r"(?P<v>(?:(?:any|red|raw|animal|processed) )?(?:meat|pork|beef|fish|seafood|dairy|gluten|eggs|poultry|chicken|lamb"
    r"|shellfish"
    r"|sugar|wheat|animal products|animals|carbs)(?:(?:,? or |, |,? and )(?:\w+)){0,3})"
)
_MANNER = r"(?:(?:also|very|really|severely|deathly|highly|mildly|slightly|badly|quite|extremely|super|terribly) )*"
_BAD = r"(?:(?:severe|bad|mild|serious|nasty|slight|terrible|life-threatening|strong) )?"


def _allergens(text: str) -> list[str]:
    found = [re.sub(r"^(?:certain|raw|most) ", "", item) for item in values.things(text)]
    return [] if any(set(item.lower().split()) & words.JOKE_ALLERGENS for item in found) else found


def _allergic(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return [one for item in _allergens(match["v"]) for one in stated("constraint", "allergy", item, spoken)]


def _allergic_over(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return [one for item in _allergens(match["v"]) for one in ended("constraint", "allergy", item, spoken)]


def _allergic_never(match: re.Match[str], _: Spoken) -> list[Finding]:
    return [one for item in _allergens(match["v"]) for one in never("constraint", "allergy", item)]


def _diet(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("constraint", "diet", match["v"], spoken)


def _diet_changed(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("constraint", "diet", match["v"], spoken, changed=True)


def _diet_over(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return ended("constraint", "diet", match["v"], spoken)


def _diet_never(match: re.Match[str], _: Spoken) -> list[Finding]:
    return never("constraint", "diet", match["v"])


def _named_diet(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return stated("constraint", "diet", match["v"], spoken, confidence=0.85)


def _without(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    """As in "I don't eat meat" is a diet, weaker than one with a name."""
    food = re.sub(r"^any ", "", match["v"], flags=re.IGNORECASE)
    return stated("constraint", "diet", f"no {food}", spoken, confidence=0.85)


def _without_now(match: re.Match[str], spoken: Spoken) -> list[Finding]:
    return [msgspec.structs.replace(one, changed=True) for one in _without(match, spoken)]


def _again(_: re.Match[str], spoken: Spoken) -> list[Finding]:
    """Whatever diet it was, it is over."""
    until = spoken.when.instant
    return [Finding(category="constraint", key="diet", value="", act="end", confidence=0.9, valid_to=until)]


RULES: tuple[Rule, ...] = (
    rule(rf"{I_AM} (?:no longer|not) {_MANNER}allergic to (?P<v>.+?) (?:anymore|any more|any longer)$", _allergic_over),
    rule(rf"(?:{I_AM} no longer|i used to be) {_MANNER}allergic to (?P<v>.+)", _allergic_over),
    rule(r"i (?:was|have) never (?:been )?allergic to (?P<v>.+)", _allergic_never),
    rule(rf"{I_AM} {_MANNER}allergic to (?P<v>.+)", _allergic),
    rule(rf"(?:i have|i've got|i've|i got) {_BAD}(?:an? )?{_BAD}allerg(?:y|ies) to (?P<v>.+)", _allergic),
    rule(rf"(?:i have|i've got|i've|i got) an? {_BAD}(?P<v>(?:tree )?\w+) allergy", _allergic),
    rule(r"my allergies are (?P<v>.+)", _allergic),
    rule(rf"{I_AM} {_MANNER}(?P<v>\w+)[- ]intolerant", _allergic),
    rule(rf"{I_AM} {_MANNER}intolerant (?:to|of) (?P<v>.+)", _allergic),
    rule(r"(?:i have|i've got|i was diagnosed with) (?P<v>(?:celiac|coeliac)(?: disease)?)", _allergic),
    rule(rf"{I_AM} (?:a )?(?P<v>celiac|coeliac)$", _allergic),
    rule(rf"{I_AM} (?:no longer|not) {_DIET} (?:anymore|any more|any longer)", _diet_over),
    rule(rf"(?:{I_AM} no longer|i used to be|i stopped being|i quit being) {_DIET}", _diet_over),
    rule(rf"i was never {_DIET}", _diet_never),
    rule(
        rf"i(?:'ve| have)? (?:just |recently )?(?:went|gone|became|become|turned|switched to being) {_DIET}",
        _diet_changed,
    ),
    rule(rf"{I_HAVE} been {_DIET}", _diet),
    rule(rf"{I_AM} now {_DIET}", _diet_changed),
    rule(rf"{I_AM} (?:also |actually |currently |both )?{_DIET}", _diet),
    rule(
        r"i (?:keep|only eat|eat only|eat strictly|eat) (?:strictly )?(?P<v>kosher|halal|plant-based|vegetarian"
        r"|vegan)(?: food| meals| meat)?(?=$|,| (?:and|because|so)\b)",
        _named_diet,
    ),
    rule(
        rf"(?:i (?:follow|keep to|stick to|eat)|{I_AM} on) (?:an? )?(?:strict )?(?P<v>[\w-]+(?: [\w-]+)?) diet(?=$|,"
        rf"| (?:and|because|so)\b)",
        _named_diet,
    ),
    rule(
        rf"i (?:don't|do not|never|can't|cannot) (?:really )?eat {_FOOD}(?=$|[,;.!)]| (?:and|because|so|at all|but"
        rf"|for)\b)",
        _without,
    ),
    rule(rf"i(?:'ve| have)? (?:stopped|quit|given up|gave up) eating {_FOOD}(?=$|[,;.!)]| (?:and|because|so|but|for)\b)", _without_now),
    rule(rf"i (?:can't|cannot) have {_FOOD}(?=$|[,;.!)]| (?:and|because|so|but|for)\b)", _without),
    rule(r"i(?:'ve| have)? (?:started eating|eat|went back to eating) meat again", _again),
)
"""In order: endings before assertions."""
