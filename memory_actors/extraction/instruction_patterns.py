"""How people tell an assistant what to do from now on.

An instruction is read from the whole sentence, because its clauses belong to it. "Always" and "never" also begin
sentences about the world, so a verb of answering or writing must follow; a request about "this one" does not stand.
"""

import re

from memory_actors.extraction import words
from memory_actors.extraction.findings import Finding
from memory_actors.extraction.values import trim

INSTRUCTION_CHARACTERS = 200
"""Longer than other values: half an instruction is another instruction."""

_VERBS = "|".join(sorted(words.STANDING_VERBS))
_BE = r"be (?:\w+ )?(?:concise|brief|polite|formal|informal|honest|direct|short|precise|specific|friendly|critical|blunt|terse)"
_POLITE = re.compile(
    r"^(?:(?:ok|okay|so|and|but|also|please|hey|oh|one more thing|remember(?: to)?|be sure to|make sure (?:to|you"
    r"|that you)"
    r"|i want you to|i'd like you to|i would like you to|i need you to|you should|you must|could you|can you|try to"
    r"|just)[,:]? )+",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(r"^(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|in all your answers)[,:]? ", re.IGNORECASE)
_FROM_NOW_LAST = re.compile(r",? (?:from now on|going forward|from here on(?: out)?|in (?:the )?future)$", re.IGNORECASE)
_PLEASE = re.compile(r",? (?:please|thanks|thank you|ok|okay)$", re.IGNORECASE)
_ALWAYS = re.compile(rf"^(?:always|never|don't ever|do not ever) (?:{_VERBS}|{_BE})\b", re.IGNORECASE)
_COMMAND = re.compile(rf"^(?:(?:always|never|don't|do not|only|please|stop|avoid) )*(?:{_VERBS}|{_BE})(?:ing)?\b", re.IGNORECASE)
_STOP = re.compile(
    r"^(?:don't|do not|stop|quit) (?:using|use|calling me|call me|swearing|swear|apologi[sz]ing|apologi[sz]e|repeating yourself) ?",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:this|that|these|those|it|yet|today|now|here|say never|give up|look back|me the odds|one time|the (?:first|second|last|same"
    r"|other|old|new))\b",
    re.IGNORECASE,
)


def instruction(sentence: str) -> list[Finding]:
    """The standing instruction that the sentence is, or nothing. `sentence` has its quotations blanked."""
    text = _PLEASE.sub("", sentence.rstrip(".!,; "))
    if sentence.endswith("?") or "\u25a1" in text:
        return []
    text = _POLITE.sub("", text)
    standing = _FROM_NOW_LAST.sub("", _FROM_NOW.sub("", text))
    bare = _POLITE.sub("", standing)
    if standing != text:
        fits, confidence = _COMMAND.match(bare), 0.95
    elif _ALWAYS.match(bare):
        fits, confidence = _ALWAYS.match(bare), 0.95
    else:
        fits, confidence = _STOP.match(bare), 0.8
    if not fits or (_ONCE.search(bare) and standing == text) or re.match(r"call me \w+$", bare, re.IGNORECASE):
        return []
    value = trim(_lowered(bare), INSTRUCTION_CHARACTERS)
    return [Finding(category="instruction", key="standing", value=value, confidence=confidence)] if value else []


def _lowered(text: str) -> str:
    """With a small first letter: the value is a phrase, not a sentence."""
    return text[:1].lower() + text[1:]
