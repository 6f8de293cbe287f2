"""What recall is compared with: BM25, dense search, and the fusion of the two. Pure functions over one set of texts.

Written without the index, the plain way, so that they can also serve as its oracle in tests. Scores are float64 [n], one a
text; `ranking` turns scores into an order.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from projections.index.tokens import terms

Floats = npt.NDArray[np.float64]

K1 = 1.5
B = 0.75
RRF_K = 60


def bm25(texts: Sequence[str], query: str) -> Floats:
    """Okapi BM25 with k1 = 1.5, b = 0.75, over Snowball stems without stop words; every distinct term of the query counts once.

    The idf is Lucene's, `ln(1 + (N - df + .5) / (df + .5))`.
    """
    documents = [Counter(terms(text)) for text in texts]
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / max(len(documents), 1)
    scores = np.zeros(len(documents))
    for term in dict.fromkeys(terms(query)):
        holding = sum(1 for document in documents if term in document)
        idf = float(np.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5)))
        for place, document in enumerate(documents):
            count = document[term]
            if count:
                scores[place] += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[place] / mean))
    return scores


def dense(vectors: npt.NDArray[np.int16], query: npt.NDArray[np.int16]) -> Floats:
    """Integer dot products of the texts' vectors, int16 [n, d], with the query's, int16 [d]."""
    return (vectors.astype(np.int64) @ query.astype(np.int64)).astype(np.float64)


def ranking(scores: Floats) -> list[int]:
    """Places by descending score, the earlier first among equals."""
    return [int(place) for place in np.argsort(-scores, kind="stable")]


def rrf(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Reciprocal-rank fusion: items by the sum of 1 / (60 + place) over the rankings; the lower item first among equals.

    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet" (2009).
    """
    fused: dict[int, float] = {}
    for ranked in rankings:
        for place, item in enumerate(ranked, 1):
            fused[item] = fused.get(item, 0.0) + 1.0 / (RRF_K + place)
    return sorted(fused, key=lambda item: (-fused[item], item))
