"""The default weights of the ranking's signals.

Fitted on the five LoCoMo conversations conv-26, 30, 41, 42 and 43 (760 questions of categories 1 to 4 with evidence) by

    memory-actors evaluate locomo FOLDER/conv-*.json --leave-one-out --json

with vectors of all-MiniLM-L6-v2. Each conversation left out in turn: recall@5 0.776, @10 0.836, @20 0.880, nDCG@10 0.698
(BM25 alone 0.54, 0.61, 0.68, 0.48). Weights above 0 sum to 1: a turn for which everything speaks scores about 1.
`recency` is not fitted, because such questions are asked about all times alike: it is just enough to put the newer of two
equals first (at 0.005 nothing measured moves by more than 0.001); a policy may raise it.
"""

from typing import Final

WEIGHTS: Final[dict[str, float]] = {
    "dense": 0.1088,
    "near": 0.0824,
    "sitting_dense": 0.0744,
    "bm25": 0.0391,
    "window": 0.0505,
    "coverage": 0.0588,
    "sitting": 0.0969,
    "reply": 0.0367,
    "reply_dense": 0.0397,
    "speaker": 0.0207,
    "length": 0.0644,
    "speaker_length": 0.0408,
    "when": 0.0488,
    "number": 0.0209,
    "which": 0.0297,
    "time": 0.0115,
    "name": 0.01,
    "asks": -0.0837,
    "date": 0.1659,
    "recency": 0.005,
}
