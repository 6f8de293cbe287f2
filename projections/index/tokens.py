"""Words of a text as the lexical legs see them: lower case, stems, without stop words.

Words are runs of letters and digits; what follows an apostrophe is dropped ("Anna's" is "anna", "don't" is "don", a stop
word); of Chinese, Japanese and Korean every character is a word, because no spaces part them. Stems are Snowball's English
ones (M. F. Porter, snowballstem.org). Pure; must not know of documents or scores.
"""

import re
import threading
import unicodedata
from functools import lru_cache

import snowballstemmer

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|([^\W_{_CJK}]+)(?:['\u2019][^\W_]+)?")

_FUNCTION_WORDS = """
a about above after again ain all also am an and any are aren as at be because been before being between both but by can
cannot could couldn d did didn do does doesn doing don done down during each few for from further had hadn has hasn have
haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m may me might mine
more most must mustn my myself needn no nor not of off on once only onto or other ought our ours ourselves out over own re
s same shall she should shouldn so some such t than that the their theirs them themselves then there these they this those
through to too under until up us ve very was wasn we were weren what when where which while who whom whose why will with
without won would wouldn you your yours yourself yourselves
"""

STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words and the heads of their contractions (after van Rijsbergen's list, as in NLTK's)."""


class _Stemmers(threading.local):
    """One Snowball stemmer a thread: it keeps the word it works on in itself."""

    def __init__(self) -> None:
        self.english = snowballstemmer.stemmer("english")


_stemmers = _Stemmers()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The Snowball stem of a lower-case word."""
    return str(_stemmers.english.stemWord(word))


def words(text: str) -> list[str]:
    """All words in order, lower case, not stemmed, stop words included."""
    lowered = unicodedata.normalize("NFKC", text).lower()
    return [match[1] or match[0] for match in _WORD.finditer(lowered)]


def terms(text: str) -> list[str]:
    """Stems of the words that are no stop words, in order, repeats kept."""
    return stems(words(text))


def stems(of: list[str]) -> list[str]:
    """Stems of those of the words that are no stop words."""
    return [stem(word) for word in of if word not in STOP_WORDS]
