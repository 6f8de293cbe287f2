"""What `forget` withdraws: the facts that its words mean, and every turn that would bring them back.

A turn is withdrawn if it is a source of such a fact, or if it holds all the words asked about: else similarity finds
it a second later. The episodes that hold these turns lose their summaries, and are summarised again without them.
"""

import msgspec

from events.commands import Forget
from events.errors import InvalidInput
from memory_actors.reads.forgetting import match_facts
from memory_actors.reads.reading import Reader
from projections.facts import FactRow
from projections.index.tokens import terms
from projections.transcript import TurnRow

_ASKING = frozenset(terms("please forget delete remove remember memory know anything everything that i my me about"))


def check_text(text: str) -> None:
    """Raises InvalidInput for a text that names nothing."""
    if not text.strip():
        raise InvalidInput("say what to forget; an empty text names nothing")
    if not text.isascii() and text != text.encode(errors="replace").decode():
        raise InvalidInput("the text holds a lone surrogate (half of a character); it is not valid text")


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was withdrawn. `found`: how many facts and turns; `pending`: turns that are not enriched yet."""

    text: str
    facts: tuple[FactRow, ...]
    turns: tuple[TurnRow, ...]
    episodes: tuple[str, ...]
    pending: int = 0

    @property
    def found(self) -> int:
        """How many facts and turns."""
        return len(self.facts) + len(self.turns)

    @property
    def fact_ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(fact.id for fact in self.facts)

    @property
    def turn_seqs(self) -> tuple[int, ...]:
        """Their seqs."""
        return tuple(turn.seq for turn in self.turns)

    def command(self, command_id: str) -> Forget:
        """The command that withdraws it."""
        return Forget(id=command_id, text=self.text, facts=self.fact_ids, turns=self.turn_seqs)


def withdrawal(reader: Reader, text: str) -> Forgotten:
    """What `text` means at the reader's basis. Raises InvalidInput for a text that names nothing."""
    check_text(text)
    view, seq = reader.view, reader.basis.seq
    facts = match_facts(text, [fact for fact in reader.facts(everything=True) if fact.status in ("active", "pending")])
    sources = {turn for fact in facts for turn in fact.source_seqs}
    wanted = set(terms(text)) - _ASKING
    turns = [
        turn
        for turn in view.turns.after(0, seq)
        if not view.turns.withdrawn(turn.seq, seq) and (turn.seq in sources or (wanted and wanted <= set(terms(turn.content))))
    ]
    episodes = view.episodes.containing({turn.seq for turn in turns}, seq)
    return Forgotten(
        text=text, facts=tuple(facts), turns=tuple(turns), episodes=tuple(row.id for row in episodes), pending=view.pending(seq)
    )
