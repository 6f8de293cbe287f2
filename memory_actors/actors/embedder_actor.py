"""One model for many callers: what they ask at the same time is encoded as one batch.

Whoever comes while the model is busy waits; the first to go on encodes for all who wait. So a lone caller waits for
nobody, and a crowd shares batches. A text that fails fails for its caller alone. It computes; it is the UserActor that records.
"""

import threading
from collections.abc import Sequence

import msgspec
import numpy as np

from events.envelope import Vectors
from events.errors import Busy
from memory_actors.models.embedder import Embedder, embedded

BATCH_TEXTS = 256
"""So many texts are encoded at once, unless one caller brings more."""


class Batches(msgspec.Struct, frozen=True):
    """What has been encoded: calls of callers, batches they became, texts in all, and the most calls in one batch."""

    calls: int = 0
    batches: int = 0
    texts: int = 0
    largest: int = 0


class _Request:
    """What one caller asked, and what came of it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.vectors: Vectors | None = None
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        return self.vectors is not None or self.error is not None


class EmbedderActor:
    """An embedder for many threads. `bound`: so many texts may wait; a call beyond it is refused (Busy)."""

    def __init__(self, embedder: Embedder, bound: int = 4096) -> None:
        self._embedder = embedder
        self._bound = bound
        self._queue = threading.Lock()
        self._model = threading.Lock()
        self._waiting: list[_Request] = []
        self._batches = Batches()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors [n, d] as int16. Raises Busy, ModelMissing, and whatever the model raises for these texts."""
        request = self._queued(texts)
        with self._model:
            while not request.done:
                self._encode(self._taken())
        if request.error is not None:
            raise request.error
        return np.asarray(request.vectors)

    def loaded(self) -> bool:
        """Whether the first use is over."""
        return bool(getattr(self._embedder, "loaded", True))

    def batches(self) -> Batches:
        """What has been encoded so far."""
        return self._batches

    def _queued(self, texts: Sequence[str]) -> _Request:
        request = _Request(texts)
        with self._queue:
            waiting = sum(len(one.texts) for one in self._waiting)
            if self._waiting and waiting + len(texts) > self._bound:
                raise Busy(f"{waiting} texts are waiting to be embedded, and {self._bound} may", retry_after=0.5)
            self._waiting.append(request)
        return request

    def _taken(self) -> list[_Request]:
        """The next batch: whole calls in order, at least one."""
        with self._queue:
            count, texts = 1, len(self._waiting[0].texts)
            while count < len(self._waiting) and texts + len(self._waiting[count].texts) <= BATCH_TEXTS:
                texts += len(self._waiting[count].texts)
                count += 1
            taken, self._waiting = self._waiting[:count], self._waiting[count:]
            return taken

    def _encode(self, taken: Sequence[_Request]) -> None:
        """Leaves a result with each request."""
        before = self._batches
        texts = [text for request in taken for text in request.texts]
        self._batches = Batches(before.calls + len(taken), before.batches + 1, before.texts + len(texts), max(before.largest, len(taken)))
        try:
            vectors = embedded(self._embedder, texts)
        except Exception as error:  # noqa: BLE001 - it is raised where the text came from
            if len(taken) == 1:
                taken[0].error = error
                return
            for request in taken:
                self._encode([request])
            return
        ends = np.cumsum([len(request.texts) for request in taken])
        for request, end in zip(taken, ends.tolist(), strict=True):
            request.vectors = vectors[end - len(request.texts) : end]
