"""BM25 as of any moment.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf, which is never
negative: `ln(1 + (N - df + .5) / (df + .5))`.

Everything a score depends on moves when documents come or go: N, document frequencies, the mean length. So none of it is
stored. Per term there are two sorted lists, of the documents that entered (by ordinal: they enter in the order of their
seqs) and of the seqs at which such documents left; the lengths have integer prefix sums; idf and mean length are computed
at read from what is visible. A document is visible at `seq` while `entered <= seq < left`.

Invariant: a view at `seq` equals, to the bit, that of an index which was fed nothing after `seq`.
Must not know what the documents are.
"""

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.index.growable import Growable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

K1: Final = 1.5
B: Final = 0.75


class Postings:
    """Where one term occurs: documents by ordinal, ascending, and how often; and the seqs at which such documents left."""

    __slots__ = ("counts", "left", "ordinals")

    def __init__(self) -> None:
        self.ordinals = array("q")
        self.counts = array("q")
        self.left: list[int] = []


class Occurrences(NamedTuple):
    """The visible documents that hold a term, `ordinals` ascending, and how often each: int64 [df]."""

    ordinals: Ints
    counts: Ints


def inverse_document_frequency(documents: int, holding: int) -> float:
    """Lucene's BM25 idf, in nats, for a term that `holding` of the `documents` hold."""
    return math.log(1.0 + (documents - holding + 0.5) / (holding + 0.5))


def saturated(counts: Floats, lengths: Floats, mean_length: float) -> Floats:
    """BM25's weight of a term, `tf (k1 + 1) / (tf + k1 (1 - b + b dl / avgdl))`, elementwise; 0 where `counts` is 0."""
    norms = lengths * (K1 * B / mean_length) + K1 * (1.0 - B) if mean_length > 0 else np.full(lengths.shape, K1)
    return counts * (K1 + 1.0) / (counts + norms)


class LexicalIndex:
    """Term postings of documents that enter in the order of their seqs and may leave."""

    def __init__(self) -> None:
        self._entered: list[int] = []
        self._terms: list[tuple[str, ...]] = []
        self._lengths = Growable(np.int64)
        self._length_sums = [0]
        self._leavings: list[tuple[int, int]] = []
        self._gone: set[int] = set()
        self._postings: dict[str, Postings] = {}

    def add(self, seq: int, terms: Sequence[str]) -> int:
        """Enters a document at `seq` (above all before it) and gives its ordinal, from 0."""
        if self._entered and seq <= self._entered[-1]:
            raise ValueError(f"document at {seq} after one at {self._entered[-1]}")
        ordinal = len(self._entered)
        counted = Counter(terms)
        for term, count in counted.items():
            postings = self._postings.get(term)
            if postings is None:
                postings = self._postings[term] = Postings()
            postings.ordinals.append(ordinal)
            postings.counts.append(count)
        self._entered.append(seq)
        self._terms.append(tuple(counted))
        self._lengths.append(len(terms))
        self._length_sums.append(self._length_sums[-1] + len(terms))
        return ordinal

    def withdraw(self, event_seq: int, ordinal: int) -> None:
        """From `event_seq` on the document is not visible. Only the first withdrawal of a document counts."""
        if ordinal in self._gone:
            return
        self._gone.add(ordinal)
        insort(self._leavings, (event_seq, ordinal))
        for term in self._terms[ordinal]:
            insort(self._postings[term].left, event_seq)

    def at(self, seq: int) -> "LexicalView":
        """The index as it was at `seq`."""
        entered = bisect_right(self._entered, seq)
        gone = [ordinal for _, ordinal in self._leavings[: bisect_left(self._leavings, (seq + 1, 0))]]
        lengths = self._lengths.first(entered).astype(np.float64)
        total = self._length_sums[entered] - sum(self._lengths.get(ordinal) for ordinal in gone)
        lengths[gone] = 0.0
        return LexicalView(self._postings, seq, lengths, frozenset(gone), total)


@dataclass(frozen=True, eq=False)
class LexicalView:
    """What a `LexicalIndex` held at one seq."""

    _postings: Mapping[str, Postings]
    _seq: int
    lengths: Floats
    """Terms of every document that has entered, float64 [entered]; 0 for those that left."""
    _gone: frozenset[int]
    _total: int

    @property
    def documents(self) -> int:
        """How many documents are visible."""
        return len(self.lengths) - len(self._gone)

    @property
    def mean_length(self) -> float:
        """Mean number of terms of the visible documents; 0.0 if there are none."""
        return self._total / self.documents if self.documents else 0.0

    def document_frequency(self, term: str) -> int:
        """How many visible documents hold the term."""
        postings = self._postings.get(term)
        if postings is None:
            return 0
        return bisect_left(postings.ordinals, len(self.lengths)) - bisect_right(postings.left, self._seq)

    def idf(self, term: str) -> float:
        """The term's inverse document frequency among the visible documents."""
        return inverse_document_frequency(self.documents, self.document_frequency(term))

    def occurrences(self, term: str) -> Occurrences:
        """Where the term occurs among the visible documents."""
        postings = self._postings.get(term) or Postings()
        entered = bisect_left(postings.ordinals, len(self.lengths))
        ordinals = np.frombuffer(postings.ordinals[:entered], np.int64)
        counts = np.frombuffer(postings.counts[:entered], np.int64)
        if not self._gone:
            return Occurrences(ordinals, counts)
        visible = np.array([ordinal not in self._gone for ordinal in ordinals.tolist()], np.bool_)
        return Occurrences(ordinals[visible], counts[visible])

    def scores(self, terms: Iterable[str]) -> Floats:
        """BM25 of every document that has entered, float64 [entered]. A repeated term counts once; those that left have 0."""
        scores = np.zeros(len(self.lengths))
        for term in dict.fromkeys(terms):
            found = self.occurrences(term)
            weights = saturated(found.counts.astype(np.float64), self.lengths[found.ordinals], self.mean_length)
            scores[found.ordinals] += self.idf(term) * weights
        return scores
