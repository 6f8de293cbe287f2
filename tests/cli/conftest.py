"""The command line in this process: `ask(...)` runs it on a store of the test's own and gives back what came of it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from clocks import TickingClock
from histories import DAY, SMALL, open_memory, tell

from memory_actors.cli import run


class Said(NamedTuple):
    """What a command left: its exit code, and its streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one answer on stdout."""
        assert self.code in (0, 1), self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """One answer a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, str]:
        """The error as JSON: nothing else was said."""
        assert (self.code, self.out) == (2, ""), self
        [line] = self.err.splitlines()
        found: dict[str, str] = json.loads(line)
        assert {"error", "message"} == set(found)
        return found


Ask = Callable[..., Said]


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Ask]:
    """Runs a command line on the store `tmp_path / "store"`, without an embedder unless one is given."""

    def asked(*arguments: str, store: Path | str = tmp_path / "store", embedder: str = "none") -> Said:
        capsys.readouterr()
        code = run(["--store", str(store), "--embedder", embedder, *arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Said(code, out, err)

    return asked


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a user `ann`, of which every read has something to show. Not to be changed."""
    folder = tmp_path_factory.mktemp("told") / "store"
    clock = TickingClock()
    memory = open_memory(folder, policy=SMALL, clock=clock)
    tell(memory, "ann", "I live in Porto.", "I am vegetarian.", "The boats left the harbour.", "A database was chosen.", "Boats came back.")
    clock.set(clock.now() + 60 * DAY)
    tell(memory, "ann", "I moved to Lisbon.", conversation="later", speaker=None)
    tell(memory, "ann", "Lisbon is sunny.", conversation="later", role="assistant")
    tell(memory, "bob", "I live in Faro.")
    memory.close()
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def bytes_of() -> Callable[[Path], dict[str, bytes]]:
    """What lies in a folder."""
    return snapshot
