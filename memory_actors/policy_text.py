"""A policy as text and as a flat table: for files, and for people who ask what differs. Exact: the text reads back as an equal policy."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from events.errors import InvalidInput
from events.policy import Policy, parse_policy
from projections.index.weights import WEIGHTS

Value = int | float | bool | str | None
_BARE = re.compile("[A-Za-z0-9_-]+", re.ASCII)
_WEIGHTS = "recall.weights."


class Changed(msgspec.Struct, frozen=True, rename={"before": "from", "after": "to"}):
    """One value that differs. `key`: its table and name, as in `session.window`."""

    key: str
    before: Value
    after: Value


def read_policy(file: Path) -> Policy:
    """The policy in a TOML file: what it does not name is as it is by default. Raises InvalidInput."""
    from memory_actors.reads.recall import check_weights  # noqa: PLC0415 - a policy is shown without the index

    try:
        policy = parse_policy(tomllib.loads(file.read_text()))
        check_weights(policy.recall.weights)
        return policy
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is no TOML: {error}") from error


def flat(policy: Policy) -> dict[str, Value]:
    """Every value by its key. Weights that a policy does not name are the fitted ones."""
    values = {key: value for key, value in _leaves(msgspec.to_builtins(policy)) if not key.startswith(_WEIGHTS)}
    return values | {f"{_WEIGHTS}{name}": weight for name, weight in {**WEIGHTS, **policy.recall.weights}.items()}


def _leaves(tables: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value  # type: ignore[misc]  # the tables of a policy hold nothing else


def changes(before: Policy, after: Policy) -> list[Changed]:
    """What differs, in the order of the tables."""
    one, other = flat(before), flat(after)
    return [Changed(key, one.get(key), other.get(key)) for key in {**one, **other} if one.get(key) != other.get(key)]


def toml(policy: Policy) -> str:
    """The whole policy as TOML, the default beside each value that deviates. Weights: only those that are named."""
    deviating = {change.key: change.before for change in changes(Policy(), policy)}
    tables: dict[str, Mapping[str, object]] = msgspec.to_builtins(policy)
    return "\n".join(line for name, table in tables.items() for line in _table(name, table, deviating))


def _table(name: str, table: Mapping[str, object], deviating: Mapping[str, Value]) -> Iterator[str]:
    yield f"[{name}]"
    for key, value in table.items():
        if not isinstance(value, Mapping):
            note = f"  # default: {said(deviating[f'{name}.{key}'])}" if f"{name}.{key}" in deviating else ""
            yield f"{_key(key)} = {said(value)}{note}"
    yield ""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _table(f"{name}.{_key(key)}", value, deviating)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def said(value: object) -> str:
    """A value as TOML has it; nothing for None."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value)
        case _:
            return repr(value)
