"""What is kept of an answer that was served: ids and scores, never text."""

from events.vocabulary import MemoryRecalled
from memory_actors.reads.context import Context
from memory_actors.reads.recall import Recall


def served(answer: Recall | Context, policy: str, conversation: str | None) -> MemoryRecalled:
    """The access history, and the answer to "why did it say that on Tuesday?"."""
    if isinstance(answer, Recall):
        return MemoryRecalled(
            kind="recall",
            basis_seq=answer.basis.seq,
            now=answer.basis.now,
            policy=policy,
            conversation=conversation,
            turns=tuple((hit.seq, hit.score) for hit in answer.hits),
            facts=tuple(hit.fact.id for hit in answer.facts),
            episodes=tuple(hit.episode.id for hit in answer.episodes),
        )
    return MemoryRecalled(
        kind="context",
        basis_seq=answer.basis.seq,
        now=answer.basis.now,
        policy=policy,
        conversation=conversation,
        turns=tuple((int(source[1:]), 0.0) for source in answer.sources if source.startswith("@")),
        facts=tuple(source for source in answer.sources if source.startswith("f")),
        episodes=tuple(source for source in answer.sources if source.startswith("e")),
        tokens=answer.tokens,
    )
