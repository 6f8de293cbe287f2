"""What recall costs at ten thousand turns: against a bare numpy scan of as many vectors, part by part."""

import random
from statistics import median
from time import perf_counter

import numpy as np
import pytest
from builders import ANN
from measure import interleaved, report, seconds

from events.envelope import Envelope
from events.errors import ModelMissing
from events.policy import Policy
from events.vocabulary import EpisodeClosed, EpisodeSummarised, FactAsserted, Payload, TurnEmbedded, TurnRecorded
from memory_actors.models.embedder import DEFAULT_MODEL, embedder_named
from memory_actors.reads import recall as parts
from memory_actors.reads.recall import Filters, recall
from projections.index.dense import quantised
from projections.index.weights import WEIGHTS
from projections.view import StreamView, fold

TURNS, FACTS, DIMENSIONS, QUERIES, ROUNDS, K, SEED = 10_000, 100, 384, 20, 7, 10, 7
WORDS = 5000
MINUTE = 60_000_000

pytestmark = pytest.mark.benchmark


class History:
    """Synthetic turns: words by Zipf's law, some twenty each, a vector each; sessions of 50 turns; facts and episodes beside."""

    def __init__(self) -> None:
        self._random, self._events = random.Random(SEED), list[Envelope]()
        self._vectors = quantised(np.random.default_rng(SEED).standard_normal((2 * TURNS, DIMENSIONS)))
        self._vocabulary = [f"{self._random.choice('bcdfglmnprst')}{self._random.choice('aeiou')}{number:x}" for number in range(WORDS)]
        self._frequencies = [1 / rank for rank in range(1, WORDS + 1)]

    def sentence(self, words: int) -> str:
        """Words that a vocabulary's frequencies make."""
        return " ".join(self._random.choices(self._vocabulary, self._frequencies, k=words))

    def query(self) -> str:
        """A question of six words."""
        return f"When did Ann {self.sentence(4)}?"

    def view(self) -> StreamView:
        """Everything folded."""
        for number in range(TURNS):
            self._turn(number)
            if number % 10 == 9 and number > 20:
                self._episode(number)
            if number % (TURNS // FACTS) == 0:
                self._fact(number)
        return fold(ANN, self._events)

    def _turn(self, number: int) -> None:
        said = TurnRecorded(
            turn_id=f"t{number}",
            conversation=f"s{number // 50}",
            turn=number % 50 + 1,
            role="user" if number % 2 == 0 else "assistant",
            speaker=("Ann", "Bob")[number % 2],
            content=self.sentence(self._random.randint(5, 35)),
        )
        turn = self._add(said, number)
        self._add(TurnEmbedded(turn_seq=turn, model="random", kinds=("turn",)), number, number)

    def _episode(self, number: int) -> None:
        name = f"e{len(self._events)}"
        self._add(EpisodeClosed(episode=name, conversation=f"s{number // 50}", turn_start=1, turn_end=10, turns=(1,)), number)
        self._add(EpisodeSummarised(episode=name, title=self.sentence(5), summary=self.sentence(30), model="x"), number, TURNS + number)

    def _fact(self, number: int) -> None:
        fact = FactAsserted(
            fact=f"f{number}",
            subject="user",
            category="preference",
            key=f"likes {number}",
            value=self.sentence(3),
            confidence=0.9,
            importance=0.6,
            extractor="x",
        )
        self._add(fact, number)

    def _add(self, data: Payload, number: int, vector: int | None = None) -> int:
        seq = len(self._events) + 1
        row = None if vector is None else self._vectors[vector : vector + 1]
        time = 1_700_000_000_000_000 + number * MINUTE
        event = Envelope(
            space=ANN.space,
            user=ANN.user,
            seq=seq,
            type=type(data).__name__,
            schema_version=1,
            recorded_at=time + seq,
            data=data,
            vector=row,
        )
        self._events.append(event)
        return seq


def embedding_time(queries: list[str]) -> float | None:
    """Median seconds of one query's embedding by the default model; None where it cannot be loaded."""
    embedder = embedder_named(DEFAULT_MODEL)
    assert embedder is not None
    try:
        embedder.embed(queries[:1])
    except ModelMissing:
        return None
    taken = []
    for query in queries:
        start = perf_counter()
        embedder.embed([query])
        taken.append(perf_counter() - start)
    return median(taken)


@pytest.mark.filterwarnings("ignore")
def test_recall() -> None:
    """Recall without its query's embedding, in units of the scan: aim 8."""
    history = History()
    view, policy = history.view(), Policy()
    basis, queries = view.latest(0), [history.query() for _ in range(QUERIES)]
    vectors = quantised(np.random.default_rng(SEED + 1).standard_normal((QUERIES, DIMENSIONS)))
    matrix = np.random.default_rng(SEED).standard_normal((TURNS, DIMENSIONS)).astype(np.float32)
    scans, weights = vectors.astype(np.float32), {**WEIGHTS, **policy.recall.weights}
    allowed = Filters().turns(view, basis.seq)
    ranked = view.index.search(queries[0], vectors[0], seq=basis.seq, now=basis.now, weights=weights, allowed=allowed, k=K)

    def scan(at: int) -> object:
        scores = matrix @ scans[at % QUERIES]
        best = np.argpartition(scores, -K)[-K:]
        return best[np.argsort(-scores[best])]

    def search(at: int, vector: bool = True) -> object:
        given = vectors[at % QUERIES] if vector else None
        return view.index.search(queries[at % QUERIES], given, seq=basis.seq, now=basis.now, weights=weights, allowed=allowed, k=K)

    steps = {
        "numpy scan and top 10": scan,
        "recall": lambda at: recall(view, queries[at % QUERIES], k=K, basis=basis, policy=policy, vector=vectors[at % QUERIES]),
        "  index.search": search,
        "  index.search without a vector": lambda at: search(at, vector=False),
        "  facts leg": lambda at: parts.fact_hits(view, queries[at % QUERIES], basis, None, K),
        "  episodes leg": lambda at: parts._episode_hits(view, vectors[at % QUERIES], basis.seq, K),
        "  hits": lambda _: [parts._hit(view.turns.get(turn), score, legs) for turn, score, legs in ranked],
        "  filter and what is pending": lambda _: (Filters().turns(view, basis.seq), view.pending(basis.seq)),
    }
    taken = interleaved(ROUNDS * QUERIES, steps, warm=QUERIES)
    bare = taken["numpy scan and top 10"]
    embedding = embedding_time(queries)
    rows = [(name, seconds(value), f"{value / bare:.2f}") for name, value in taken.items()]
    rows.append(
        (
            "embedding of a query, apart",
            "no model" if embedding is None else seconds(embedding),
            "" if embedding is None else f"{embedding / bare:.2f}",
        )
    )
    report(
        f"{TURNS:,} turns, {DIMENSIONS} dimensions, {FACTS} facts, {TURNS // 10 - 2:,} episodes; {QUERIES} queries, {ROUNDS} rounds; seed {SEED}",
        __file__,
        ("recall", "median", "x scan"),
        rows,
        f"aim: recall less the embedding at most 8 x scan; here {taken['recall'] / bare:.2f}",
    )
