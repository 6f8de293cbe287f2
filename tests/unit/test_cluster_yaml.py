"""The cluster file is one that Ray's launcher takes, and so is what is derived from it for one machine."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from events.errors import InvalidInput
from memory_actors.cli import run
from memory_actors.cluster.file import local, read_cluster, refused, warnings, written
from memory_actors.settings import from_environment

ROOT = Path(__file__).parents[2]
FILE = ROOT / "cluster.yaml"
BROKEN = {
    "no provider": ("provider:\n  type: aws", "metadata:\n  type: aws", "'provider' is a required property"),
    "a number that is none": ("max_workers: 4", "max_workers: many", "max_workers: 'many' is not of type 'integer'"),
    "a misspelt name": ("upscaling_speed", "upscale", "'upscale' was unexpected"),
    "a misspelt head": ("head_node_type: head", "head_node_type: haed", "must be one of"),
    "an unknown cloud": ("type: aws", "type: nimbus", "Unsupported node provider: nimbus"),
    "too few workers": ("max_workers: 4\nup", "max_workers: 1\nup", "smaller than the sum of `min_workers`"),
}


@pytest.fixture
def config() -> dict[str, Any]:
    return read_cluster(FILE)


def test_ray_takes_the_cluster_file(config: dict[str, Any]) -> None:
    """One cloud, workers that come and go."""
    workers = [kind for name, kind in config["available_node_types"].items() if name != config["head_node_type"]]

    assert "aws" == config["provider"]["type"]
    assert all(kind["min_workers"] < kind["max_workers"] <= config["max_workers"] for kind in workers)


@pytest.mark.parametrize("what", BROKEN)
def test_ray_refuses_a_broken_one(what: str, tmp_path: Path) -> None:
    """With what is wrong, in one line that names the file."""
    old, new, said = BROKEN[what]
    text = FILE.read_text().replace("min_workers: 0", "min_workers: 2") if "few" in what else FILE.read_text()
    path = tmp_path / "broken.yaml"
    path.write_text(text.replace(old, new))
    assert path.read_text() != FILE.read_text()

    with pytest.raises(InvalidInput, match=re.escape(said)) as caught:
        read_cluster(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "said"), [("[1", "is no YAML"), ("- 1", "is no cluster file"), (None, "No such file")])
def test_what_is_no_cluster_file_is_said(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    if text is not None:
        path.write_text(text)

    with pytest.raises(InvalidInput, match=said):
        read_cluster(path)


def test_the_only_thing_left_to_fill_in_is_the_file_system(config: dict[str, Any]) -> None:
    """Token and shared store are there; without them there is a warning each."""
    assert ["the file system's id is the example's: put yours"] == list(warnings(config))
    config["docker"]["run_options"] = []

    assert 3 == len(list(warnings(config)))


def test_every_process_is_told_settings_that_exist(config: dict[str, Any]) -> None:
    """On the shared mount."""
    options = [option.removeprefix("--env ").split("=") for option in config["docker"]["run_options"] if option.startswith("--env")]

    settings = from_environment(dict(options))
    assert settings.store.startswith("/mnt/memory/")


def test_the_image_holds_the_ray_that_is_pinned(config: dict[str, Any]) -> None:
    """Client, head and workers must be of one version."""
    [pinned] = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)

    assert f"rayproject/ray:{pinned}-py311-cpu" == config["docker"]["image"]


def test_the_local_variant_is_derived_and_valid(config: dict[str, Any], tmp_path: Path) -> None:
    """One head on the loopback address with the same token and name; no workers, no mount, nothing of the cloud's."""
    config["cluster_name"], config["idle_timeout_minutes"] = "fleet", 3
    found = yaml.safe_load(written(local(config, tmp_path / "store")))
    [start] = found["head_start_ray_commands"]

    assert None is refused(found)
    assert [] == list(warnings(found))
    assert ("fleet-local", 3, 0) == (found["cluster_name"], found["idle_timeout_minutes"], found["max_workers"])
    assert {"type": "local", "head_ip": "127.0.0.1", "worker_ips": []} == found["provider"]
    assert f"export MEMORY_ACTORS_STORE={tmp_path}/store RAY_AUTH_MODE=token RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0;" in start
    assert " start --head --node-ip-address=127.0.0.1 --port=6379 --dashboard-host=127.0.0.1" in start
    assert {"file_mounts", "initialization_commands", "docker", "available_node_types"}.isdisjoint(found)
    assert "0.0.0.0" not in json.dumps(found)


def test_doctor_derives_it_from_the_file_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says so where there is none; another may be named, and --json is the same in JSON."""
    monkeypatch.chdir(tmp_path)
    assert 2 == run(["doctor", "--cluster-yaml", "local"])
    assert "cluster.yaml: No such file or directory" in capsys.readouterr().err

    assert 0 == run(["doctor", "--cluster-yaml", "local", str(FILE), "--json"])
    named = json.loads(capsys.readouterr().out)
    (tmp_path / "cluster.yaml").write_text(FILE.read_text())
    assert 0 == run(["doctor", "--cluster-yaml", "local"])

    assert named == yaml.safe_load(capsys.readouterr().out)
    assert None is refused(named)


def test_doctor_checks_a_file_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken one is a problem, and the exit code says so."""
    path = tmp_path / "cluster.yaml"
    path.write_text("cluster_name: mine\n")

    assert 1 == run(["doctor", str(path), "--embedder", "none", "--store", str(tmp_path / "store"), "--json"])
    states = [(one["state"], one["detail"]) for one in json.loads(capsys.readouterr().out) if one["check"] == "cluster file"]
    assert [("problem", f"{path}: 'provider' is a required property")] == states

    assert 0 == run(["doctor", str(FILE), "--embedder", "none", "--store", str(tmp_path / "store"), "--json"])
    states = [one["state"] for one in json.loads(capsys.readouterr().out) if one["check"] == "cluster file"]
    assert ["ok", "warning"] == states
