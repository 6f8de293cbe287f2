"""Settings are values, read once; what is not one is refused."""

import pytest

from events.errors import InvalidInput
from memory_actors.settings import Settings, from_environment


def test_without_an_environment_there_are_defaults() -> None:
    assert Settings() == from_environment({"HOME": "/root", "MEMORY": "x"})
    assert ("./memory", "default", "off", "all-MiniLM-L6-v2") == (Settings().store, Settings().space, Settings().ray, Settings().embedder)


def test_names_are_those_of_the_settings() -> None:
    found = from_environment({"MEMORY_ACTORS_STORE": "/data", "MEMORY_ACTORS_WAIT_SECONDS": "2.5", "MEMORY_ACTORS_STREAMS": "7"})

    assert Settings(store="/data", wait_seconds=2.5, streams=7) == found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_ACTORS_STROE", "/data"),
        ("MEMORY_ACTORS_STREAMS", "many"),
        ("MEMORY_ACTORS_RECALLS", "sometimes"),
        ("MEMORY_ACTORS_STORE", ""),
        ("MEMORY_ACTORS_SPACE", " "),
        ("MEMORY_ACTORS_EMBEDDER", ""),
    ],
)
def test_what_is_no_setting_is_named(name: str, value: str) -> None:
    """An empty store is not the folder that one happens to stand in."""
    with pytest.raises(InvalidInput, match=r"MEMORY_ACTORS|`\w+` is empty"):
        from_environment({name: value})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Settings().store = "elsewhere"  # type: ignore[misc]
