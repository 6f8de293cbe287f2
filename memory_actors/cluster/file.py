"""Files for Ray's cluster launcher: is one fit, and what is it on this machine alone?

A file is what Ray says it is: the answer is that of the launcher's own schema and rules. Nothing here talks to a cloud.
"""

import getpass
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from events.errors import InvalidInput

FILE = Path("cluster.yaml")
LOOPBACK = "127.0.0.1"
KEPT = ("upscaling_speed", "idle_timeout_minutes")
ENVIRONMENT = "--env "
STORE = "MEMORY_ACTORS_STORE"
LOOPBACK_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Otherwise Ray replaces a loopback address by the machine's outward one, and listens on all. Drivers that join need it as well."""

Config = dict[str, Any]
"""What is in a file; Ray's schema says the types."""


def read_cluster(path: Path) -> Config:
    """The file, checked by Ray's launcher. Raises InvalidInput with what is wrong."""
    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InvalidInput(
            f"{path}: {error.strerror}; name a cluster file of Ray's launcher, such as this project's cluster.yaml"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} is no cluster file: it holds no table")
    wrong = refused(found)
    if wrong:
        raise InvalidInput(f"{path}: {wrong}")
    return found


def refused(config: Config) -> str | None:
    """Why Ray's launcher would not take it; None if it would."""
    from memory_actors.cluster.launcher import refusal  # noqa: PLC0415 - Ray takes a second to import

    return refusal(config)


def warnings(config: Config) -> Iterator[str]:
    """What the launcher takes, and a memory should not."""
    told = environment(config)
    if told.get("RAY_AUTH_MODE") != "token":
        yield "no RAY_AUTH_MODE=token: whoever reaches the head may run anything on it"
    cloud = config["provider"]["type"] != "local"
    if cloud and not any(told.get(STORE, "?").startswith(f"{folder}/") for folder in _volumes(config)):
        yield f"{STORE} is in no --volume that all nodes share: each node would have a store of its own"
    if any("fs-0000000" in command for command in config.get("initialization_commands", ())):
        yield "the file system's id is the example's: put yours"


def environment(config: Config) -> dict[str, str]:
    """What every process is told: by the container's options, or where there is none by what starts Ray."""
    options = _options(config, ENVIRONMENT)
    exported = [word for command in config.get("head_start_ray_commands", ()) for word in _exported(command)]
    return dict(setting.split("=", 1) for setting in [*options, *exported] if "=" in setting)


def _options(config: Config, flag: str) -> list[str]:
    options = (config.get("docker") or {}).get("run_options", ())
    return [option.removeprefix(flag) for option in options if option.startswith(flag)]


def _volumes(config: Config) -> list[str]:
    return [volume.split(":")[1] for volume in _options(config, "--volume ") if ":" in volume]


def _exported(command: str) -> list[str]:
    words = shlex.split(command.partition(";")[0])
    return words[1:] if words[:1] == ["export"] else []


def local(config: Config, store: Path, python: Path = Path(sys.executable)) -> Config:
    """The same on this machine alone: a head on the loopback address, no workers, no mount, the project as it is installed here.

    The environment is the cluster's, but for the store's place. `ray stop` is left out, for it would end every Ray of this machine.
    """
    told = {**environment(config), **LOOPBACK_ONLY, STORE: str(store.absolute())}
    told.pop("MEMORY_ACTORS_SHARED", None)
    return {
        "cluster_name": f"{config['cluster_name']}-local",
        **{name: config[name] for name in KEPT if name in config},
        "max_workers": 0,
        "provider": {"type": "local", "head_ip": LOOPBACK, "worker_ips": []},
        "auth": {"ssh_user": getpass.getuser()},
        "head_start_ray_commands": [_start(told, command, python) for command in _starts(config)],
        "worker_start_ray_commands": [],
    }


def _starts(config: Config) -> list[str]:
    found = [command for command in config.get("head_start_ray_commands", ()) if "ray start --head" in command]
    return found or ["ray start --head --autoscaling-config=~/ray_bootstrap_config.yaml"]


def _start(told: Mapping[str, str], command: str, python: Path) -> str:
    """With what every process is told, on the loopback address, by this installation's Ray."""
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(told.items()))
    at = command.index("ray start --head")
    head = f"{shlex.quote(str(python.with_name('ray')))} start --head --node-ip-address={LOOPBACK}"
    return f"export {exports}; {command[:at]}{head}{command[at + len('ray start --head') :]}"


def written(config: Config) -> str:
    """As YAML."""
    text: str = yaml.safe_dump(config, sort_keys=False, width=1000)
    return text
