"""What the search index learns from the log: turns enter, are embedded, and are withdrawn."""

from events.envelope import Envelope
from events.vocabulary import MemoryForgotten, TurnEmbedded, TurnRecorded
from projections.index.embedding_text import KINDS
from projections.index.ranking import TurnIndex


class TurnFeed:
    """Turns events into calls of the index. Vectors of one model are searched, the first one's: others do not compare.

    Vectors of kinds that a later version may bring are passed over.
    """

    def __init__(self, index: TurnIndex) -> None:
        self._index = index
        self._space: tuple[str, int] | None = None

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""
        match envelope.data:
            case TurnRecorded() as data:
                self._index.add(
                    envelope.seq,
                    conversation=data.conversation,
                    turn=data.turn,
                    role=data.role,
                    speaker=data.speaker,
                    content=data.content,
                    occurred_at=envelope.happened_at,
                )
            case TurnEmbedded() as data if envelope.vector is not None and len(envelope.vector):
                space = data.model, envelope.vector.shape[1]
                self._space = self._space or space
                if space == self._space and set(data.kinds) <= KINDS and len(data.kinds) == len(envelope.vector):
                    self._index.embed(envelope.seq, data.turn_seq, envelope.vector, data.kinds)
            case MemoryForgotten(turns=turns):
                for turn in turns:
                    self._index.withdraw(envelope.seq, turn)
            case _:
                pass
