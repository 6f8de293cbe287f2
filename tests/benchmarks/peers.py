"""The peer that writes and replays events: `eventsourcing` with SQLite, one aggregate a user, the same turns."""

import os
from collections import deque
from pathlib import Path
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

WINDOW = 20


class Conversation(Aggregate):
    """Keeps the last turns, as a session does."""

    def __init__(self) -> None:
        self.turns = 0
        self.window: deque[str] = deque(maxlen=WINDOW)

    @event("TurnRecorded")
    def record(self, turn_id: str, role: str, content: str) -> None:
        """One message of one speaker."""
        self.turns += 1
        self.window.append(content)


class Peer:
    """An application over a SQLite file, with the library's own settings (write-ahead log, fsync at each commit)."""

    def __init__(self, folder: Path) -> None:
        environment = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "peer.sqlite")}
        self.application: Application[UUID] = Application(env={**os.environ, **environment})
        self.conversation = Conversation()
        self.application.save(self.conversation)

    def record(self, number: int, content: str) -> None:
        """One event, saved durably."""
        self.conversation.record(turn_id=f"t{number}", role="user", content=content)
        self.application.save(self.conversation)

    def record_all(self, contents: list[str]) -> None:
        """Many events in one transaction."""
        for number, content in enumerate(contents):
            self.conversation.record(turn_id=f"t{number}", role="user", content=content)
        self.application.save(self.conversation)

    def replay(self) -> int:
        """Read and fold the whole stream; how many turns it has."""
        found = self.application.repository.get(self.conversation.id)
        assert isinstance(found, Conversation)
        return found.turns

    def close(self) -> None:
        """Close the database."""
        self.application.close()
