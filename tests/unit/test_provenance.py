"""Why a fact is believed: its events and what they are derived from, oldest first, as of any moment."""

from pathlib import Path

import pytest
from histories import open_memory, tell

from events.errors import InvalidInput
from memory_actors.memory import Memory
from memory_actors.user import Reads


def told(path: Path) -> Memory:
    memory = open_memory(path / "s")
    tell(memory, "ann", "I live in Porto.", "The weather is fine.", "I moved to Lisbon.", "I live in Lisbon.")
    return memory


def kinds(reads: Reads, fact: str) -> list[str]:
    return [event.type for event in reads.why(fact)]


def current(memory: Memory, everything: bool = False) -> dict[str, str]:
    return {row.value: row.id for row in memory.user("ann").as_of("now").facts(all=everything) if row.key == "home_city"}


def test_a_fact_leads_back_to_what_was_said(tmp_path: Path) -> None:
    """To every turn that said so, and to no other."""
    memory = told(tmp_path)
    events = memory.user("ann").as_of("now").why(current(memory)["Lisbon"])

    assert ["I moved to Lisbon.", "I live in Lisbon."] == [event.data.content for event in events if event.type == "TurnRecorded"]
    assert sorted(event.seq for event in events) == [event.seq for event in events]
    assert {"TurnRecorded", "FactAsserted", "FactConfirmed"} == {event.type for event in events}


def test_what_ended_a_fact_is_part_of_why(tmp_path: Path) -> None:
    memory = told(tmp_path)
    events = memory.user("ann").as_of("now").why(current(memory, everything=True)["Porto"])

    assert ["FactEnded"] == [event.type for event in events if event.type not in ("TurnRecorded", "FactAsserted")]
    assert ["I live in Porto.", "I moved to Lisbon."] == [event.data.content for event in events if event.type == "TurnRecorded"]


def test_a_correction_and_a_withdrawal_are_part_of_why(tmp_path: Path) -> None:
    memory = told(tmp_path)
    user = memory.user("ann")
    user.correct(current(memory)["Lisbon"], "Faro")
    old = kinds(user.as_of("now"), current(memory, everything=True)["Lisbon"])
    user.forget("Faro")
    new = kinds(user.as_of("now"), current(memory, everything=True)["Faro"])

    assert ["FactCorrected", "FactRetracted"] == old[-2:]
    assert "MemoryForgotten" == new[-1]
    assert "FactCorrected" in new


def test_the_past_knows_nothing_of_later_reasons(tmp_path: Path) -> None:
    memory = told(tmp_path)
    user, lisbon = memory.user("ann"), current(memory)["Lisbon"]
    seq = len(list(user.as_of("now").events()))
    before = kinds(user.as_of("now"), lisbon)
    user.correct(lisbon, "Faro")

    assert before == kinds(user.as_of(f"@{seq}"), lisbon)


def test_an_unknown_fact_is_an_error_that_offers_known_ones(tmp_path: Path) -> None:
    memory = told(tmp_path)

    with pytest.raises(InvalidInput, match=current(memory)["Lisbon"]):
        memory.user("ann").as_of("now").why("f999")
    with pytest.raises(InvalidInput, match="none yet"):
        memory.user("ann").as_of("@1").why(current(memory)["Lisbon"])
