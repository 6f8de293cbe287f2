"""An embedder without a model: the hashed stems of a text as a vector, so that texts that share words are similar."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from events.envelope import Vectors
from projections.index.dense import quantised
from projections.index.tokens import terms

DIMENSIONS = 384
MODEL = "hashed-stems"


class HashedStems:
    """Deterministic, at once, offline. `failing`: how many calls of `embed` raise before one succeeds; -1: all of them."""

    def __init__(self, model: str = MODEL, dimensions: int = DIMENSIONS, failing: int = 0) -> None:
        self.model = model
        self.loaded = True
        self.calls: list[int] = []
        self.failing = failing
        self._dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """int16 [n, dimensions]: unit vectors times what `projections.index.dense` says (4086 at 384)."""
        self.calls.append(len(texts))
        if self.failing:
            self.failing -= 1
            raise RuntimeError("the model answered garbage")
        return quantised(np.stack([self._vector(text) for text in texts]))

    def count_tokens(self, text: str) -> int:
        """Words between spaces."""
        return len(text.split())

    def _vector(self, text: str) -> np.ndarray:
        vector = np.zeros(self._dimensions)
        for term, count in Counter(terms(text)).items():
            place = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big")
            vector[place % self._dimensions] += count if place >> 63 else -count
        return vector
