"""What is forgotten does not come back, by no way; the past still explains it."""

from pathlib import Path
from typing import Any

import pytest
from embedders import HashedStems
from histories import SMALL, open_memory, tell

from events.commands import Forget
from events.errors import InvalidInput
from events.policy import Policy
from memory_actors.actors.enricher import is_due
from memory_actors.actors.writer import acks
from memory_actors.ingest import enrich
from memory_actors.memory import Memory
from memory_actors.user import Reads

SAID = (
    "I live in Porto.",
    "I am vegetarian and I love mushrooms.",
    "The surprise party for Rui is on Friday.",
    "Rui must not hear of the surprise party.",
    "The boats left the harbour.",
    "A database for the turbines was chosen.",
    "It rains a lot.",
)


def told(path: Path) -> Memory:
    memory = open_memory(path / "s", policy=SMALL)
    tell(memory, "ann", *SAID)
    return memory


def now(memory: Memory) -> Reads:
    return memory.user("ann").as_of("now")


def shown(reads: Reads) -> str:
    """All that recall, contexts, sessions, facts, summaries and titles say."""
    parts = [str(reads.context(query, budget=3000)) for query in ("surprise party", "vegetarian mushrooms", None)]
    parts += [hit.content for query in ("surprise party", "what do I eat, vegetarian?") for hit in reads.recall(query, k=100).hits]
    parts += [row.content for row in reads.session()[1]]
    parts += [f"{row.key}: {row.value}" for row in reads.facts()]
    parts += [f"{row.title} {row.summary} {row.topics}" for row in reads.episodes()]
    return "\n".join(parts).casefold()


@pytest.mark.parametrize(("text", "gone"), [("the surprise party", "party"), ("that I am vegetarian", "vegetarian")])
def test_nothing_of_it_comes_back(tmp_path: Path, text: str, gone: str) -> None:
    """Not at once, and not after the background work that follows; other things stay."""
    memory = told(tmp_path)
    user = memory.user("ann")

    assert gone in shown(now(memory))

    found = user.forget(text)

    assert found.found
    assert gone not in shown(now(memory))

    enrich(memory, user.stream)

    assert gone not in shown(now(memory))
    assert "porto" in shown(now(memory))


def test_the_past_still_explains(tmp_path: Path) -> None:
    """As of before, everything is as it was, and why a withdrawn fact was believed is there."""
    memory = told(tmp_path)
    user = memory.user("ann")
    seq = len(list(now(memory).events()))
    before = shown(user.as_of(f"@{seq}"))
    [diet] = [row.id for row in now(memory).facts() if row.key == "diet"]
    user.forget("that I am vegetarian")
    enrich(memory, user.stream)

    assert before == shown(user.as_of(f"@{seq}"))
    assert "TurnRecorded" == now(memory).why(diet)[0].type
    assert ["retracted"] == [row.status for row in now(memory).facts(all=True) if row.id == diet]


def test_episodes_are_summarised_again_without_the_withdrawn_turns(tmp_path: Path) -> None:
    """The episode keeps its span; its summary is due, and made of what is left."""
    memory = told(tmp_path)
    [first, *_] = now(memory).episodes()
    found = memory.user("ann").forget("the surprise party")
    second = now(memory).episodes()[1]

    assert [row.id for row in now(memory).episodes() if not row.summary] == list(found.episodes) or second.summary

    enrich(memory, memory.user("ann").stream)
    again = now(memory).episodes()

    assert [first.id, second.id] == [row.id for row in again[:2]]
    assert all("party" not in row.summary for row in again)
    assert first.summary == again[0].summary


def test_an_episode_of_withdrawn_turns_only_is_not_summarised_again(tmp_path: Path) -> None:
    """And asks for no more background work."""
    memory = open_memory(tmp_path / "s", policy=SMALL)
    tell(memory, "ann", "secret one", "secret two", "a", "b", "c")
    memory.user("ann").forget("secret")
    enrich(memory, memory.user("ann").stream)

    assert [""] == [row.summary for row in now(memory).episodes()]
    assert not is_due(now(memory).reader().view, Policy())


@pytest.mark.parametrize("text", ["zeppelins", "that I live in Kyoto", "f999", "my favourite colour"])
def test_forgetting_what_is_not_there_changes_nothing(tmp_path: Path, text: str) -> None:
    memory = told(tmp_path)
    before = [row.digest for row in memory.log.read(memory.user("ann").stream).rows]

    assert 0 == memory.user("ann").forget(text).found
    assert before == [row.digest for row in memory.log.read(memory.user("ann").stream).rows]


def test_forgetting_twice_finds_nothing_the_second_time(tmp_path: Path) -> None:
    memory = told(tmp_path)

    assert 2 == memory.user("ann").forget("the surprise party").found
    assert 0 == memory.user("ann").forget("the surprise party").found


def test_turns_that_are_still_pending_are_enriched_first_and_withdrawn_with_their_facts(tmp_path: Path) -> None:
    memory = told(tmp_path)
    tell(memory, "ann", "I'm allergic to hazelnuts.", enriched=False)
    found = memory.user("ann").forget("that I'm allergic to hazelnuts")

    assert (["hazelnuts"], 1) == ([row.value for row in found.facts], len(found.turns))


def test_a_withdrawn_fact_can_be_said_anew(tmp_path: Path) -> None:
    memory = told(tmp_path)
    memory.user("ann").forget("where I live")
    tell(memory, "ann", "I live in Porto.")

    assert ["Porto"] == [row.value for row in now(memory).facts() if row.key == "home_city"]


@pytest.mark.parametrize("text", ["", " \t", "half \udc00"])
def test_a_text_that_names_nothing_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput):
        told(tmp_path).user("ann").forget(text)


class Told(HashedStems):
    """An embedder that remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return super().embed(texts)


def test_withdrawn_words_flow_into_nothing_that_is_made_later(tmp_path: Path) -> None:
    """A short turn is embedded with the turns before it, but not with one that was withdrawn, nor is that one cited."""
    embedder = Told()
    memory = open_memory(tmp_path / "s", embedder=embedder)
    tell(memory, "ann", "I live in Porto.")
    memory.user("ann").forget("Porto")
    embedder.texts.clear()
    tell(memory, "ann", "Hello there.")
    withdrawn = {turn.seq for turn in memory.user("ann").as_of("@1").reader().view.turns.after(0, 1)}
    later = [event for event in memory.user("ann").as_of("now").events() if event.type == "TurnEmbedded"][-1]

    assert [] == [text for text in embedder.texts if "Porto" in text]
    assert set() == withdrawn & {source.seq for source in later.sources}


def test_a_vector_cites_every_turn_whose_words_it_holds(tmp_path: Path) -> None:
    """So that an erasure that follows sources finds it."""
    memory = open_memory(tmp_path / "s")
    tell(memory, "ann", "I live in Porto.", "Yes, there.")
    reads = now(memory)
    first, second = reads.session()[1]
    embedded = [event for event in reads.events() if event.type == "TurnEmbedded"]

    assert [(first.seq,), (first.seq, second.seq)] == [tuple(source.seq for source in event.sources) for event in embedded]


def test_work_that_was_under_way_when_a_turn_was_withdrawn_keeps_nothing_of_it(tmp_path: Path) -> None:
    """The vector that was computed with it is dropped, and the facts that only it stated go with it."""
    memory = open_memory(tmp_path / "s")
    tell(memory, "ann", "I live in Porto.")
    tell(memory, "ann", "Yes, there.", enriched=False)
    stream = memory.user("ann").stream
    under_way = memory.enricher.next(now(memory).reader().view)
    assert under_way is not None
    acks(memory.writer.execute(stream, [Forget(id="f", text="Porto", turns=(1,))]))
    acks(memory.writer.execute(stream, [under_way]))
    embedded = [event.data.turn_seq for event in now(memory).events() if event.type == "TurnEmbedded"]

    assert [1] == embedded
    assert [] == now(memory).facts()
