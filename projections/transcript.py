"""What was said, turn by turn, and which turns were in the session at any moment.

Bounded state has no past, so the window is not kept: it is the slice of the log since the last closed episode before
the basis. A turn that the user withdrew is gone from the basis at which that was recorded.
"""

import bisect

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import Envelope
from events.vocabulary import ConversationEnded, EpisodeClosed, MemoryForgotten, TurnEmbedded, TurnRecorded

Vector = npt.NDArray[np.int16]
NEVER = 1 << 62


class TurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """One turn. `turn` is its place in the conversation, from 1; times are microseconds."""

    seq: int
    turn_id: str
    conversation: str
    turn: int
    role: str
    speaker: str | None
    content: str
    occurred_at: int
    recorded_at: int
    channel: str | None = None


class ConversationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation as of a basis. `open` turns are in the session; `first` and `last` are microseconds."""

    conversation: str
    turns: int
    open: int
    first: int
    last: int
    ended: bool


class Transcript:
    """All turns by seq, with what closed and what withdrew them."""

    def __init__(self) -> None:
        self._rows: dict[int, TurnRow] = {}
        self._seqs: list[int] = []
        self._by_conversation: dict[str, list[int]] = {}
        self._closed: dict[str, list[tuple[int, int]]] = {}
        self._ended: dict[str, list[int]] = {}
        self._withdrawn: dict[int, int] = {}
        self._vectors: dict[int, Vector] = {}
        self._embedded_from = NEVER
        self._space = "", 0

    def apply(self, envelope: Envelope) -> None:
        """Fold one event."""
        match envelope.data:
            case TurnRecorded() as data:
                self._add(envelope, data)
            case TurnEmbedded(turn_seq=turn, model=model) if envelope.vector is not None and len(envelope.vector):
                self._vectors[turn] = envelope.vector[0]
                if self._embedded_from == NEVER:
                    self._embedded_from, self._space = envelope.seq, (model, envelope.vector.shape[1])
            case EpisodeClosed() as data:
                self._closed.setdefault(data.conversation, []).append((envelope.seq, data.turn_end))
            case ConversationEnded(conversation=conversation):
                self._ended.setdefault(conversation, []).append(envelope.seq)
            case MemoryForgotten(turns=turns):
                for turn in turns:
                    self._withdrawn.setdefault(turn, envelope.seq)
            case _:
                pass

    def _add(self, envelope: Envelope, data: TurnRecorded) -> None:
        self._rows[envelope.seq] = TurnRow(
            seq=envelope.seq,
            turn_id=data.turn_id,
            conversation=data.conversation,
            turn=data.turn,
            role=data.role,
            speaker=data.speaker,
            content=data.content,
            occurred_at=envelope.happened_at,
            recorded_at=envelope.recorded_at,
            channel=data.channel,
        )
        self._seqs.append(envelope.seq)
        self._by_conversation.setdefault(data.conversation, []).append(envelope.seq)

    def get(self, seq: int) -> TurnRow:
        """The turn recorded by event `seq`. Raises KeyError."""
        return self._rows[seq]

    def vector(self, turn: int) -> Vector | None:
        """The recorded vector [d] of the turn, if it has one: of its first piece, or, for a short turn, with its past."""
        return self._vectors.get(turn)

    def embedded(self, seq: int, model: str) -> int:
        """The dimensions of the vectors that are searched; 0 where there was none by event `seq`, or another model's."""
        return self._space[1] if self._embedded_from <= seq and self._space[0] == model else 0

    def withdrawn(self, turn: int, seq: int) -> bool:
        """Whether the turn had been withdrawn by event `seq`."""
        return self._withdrawn.get(turn, seq + 1) <= seq

    def count(self, seq: int) -> int:
        """How many turns had been recorded by event `seq`."""
        return bisect.bisect_right(self._seqs, seq)

    def after(self, start: int, seq: int) -> list[TurnRow]:
        """Turns recorded by events `start` + 1 to `seq`, in order."""
        return [self._rows[one] for one in self._seqs[self.count(start) : self.count(seq)]]

    def past(self, seq: int, count: int) -> list[TurnRow]:
        """The `count` turns before turn `seq` in its conversation, oldest first, without those that have been withdrawn."""
        seqs = self._by_conversation[self._rows[seq].conversation]
        at = bisect.bisect_left(seqs, seq)
        return self._kept(seqs[max(0, at - count) : at])

    def last(self, conversation: str, count: int) -> list[TurnRow]:
        """The last `count` turns of a conversation, oldest first, without those that have been withdrawn."""
        return self._kept(self._by_conversation.get(conversation, [])[-count:])

    def _kept(self, seqs: list[int]) -> list[TurnRow]:
        return [self._rows[one] for one in seqs if one not in self._withdrawn]

    def window(self, conversation: str, seq: int) -> list[TurnRow]:
        """The session of a conversation as of event `seq`."""
        upto = max((turn for closed, turn in self._closed.get(conversation, ()) if closed <= seq), default=0)
        return [row for row in self._visible(conversation, seq) if row.turn > upto and not self.withdrawn(row.seq, seq)]

    def _visible(self, conversation: str, seq: int) -> list[TurnRow]:
        seqs = self._by_conversation.get(conversation, [])
        return [self._rows[one] for one in seqs[: bisect.bisect_right(seqs, seq)]]

    def latest_conversation(self, seq: int) -> str | None:
        """The conversation of the last turn by event `seq`."""
        at = self.count(seq)
        return self._rows[self._seqs[at - 1]].conversation if at else None

    def conversations(self, seq: int) -> list[ConversationRow]:
        """All conversations as of event `seq`, in order of their first turns."""
        return [self._conversation(name, rows, seq) for name in self._by_conversation if (rows := self._visible(name, seq))]

    def _conversation(self, name: str, rows: list[TurnRow], seq: int) -> ConversationRow:
        return ConversationRow(
            conversation=name,
            turns=len(rows),
            open=len(self.window(name, seq)),
            first=rows[0].occurred_at,
            last=rows[-1].occurred_at,
            ended=any(rows[-1].seq < ended <= seq for ended in self._ended.get(name, ())),
        )
