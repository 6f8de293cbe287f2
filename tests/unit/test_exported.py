"""The public names, and what importing them does not load."""

import subprocess
import sys
from pathlib import Path

import pytest

import memory_actors

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "ray", "duckdb", "sentence_transformers", "transformers")


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    return set(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split())


def test_every_public_name_is_there() -> None:
    assert {"Memory", "AsyncMemory", "Policy", "Settings", "InvalidInput", "UnknownUser", "MemoryActorsError"} <= set(memory_actors.__all__)
    for name in memory_actors.__all__:
        assert name == getattr(memory_actors, name).__name__
    assert sorted(memory_actors.__all__) == dir(memory_actors)


def test_every_error_that_a_caller_can_meet_is_public() -> None:
    from events import errors

    assert {name for name, value in vars(errors).items() if isinstance(value, type)} <= set(memory_actors.__all__)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        memory_actors.Nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from memory_actors import Nonsense  # noqa: F401


@pytest.mark.parametrize("code", ["import memory_actors", "from memory_actors import Memory, AsyncMemory, Policy, Settings, InvalidInput"])
def test_importing_the_face_loads_nothing_heavy(code: str) -> None:
    assert set() == loaded_after(code)


def test_a_read_of_facts_from_the_shell_loads_nothing_heavy(tmp_path: Path) -> None:
    """Nor does writing without an embedder."""
    run = f"from memory_actors.cli import run\nstore = ['--store', {str(tmp_path / 's')!r}, '--json']\n"
    write = "assert run([*store, 'record', 'ann', 'I live in Porto.', '--embedder', 'none']) == 0\n"

    assert set() == loaded_after(run + write) & set(HEAVY)
    assert set() == loaded_after(run + "assert run([*store, 'facts', 'ann']) == 0") & set(HEAVY)


def test_events_is_ours() -> None:
    """There is an unrelated distribution of that name."""
    import events

    assert ROOT / "events" / "__init__.py" == Path(events.__file__ or "")
