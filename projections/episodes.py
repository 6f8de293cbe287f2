"""Closed episodes, their summaries, and which of them resemble a query: as of any moment.

A summary counts from the event that brought it until the next one, or until a turn that it drew on is withdrawn.
"""

import math

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import Envelope
from events.vocabulary import EpisodeClosed, EpisodeSummarised, MemoryForgotten

Vector = npt.NDArray[np.int16]


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
        self.summaries: list[tuple[int, EpisodeSummarised | None, Vector | None]] = []

    def summary(self, seq: int) -> tuple[int, EpisodeSummarised, Vector | None] | None:
        at, data, vector = next((one for one in reversed(self.summaries) if one[0] <= seq), (0, None, None))
        return None if data is None else (at, data, vector)

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


class EpisodeTable:
    """All episodes of a stream."""

    def __init__(self) -> None:
        self._episodes: dict[str, _Episode] = {}

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""
        match envelope.data:
            case EpisodeClosed() as data:
                self._episodes[data.episode] = _Episode(data, envelope)
            case EpisodeSummarised() as data if data.episode in self._episodes:
                vector = None if envelope.vector is None else envelope.vector[0]
                self._episodes[data.episode].summaries.append((envelope.seq, data, vector))
            case MemoryForgotten(episodes=episodes):
                for name in episodes:
                    if name in self._episodes:
                        self._episodes[name].summaries.append((envelope.seq, None, None))
            case _:
                pass

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
        scored = []
        for episode in self._visible(seq):
            found = episode.summary(seq)
            if found is not None and found[2] is not None and found[2].shape == vector.shape:
                scored.append((cosine(found[2], vector), episode))
        scored.sort(key=lambda pair: (-pair[0], -pair[1].seq))
        return [(episode.row(seq), score) for score, episode in scored[:k]]


def cosine(one: Vector, other: Vector) -> float:
    """Cosine similarity of two integer vectors, from exact sums, rounded to 9 decimals."""
    a, b = one.astype(np.int64), other.astype(np.int64)
    norms = int(a @ a) * int(b @ b)
    return round(int(a @ b) / math.sqrt(norms), 9) if norms else 0.0
