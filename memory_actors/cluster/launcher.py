"""Ray's own opinion of a cluster file: its schema, then the launcher's defaults and rules, as `ray up` has them."""

import copy
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import ray.autoscaler
from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match
from ray.autoscaler._private.util import prepare_config, validate_config

SCHEMA = Path(ray.autoscaler.__file__).with_name("ray-schema.json")
_DECORATION = re.compile(r"\x1b\[[0-9;]*m|^.* -- ")


def refusal(config: dict[str, Any]) -> str | None:
    """Why `ray up` would refuse `config`, in one line; None if it would not."""
    error = best_match(Draft7Validator(json.loads(SCHEMA.read_text())).iter_errors(config))
    if error is None:
        return _refused_by_rules(config)
    place = ".".join(str(step) for step in error.absolute_path)
    return f"{place}: {error.message}" if place else str(error.message)


def _refused_by_rules(config: dict[str, Any]) -> str | None:
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            validate_config(prepare_config(copy.deepcopy(config)))
    except click.ClickException as error:
        return _DECORATION.sub("", said.getvalue().strip()) or error.format_message()
    except (ValueError, RuntimeError, NotImplementedError) as error:
        return str(error)
    return None
