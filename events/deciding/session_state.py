"""The write side of the session: which turns of a conversation are open, and when the oldest of them close."""

from collections.abc import Iterator

import msgspec

from events.envelope import NewEvent
from events.policy import SessionRules
from events.vocabulary import EpisodeClosed


class OpenTurn(msgspec.Struct, frozen=True):
    """A turn in the session: its seq in the stream, and its place in the conversation."""

    seq: int
    turn: int


class Conversation(msgspec.Struct):
    """One conversation: how many turns it has had, and those that have not left the session."""

    turns: int = 0
    open: list[OpenTurn] = []
    latest: tuple[int, ...] = ()
    """The seqs of the last `PAST_TURNS` turns."""

    def close(self, upto_turn: int) -> None:
        """Turns up to this one have left the session."""
        self.open = [turn for turn in self.open if turn.turn > upto_turn]


def closings(name: str, turns: list[OpenTurn], next_seq: int, rules: SessionRules) -> Iterator[NewEvent]:
    """The episode that closes when the session holds more than `window` turns: the oldest `window - keep` of them."""
    if len(turns) > rules.window:
        yield closed(name, turns[: rules.window - rules.keep or 1], next_seq)


def closed(name: str, turns: list[OpenTurn], next_seq: int) -> NewEvent:
    """These turns of the conversation, as an episode named by its seq."""
    seqs = tuple(turn.seq for turn in turns)
    data = EpisodeClosed(episode=f"e{next_seq}", conversation=name, turn_start=turns[0].turn, turn_end=turns[-1].turn, turns=seqs)
    return NewEvent(data, sources=seqs)
