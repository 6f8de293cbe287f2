"""What was said, turn by turn, and the session at any moment."""

from events.envelope import Envelope
from events.vocabulary import ConversationEnded, EpisodeClosed, MemoryForgotten, Payload, TurnEmbedded, TurnRecorded
from projections.transcript import Transcript


def fed(*payloads: Payload, occurred_at: int | None = None) -> Transcript:
    transcript = Transcript()
    for seq, data in enumerate(payloads, 1):
        given = {"space": "s", "user": "u", "seq": seq, "type": type(data).__name__, "schema_version": 1, "recorded_at": seq * 10}
        transcript.apply(Envelope(**given, occurred_at=occurred_at, data=data))
    return transcript


def turn(number: int, conversation: str = "main", **fields: object) -> TurnRecorded:
    return TurnRecorded(turn_id=f"t{number}", conversation=conversation, turn=number, role="user", content=f"turn {number}", **fields)


def closed(upto: int, *turns: int) -> EpisodeClosed:
    return EpisodeClosed(episode=f"e{upto}", conversation="main", turn_start=1, turn_end=upto, turns=turns)


def seqs(rows: list) -> list[int]:
    return [row.seq for row in rows]


def test_a_turn_that_names_no_time_happened_when_it_was_recorded() -> None:
    assert fed(turn(1)).get(1).occurred_at == 10
    assert fed(turn(1), occurred_at=3).get(1).occurred_at == 3


def test_the_session_is_what_came_after_the_last_episode_that_had_closed() -> None:
    """At every seq as it was then, not as it is now."""
    transcript = fed(turn(1), turn(2), closed(1, 1), turn(3), closed(2, 2))

    assert [[], [1], [1, 2], [2], [2, 4], [4]] == [seqs(transcript.window("main", seq)) for seq in range(6)]


def test_a_withdrawn_turn_leaves_the_session_from_then_on() -> None:
    transcript = fed(turn(1), turn(2), MemoryForgotten(text="x", facts=(), turns=(1,)))

    assert [1, 2] == seqs(transcript.window("main", 2))
    assert [2] == seqs(transcript.window("main", 3))
    assert (False, True) == (transcript.withdrawn(1, 2), transcript.withdrawn(1, 3))


def test_withdrawing_again_does_not_move_the_moment() -> None:
    transcript = fed(turn(1), MemoryForgotten(text="x", facts=(), turns=(1,)), MemoryForgotten(text="x", facts=(), turns=(1,)))

    assert transcript.withdrawn(1, 2)


def test_the_latest_conversation_is_that_of_the_last_turn() -> None:
    transcript = fed(turn(1), turn(1, "work"), turn(2))

    assert [None, "main", "work", "main"] == [transcript.latest_conversation(seq) for seq in range(4)]


def test_a_conversation_is_ended_until_somebody_speaks_again_at_every_seq() -> None:
    """A second end does not hide the first one from the past."""
    transcript = fed(turn(1), ConversationEnded(conversation="main"), turn(2), ConversationEnded(conversation="main"))

    assert [False, True, False, True] == [transcript.conversations(seq)[0].ended for seq in range(1, 5)]


def test_conversations_count_their_turns_as_of_the_basis() -> None:
    transcript = fed(turn(1), turn(1, "work"), turn(2), closed(1, 1))
    first, second = transcript.conversations(4)

    assert ("main", 2, 1, 10, 30) == (first.conversation, first.turns, first.open, first.first, first.last)
    assert ("work", 1) == (second.conversation, second.turns)
    assert ["main"] == [row.conversation for row in transcript.conversations(1)]


def test_the_past_of_a_turn_is_of_its_own_conversation() -> None:
    transcript = fed(turn(1), turn(1, "work"), turn(2), turn(3))

    assert [1, 3] == seqs(transcript.past(4, 2))
    assert [] == seqs(transcript.past(1, 2))
    assert [3, 4] == seqs(transcript.last("main", 2))
    assert [2, 3] == seqs(transcript.after(1, 3))


def test_vectors_of_one_model_are_compared() -> None:
    """From the event that brought the first."""
    import numpy as np

    transcript = Transcript()
    data = TurnEmbedded(turn_seq=1, model="one", kinds=("turn",))
    row = Envelope(
        space="s", user="u", seq=2, type="TurnEmbedded", schema_version=1, recorded_at=1, data=data, vector=np.ones((1, 3), np.int16)
    )
    transcript.apply(row)

    assert (0, 3, 0) == (transcript.embedded(1, "one"), transcript.embedded(2, "one"), transcript.embedded(2, "other"))
