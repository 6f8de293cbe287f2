"""Every log keeps the contract of logs."""

from pathlib import Path

import pytest
from log_contract import LogContract

from events.log.file_log import FileLog
from events.log.memory_log import MemoryLog
from events.log.store import create_store


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> MemoryLog:
        return MemoryLog()


class TestFileLog(LogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> FileLog:
        return FileLog(create_store(tmp_path))
