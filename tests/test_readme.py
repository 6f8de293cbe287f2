"""The README is true: its session is run, its commands exist, its tests and folders are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_actors.cli.group import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def steady(text: str) -> str:
    """Without what differs from run to run: places in the log, and today's date."""
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", re.sub(r"\[([fe@])\d+\]", r"[\1N]", text))


@pytest.mark.model
def test_the_session_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The twelve lines, run in an empty folder, print the output below them."""
    found = subprocess.run([sys.executable, "-c", block("python")], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert steady(block("text")) == steady(found.stdout)


def test_the_session_has_at_most_twelve_lines() -> None:
    """A newcomer reads it at a glance."""
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 12


def test_every_command_in_the_readme_exists() -> None:
    """`memory-actors X` names a command, and `make X` a target."""
    commands = set(re.findall(r"memory-actors ([a-z]+)", README))
    targets = set(re.findall(r"make ([a-z]+)", README))

    assert set() == commands - set(COMMANDS)
    assert set() == targets - set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def test_every_path_in_the_readme_exists() -> None:
    """Files and folders in backticks are there."""
    paths = set(re.findall(r"`((?:events|projections|memory_actors|tests)/[\w/.*]*)`", README))

    assert paths
    assert [] == [path for path in sorted(paths) if not list(ROOT.glob(path.rstrip("/")))]
