"""How good a ranking is, where what is relevant is known. Binary gains; pure.

A ranking is a sequence of distinct items, best first, of any hashable kind.
"""

import math
from collections.abc import Collection, Hashable, Sequence


def recall_at(k: int, ranked: Sequence[Hashable], relevant: Collection[Hashable]) -> float:
    """The share of the relevant items that are among the first `k`. At least one must be relevant."""
    wanted = _some(relevant)
    return len(wanted & set(ranked[:k])) / len(wanted)


def ndcg_at(k: int, ranked: Sequence[Hashable], relevant: Collection[Hashable]) -> float:
    """Normalised discounted cumulative gain of the first `k`: gain 1 / log2(1 + place), over that of the best ranking.

    Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques" (2002), with binary gains.
    """
    wanted = _some(relevant)
    gained = math.fsum(_discount(place) for place, item in enumerate(ranked[:k], 1) if item in wanted)
    return gained / math.fsum(_discount(place) for place in range(1, min(k, len(wanted)) + 1))


def _discount(place: int) -> float:
    return 1.0 / math.log2(1 + place)


def _some(relevant: Collection[Hashable]) -> set[Hashable]:
    if not relevant:
        raise ValueError("nothing is relevant: there is nothing to measure")
    return set(relevant)
