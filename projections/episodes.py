"""Closed episodes, their summaries, and which of them resemble a query: as of any moment.

A summary counts from the event that brought it until the next one, or until a turn that it drew on is withdrawn.
"""

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import Envelope
from events.vocabulary import EpisodeClosed, EpisodeSummarised, MemoryForgotten
from projections.index.dense import DenseRows
from projections.index.growable import Growable

Vector = npt.NDArray[np.int16]
NEVER = 2**63 - 1
DECIMALS = 9
ROUNDING = 1e-8
"""More than rounding to `DECIMALS` moves a score."""


class EpisodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One closed episode. `title` and `summary` are empty while the summary is due."""

    id: str
    conversation: str
    title: str
    summary: str
    turn_start: int
    turn_end: int
    topics: tuple[str, ...]
    turns: tuple[int, ...]
    closed_at: int
    summarised_seq: int


class _Episode:
    """One episode's history: (from seq, summary or None), in order."""

    def __init__(self, data: EpisodeClosed, envelope: Envelope) -> None:
        self.data, self.seq, self.closed_at = data, envelope.seq, envelope.happened_at
        self.summaries: list[tuple[int, EpisodeSummarised | None]] = []

    def summary(self, seq: int) -> tuple[int, EpisodeSummarised] | None:
        at, data = next((one for one in reversed(self.summaries) if one[0] <= seq), (0, None))
        return None if data is None else (at, data)

    def row(self, seq: int) -> EpisodeRow:
        found = self.summary(seq)
        return EpisodeRow(
            id=self.data.episode,
            conversation=self.data.conversation,
            title=found[1].title if found else "",
            summary=found[1].summary if found else "",
            turn_start=self.data.turn_start,
            turn_end=self.data.turn_end,
            topics=found[1].topics if found else (),
            turns=self.data.turns,
            closed_at=self.closed_at,
            summarised_seq=found[0] if found else 0,
        )


class _Summaries:
    """The vectors of summaries, of one dimension: whose each is, until when it counted, and its squared length."""

    def __init__(self) -> None:
        self.rows, self.left, self.norms = DenseRows(), Growable(np.int64), Growable(np.float64)
        self.of: list[_Episode] = []
        self._latest: dict[str, int] = {}

    def add(self, seq: int, episode: _Episode, vector: Vector) -> None:
        self.rows.add(seq, len(self.of), vector[np.newaxis])
        self.left.append(NEVER)
        self.norms.append(_norm(vector))
        self._latest[episode.data.episode] = len(self.of)
        self.of.append(episode)

    def end(self, seq: int, name: str) -> None:
        """From `seq` on the episode's last summary counts no more."""
        if (row := self._latest.pop(name, None)) is not None:
            self.left.put(row, seq)

    def nearest(self, vector: Vector, seq: int, k: int) -> list[tuple[float, _Episode]]:
        """A few more than the `k` nearest as of `seq`, in no order. Sums, products and roots are those of exact integers."""
        dots = self.rows.dots(vector, seq)[1].astype(np.float64)
        norms = self.norms.first(len(dots)) * float(_norm(vector))
        cosines = np.divide(dots, np.sqrt(norms), out=np.zeros(len(dots)), where=norms > 0)
        places = np.flatnonzero(self.left.first(len(dots)) > seq)
        if k < len(places):
            least = np.partition(cosines[places], len(places) - k)[len(places) - k]
            places = places[cosines[places] > least - ROUNDING]
        return [(round(float(cosines[at]), DECIMALS), self.of[at]) for at in places.tolist()]


class EpisodeTable:
    """All episodes of a stream."""

    def __init__(self) -> None:
        self._episodes: dict[str, _Episode] = {}
        self._vectors: dict[int, _Summaries] = {}

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""
        match envelope.data:
            case EpisodeClosed() as data:
                self._episodes[data.episode] = _Episode(data, envelope)
            case EpisodeSummarised() as data if data.episode in self._episodes:
                self._summarise(envelope, data)
            case MemoryForgotten(episodes=episodes):
                for name in episodes:
                    self._withdraw(envelope.seq, name)
            case _:
                pass

    def _summarise(self, envelope: Envelope, data: EpisodeSummarised) -> None:
        self._withdraw(envelope.seq, data.episode)
        episode = self._episodes[data.episode]
        episode.summaries[-1] = (envelope.seq, data)
        if envelope.vector is not None and len(envelope.vector):
            self._vectors.setdefault(envelope.vector.shape[1], _Summaries()).add(envelope.seq, episode, envelope.vector[0])

    def _withdraw(self, seq: int, name: str) -> None:
        if name in self._episodes:
            self._episodes[name].summaries.append((seq, None))
            for vectors in self._vectors.values():
                vectors.end(seq, name)

    def view(self, seq: int) -> list[EpisodeRow]:
        """The episodes closed by event `seq`, in order."""
        return [episode.row(seq) for episode in self._visible(seq)]

    def _visible(self, seq: int) -> list[_Episode]:
        return [episode for episode in self._episodes.values() if episode.seq <= seq]

    def containing(self, turns: set[int], seq: int) -> list[EpisodeRow]:
        """The episodes that hold any of these turns."""
        return [row for row in self.view(seq) if turns & set(row.turns)]

    def nearest(self, vector: Vector, seq: int, k: int) -> list[tuple[EpisodeRow, float]]:
        """The `k` episodes whose summaries resemble the query vector [d] most, by cosine similarity; later ones first among equals."""
        known = self._vectors.get(len(vector))
        scored = [] if known is None else known.nearest(vector, seq, k)
        scored.sort(key=lambda pair: (-pair[0], -pair[1].seq))
        return [(episode.row(seq), score) for score, episode in scored[:k]]


def _norm(vector: Vector) -> int:
    wide = vector.astype(np.int64)
    return int(wide @ wide)
