"""Where things are and how much of them: values, read once. What is remembered is not here but in the policy."""

import os
from collections.abc import Mapping
from typing import Literal

import msgspec

from events.errors import InvalidInput
from memory_actors.models.embedder import DEFAULT_MODEL

PREFIX = "MEMORY_ACTORS_"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, with their defaults. Environment variables have the same names behind `MEMORY_ACTORS_`.

    store           the folder of the store
    space           the tenant, guild or project; nothing crosses spaces
    ray             "off", "local", or the address of a cluster
    embedder        a sentence-transformers model's name or folder; "none": no vectors and no topics
    wait_seconds    how long a read waits for what its own handle wrote to be enriched, once the model is loaded
    recalls         when a live recall is recorded: with the next flush ("later", within 1 s), at once ("now"), or "never"
    streams         how many users' states are held at once
    deadline        seconds after which a call through Ray gives up
    """

    store: str = "./memory"
    space: str = "default"
    ray: str = "off"
    embedder: str = DEFAULT_MODEL
    wait_seconds: float = 1.0
    recalls: Literal["later", "now", "never"] = "later"
    streams: int = 1024
    deadline: float = 60.0

    def __post_init__(self) -> None:
        for name in ("store", "space", "ray", "embedder"):
            if not str(getattr(self, name)).strip():
                raise InvalidInput(f"the setting `{name}` is empty; leave it out, or give it a value")


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment says. Raises InvalidInput for a value that does not fit or an unknown name."""
    given = {name.removeprefix(PREFIX).lower(): value for name, value in environment.items() if name.startswith(PREFIX)}
    unknown = sorted(set(given) - set(Settings.__struct_fields__))
    if unknown:
        known = ", ".join(PREFIX + name.upper() for name in Settings.__struct_fields__)
        raise InvalidInput(f"no setting {PREFIX}{unknown[0].upper()}; there are: {known}")
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"environment {PREFIX}*: {error}") from error
