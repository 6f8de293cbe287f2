"""Who may write, and where: one port, several placements. They differ in cost, never in outcome.

No placement is needed for safety, because the fence is in storage: mixing them is only slower.
"""

import threading
from collections.abc import Sequence
from typing import Protocol

from events.commands import Command
from events.ids import StreamId
from memory_actors.actors.user_actor import Ack, Reply, UserActor


class Writer(Protocol):
    """Carries commands to whoever commits to the stream."""

    placement: str

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """Carry out commands in order; one reply each."""

    def close(self) -> None:
        """Let go of everything. What was acknowledged stays."""


class InlineWriter:
    """The UserActor in this process: no Ray. Safe to call from several threads, one command at a time."""

    placement = "inline"

    def __init__(self, actor: UserActor) -> None:
        self._actor = actor
        self._lock = threading.Lock()

    def execute(self, stream: StreamId, commands: Sequence[Command]) -> list[Reply]:
        """Carry out commands in order; one reply each."""
        with self._lock:
            return self._actor.execute(stream, commands)

    def close(self) -> None:
        """Nothing to let go of."""


def acks(replies: Sequence[Reply]) -> list[Ack]:
    """The acknowledgements, or the first error raised."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return [reply for reply in replies if isinstance(reply, Ack)]
