"""Settings are values, read once; what is not one is refused."""

import math

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


NUMBERS = [
    ("deadline", 0.0),
    ("deadline", -1.0),
    ("deadline", math.nan),
    ("deadline", math.inf),
    ("idle_seconds", 0.0),
    ("idle_seconds", math.nan),
    ("wait_seconds", -1.0),
    ("wait_seconds", math.inf),
    ("user_actors", -1),
    ("projections", 0),
    ("streams", 0),
]


@pytest.mark.parametrize(("name", "value"), [*NUMBERS, ("recalls", "sometimes"), ("deadline", "soon"), ("projections", None)])
def test_what_makes_no_sense_is_refused_with_its_name(name: str, value: object) -> None:
    """Also where it was made in Python, which checks no types."""
    with pytest.raises(InvalidInput, match=f"the setting `{name}` is {value!r}; it is"):
        Settings(**{name: value})


@pytest.mark.parametrize(("name", "value"), NUMBERS)
def test_an_environment_is_held_to_the_same(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"`{name}` is {value!r}"):
        from_environment({f"MEMORY_ACTORS_{name.upper()}": str(value)})


def test_what_is_at_the_edge_is_taken() -> None:
    """None says: as many actors as fit."""
    found = from_environment({"MEMORY_ACTORS_USER_ACTORS": "0", "MEMORY_ACTORS_WAIT_SECONDS": "0", "MEMORY_ACTORS_ENRICHERS": "0"})

    assert Settings(user_actors=0, wait_seconds=0.0, enrichers=0) == found
    assert Settings(user_actors=None) == from_environment({"MEMORY_ACTORS_USER_ACTORS": "null"})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Settings().store = "elsewhere"  # type: ignore[misc]
