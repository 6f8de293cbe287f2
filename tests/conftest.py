"""Fixtures that every test may ask for. Nothing here reads the machine's clock."""

from pathlib import Path

import pytest
from builders import counting_salt
from clocks import TickingClock

from events.log.file_log import FileLog
from events.log.store import Store, create_store


@pytest.fixture
def clock() -> TickingClock:
    """A clock that starts at 2025-12-01 and moves by a millisecond at each look."""
    return TickingClock()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a folder of its own."""
    return create_store(tmp_path / "store")


@pytest.fixture
def log(store: Store) -> FileLog:
    """The log of that store; its salts are counted, and it never waits."""
    return FileLog(store, salt=counting_salt(), pause=lambda _: None)
