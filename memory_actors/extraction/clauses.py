"""From a turn to the clauses in which its speaker may state something about themselves.

What is quoted, asked, supposed, reported of others, or requested as text to write is left out here, so that patterns
need only know how a fact sounds. Work is linear: a turn is read up to `TURN_CHARACTERS`, a sentence up to
`SENTENCE_CHARACTERS`, a turn up to `SENTENCES`; whitespace is folded to single spaces first, and no pattern here has
two adjacent repetitions over the same characters.
"""

import re
from collections.abc import Iterator

import msgspec

SENTENCE_CHARACTERS = 600
SENTENCES = 200
TURN_CHARACTERS = SENTENCE_CHARACTERS * SENTENCES
QUOTE_CHARACTERS = 200

_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"', "\0": " "}
    | {"\u2014": " - ", "\u2013": " - ", "\u00a0": " ", "`": '"', "\u2026": ". "}
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_DOUBLE_QUOTED = re.compile(r'"[^"]*(?:"|$)')
_SINGLE_QUOTED = re.compile(r"(?<![\w'])'(?:[^']|(?<=\w)'(?=\w)){3,}'(?!\w)")
_ENDS = re.compile(r"(?<=[.!?;])(?<!\bst\.)(?<!\bdr\.)(?<!\bmr\.)(?<!\bms\.)(?<!\bmrs\.)(?<!\be\.g\.)(?<!\bi\.e\.) ", re.IGNORECASE)
_EMOJI = re.compile(r"[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+")

_ASKING = re.compile(
    r"^(?:and |but |so |ok(?:ay)?,? |hey,? |hi,? |also,? )?(?:what|where|who|whose|when|why|how|which|do|does|did|is"
    r"|are|am|was"
    r"|were|can|could|should|would|will|may|shall|isn't|aren't|don't you|didn't|doesn't|what's|where's|who's|how's)\b",
    re.IGNORECASE,
)
_SUPPOSING = re.compile(
    r"^(?:and |but |so |ok(?:ay)?,? |now,? )?(?:if|unless|imagine|suppose|supposing|assume|assuming|pretend|say i"
    r"|say my|let's"
    r"|lets|what if|i wish|wish|i dream\w*|i had a dream|maybe|perhaps|hypothetically|in my (?:novel|story|book"
    r"|dream)\b"
    r"|in (?:the|this|a|my) (?:novel|story|book|film|movie|song|play|game|dream|scene|role)\b|for example|for instance"
    r"|e\.g\."
    r"|whenever|when i retire|once i)\b",
    re.IGNORECASE,
)
_REQUESTING = re.compile(
    r"^(?:(?:please|can you|could you|now|ok|okay|then|and),? )*(?:translate|write|draft|rewrite|rephrase|compose"
    r"|generate|summari[sz]e"
    r"|proofread|paraphrase|correct|fix|edit|repeat after me|role-?play|act as|continue|complete|turn this|reply to"
    r"|respond to"
    r"|answer this|polish|improve|here'?s (?:the|an?|my|her|his) (?:text|email|letter|message|draft|essay|story"
    r"|poem))\b",
    re.IGNORECASE,
)
_REPORTING = re.compile(
    r"\b(?:said|says|say|wrote|writes|told|tells|asked|asks|shouted|claims?|claimed|thinks|thought|believes|believed"
    r"|heard|replied"
    r"|answered|joked|sang|sings|reads|goes|email|letter|message|lyrics?|poem|novel|story|script|hero|character|quote"
    r"|caption"
    r"|title|sentence|prompt|example|song|remember|review)\b",
    re.IGNORECASE,
)
_TOLD_BY_ME = re.compile(r"^(?:(?:as|like) )?i (?:already )?(?:said|told you|mentioned|say)\b", re.IGNORECASE)

_SUBJECT = (
    r"(?:i|i'm|im|i've|ive|i'd|i'll|my|we|we're|we've|he|she|they|you|it|it's|he's|she's|there|this|that|please|call me"
    r"|always"
    r"|never|from now on|the name's|people call|everyone calls|actually|now)\b"
)
_BOUNDARY = re.compile(
    rf"(?:[,:]| -+|\)| \() ?(?:(?:and|but|so|plus|also|yet|then|because|though|although|while"
    rf"|or) ){{0,2}}(?={_SUBJECT})"
    rf"| (?:and|but|so|plus|because|cause|though|although|while|yet)(?: (?:then|also|now))? (?={_SUBJECT})",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:hi|hello|hey|hiya|yo|howdy|greetings|hi there|hey there|hello there|hi all|hi everyone|well|so|ok|okay|oh"
    r"|and|but|also"
    r"|plus|btw|by the way|fyi|yes|yeah|yep|no|nope|honestly|personally|anyway|anyways|sure|right|lol|haha|hm+"
    r"|just so you know"
    r"|so you know|for the record|for context|for what it's worth|to be honest|tbh|as you know|please remember|remember"
    r"|note"
    r"|please note|keep in mind|i should mention|i told you|i mean|as i said|like i said|good morning|good evening"
    r"|good afternoon|thanks|thank you|nice to meet you|a bit about me|about me|unfortunately|sadly|luckily|fun fact"
    r"|in fact"
    r"|because|though|although|while|in case you wondered|one thing|turns out|it turns out|now)(?: that)?[,:!]? |- )+",
    re.IGNORECASE,
)
_GREETING = re.compile(r"^(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon))\b", re.IGNORECASE)
_ACTUALLY = re.compile(r"^(?:(?:no|oh|and|but|well|sorry),? )?actually,? ", re.IGNORECASE)
_CONTRACTED = ((re.compile(r"^im\b", re.IGNORECASE), "I'm"), (re.compile(r"^ive\b", re.IGNORECASE), "I've"))


class Sentence(msgspec.Struct, frozen=True):
    """A sentence with its quotations blanked, and as it was written (at most `QUOTE_CHARACTERS`)."""

    text: str
    quote: str


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """A statement without its opening words.

    chat      written without capitals
    corrects  opened by "actually"
    greets    opened by a greeting
    """

    text: str
    quote: str
    chat: bool = False
    corrects: bool = False
    greets: bool = False


def plain(text: str) -> str:
    """At most `TURN_CHARACTERS` of the text, without lone surrogates and NULs, quotes straightened."""
    return _SURROGATE.sub(" ", text[:TURN_CHARACTERS]).translate(_PLAIN)


def sentences(text: str) -> Iterator[Sentence]:
    """The first `SENTENCES` sentences, lines that quote left out; nothing after a line that announces a quotation."""
    count = 0
    for line in plain(text).split("\n"):
        folded = " ".join(line.split())
        if not folded or folded.startswith((">", "|", "#!", "    ")):
            continue
        for sentence in _sentences_of(folded):
            count += 1
            if count > SENTENCES:
                return
            yield sentence
        if folded.endswith(":") and _is_borrowed(folded):
            return
        if _REQUESTING.match(folded) and ":" in folded:
            return


def _sentences_of(line: str) -> Iterator[Sentence]:
    """Split at sentence ends; quotations are blanked over the whole line, since they may span sentences."""
    blanked = _SINGLE_QUOTED.sub(_blank, _DOUBLE_QUOTED.sub(_blank, line))
    start = 0
    for end in [*(found.end() for found in _ENDS.finditer(blanked)), len(blanked)]:
        text = _EMOJI.sub(" ", blanked[start:end][:SENTENCE_CHARACTERS])
        yield Sentence(" ".join(text.split()), line[start:end].strip()[:QUOTE_CHARACTERS])
        start = end


def _blank(found: re.Match[str]) -> str:
    """As many characters of no word, so that places in the line stay the same."""
    return "\u25a1" * len(found[0])


def _is_borrowed(text: str) -> bool:
    return bool(_REQUESTING.match(text) or (_REPORTING.search(text) and not _TOLD_BY_ME.match(text)))


def states(sentence: Sentence) -> bool:
    """Whether the sentence can state anything: it neither asks, nor supposes, nor wants a text written."""
    text = sentence.text
    return not (_ASKING.match(text) or _SUPPOSING.match(text) or _REQUESTING.match(text))


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """The clauses that its speaker vouches for, in order. Of a question, all but the last one."""
    if not states(sentence):
        return
    chat = not any(letter.isupper() for letter in sentence.text.replace("I'", "i'").replace(" I ", " i "))
    parts = _split(sentence.text)
    if sentence.text.endswith("?"):
        parts = parts[:-1]
    greeted = corrects = False
    for part in parts:
        if _ASKING.match(part) or _SUPPOSING.match(part):
            continue
        if _ACTUALLY.fullmatch(part.strip(" ,") + " "):
            corrects = True
            continue
        clause = _clause(part, sentence.quote, chat=chat)
        greeted = greeted or clause.greets
        yield msgspec.structs.replace(clause, greets=greeted, corrects=corrects or clause.corrects)
        if _REPORTING.search(part) and not _TOLD_BY_ME.match(part) and not _OPENING.match(part + ", "):
            return


def _split(text: str) -> list[str]:
    parts, start = [], 0
    for found in _BOUNDARY.finditer(text):
        parts.append(text[start : found.start()])
        start = found.end()
    return [part for part in (*parts, text[start:]) if part.strip()]


def _clause(part: str, quote: str, *, chat: bool) -> Clause:
    text = part.strip(" ,;:-()").rstrip(".!?,;: ")
    greets = bool(_GREETING.match(text))
    text = _OPENING.sub("", text)
    rest = _ACTUALLY.sub("", text)
    for short, full in _CONTRACTED:
        rest = short.sub(full, rest)
    return Clause(text=_OPENING.sub("", rest), quote=quote, chat=chat, corrects=bool(_ACTUALLY.match(text)), greets=greets)
