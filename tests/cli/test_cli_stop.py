"""`stop`: silent where no Ray is, and never about a cluster that is there."""

from typing import Any

import pytest

from events.errors import ClusterUnavailable
from memory_actors.cluster import client, connection


def fails(*_: Any, **__: Any) -> Any:
    raise ClusterUnavailable("no Ray at all")


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Ray on this machine, and none elsewhere that answers."""
    monkeypatch.setattr(connection, "found", fails)
    monkeypatch.setattr(client, "end_actors", fails)


@pytest.mark.parametrize("ray", [(), ("--ray", "off"), ("--ray", "local")])
def test_where_no_ray_is_no_actor_was(ask, nowhere: None, ray: tuple[str, ...]) -> None:
    ask("record", "ann", "hello")
    said = ask("stop", *ray)

    assert (0, True) == (said.code, "no actor of this store was there" in said.out)
    assert {"ended": []} == ask("stop", "--json", *ray).json


def test_a_cluster_that_was_named_and_does_not_answer_is_an_error(ask, nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether on the command line or in the environment."""
    ask("record", "ann", "hello")

    assert "ClusterUnavailable" == ask("stop", "--ray", "10.0.0.1:6379", "--json").error["error"]
    monkeypatch.setenv("MEMORY_ACTORS_RAY", "10.0.0.1:6379")
    assert "ClusterUnavailable" == ask("stop", "--json").error["error"]


def test_a_ray_on_this_machine_that_does_not_answer_is_an_error(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its actors may go on."""
    monkeypatch.setattr(connection, "found", lambda: "127.0.0.1:6379")
    monkeypatch.setattr(client, "end_actors", fails)
    ask("record", "ann", "hello")

    assert "ClusterUnavailable" == ask("stop", "--json").error["error"]
