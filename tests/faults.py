"""A file system that does as a script says: at the n-th time of a named step it fails, or lets something else happen."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from events.log.files import Files

Step = Literal["names", "read", "exists", "make_folder", "link_new", "unlink", "fsync", "fsync_folder"]
T = TypeVar("T")


class Entry(msgspec.Struct):
    """One line of a script: `left` more times of `step`, at a path that ends in `path`, then `act`."""

    step: Step
    left: int
    act: Callable[[], object]
    after: bool
    path: str


class ScriptedFiles(Files):
    """The real file system, with a script. `steps` tells what was done, in order: (step, path)."""

    def __init__(self) -> None:
        self.steps: list[tuple[Step, str]] = []
        self._script: list[Entry] = []

    def at(self, step: Step, nth: int, act: Callable[[], object], *, after: bool = False, path: str = "") -> None:
        """Run `act` just before (or `after`) the n-th of these steps from now on; what it raises, the step raises."""
        self._script.append(Entry(step, nth, act, after, path))

    def counts(self) -> Counter[Step]:
        """How often each step was done."""
        return Counter(step for step, _ in self.steps)

    def paths(self, *steps: Step) -> list[str]:
        """The paths of these steps, in order."""
        return [path for step, path in self.steps if step in steps]

    def _do(self, step: Step, path: Path | str, real: Callable[[], T]) -> T:
        self.steps.append((step, str(path)))
        due = [entry for entry in self._script if entry.step == step and str(path).endswith(entry.path)]
        for entry in due:
            entry.left -= 1
        now = [entry for entry in due if entry.left == 0]
        self._script = [entry for entry in self._script if entry not in now]
        for entry in now:
            if not entry.after:
                entry.act()
        result = real()
        for entry in now:
            if entry.after:
                entry.act()
        return result

    def names(self, folder: Path) -> list[str]:
        return self._do("names", folder, lambda: Files.names(self, folder))

    def read(self, path: Path) -> bytes:
        return self._do("read", path, lambda: Files.read(self, path))

    def exists(self, path: Path) -> bool:
        return self._do("exists", path, lambda: Files.exists(self, path))

    def make_folder(self, folder: Path) -> None:
        self._do("make_folder", folder, lambda: Files.make_folder(self, folder))

    def link_new(self, folder: Path, name: str, content: bytes) -> bool:
        return self._do("link_new", folder / name, lambda: Files.link_new(self, folder, name, content))

    def unlink(self, path: Path) -> None:
        self._do("unlink", path, lambda: Files.unlink(self, path))

    def fsync(self, descriptor: int) -> None:
        self._do("fsync", Path(f"/proc/self/fd/{descriptor}").readlink(), lambda: Files.fsync(self, descriptor))

    def fsync_folder(self, folder: Path) -> None:
        self._do("fsync_folder", folder, lambda: Files.fsync_folder(self, folder))


def fail(number: int) -> Callable[[], object]:
    """An act that raises the operating system's error `number`."""

    def act() -> object:
        raise OSError(number, os.strerror(number))

    return act
