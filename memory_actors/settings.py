"""Where things are and how much of them: values, read once. What is remembered is not here but in the policy."""

import math
import os
from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from events.errors import InvalidInput
from memory_actors.models.embedder import DEFAULT_MODEL

Recalls = Literal["later", "now", "never"]
PREFIX = "MEMORY_ACTORS_"
MAX_POOL = 1024
LEAST = {
    "user_actors": 0,
    "projections": 1,
    "enrichers": 0,
    "idle_seconds": 0.05,
    "cache_megabytes": 1,
    "wait_seconds": 0,
    "streams": 1,
    "deadline": 0.05,
}
"""Of each number the least that makes sense. None may be infinite: whoever waits is told at some time."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, with their defaults. Environment variables have the same names behind `MEMORY_ACTORS_`.

    store           the folder of the store
    space           the tenant, guild or project; nothing crosses spaces
    ray             "off", "local", "auto" or the address of a cluster
    placement       with Ray: "per-user", an actor for each active user, or "pool:N", N actors that have the users divided among them
    user_actors     how many users have an actor of their own at most; None: a quarter of the memory at 70 MB each. The others share a pool
    projections     with Ray: how many actors serve the reads
    enrichers       with Ray: how many actors do background work; 0: it is left to `enrich`
    idle_seconds    with Ray: an actor that has not been asked anything for so long, or up to twice, ends
    shared          with Ray: every node sees the store's folder under the same path, so an actor may live on any
    cache_megabytes how much the views in one process may hold, about
    embedder        a sentence-transformers model's name or folder; "none": no vectors and no topics
    wait_seconds    how long a read waits for what its own handle wrote to be enriched, once the model is loaded
    recalls         when a live recall is recorded: with the next flush ("later", within 1 s), at once ("now"), or "never"
    streams         how many users' states are held at once
    deadline        seconds after which a call through Ray gives up
    """

    store: str = "./memory"
    space: str = "default"
    ray: str = "off"
    placement: str = "per-user"
    user_actors: int | None = None
    projections: int = 2
    enrichers: int = 1
    idle_seconds: float = 600.0
    shared: bool = False
    cache_megabytes: int = 512
    embedder: str = DEFAULT_MODEL
    wait_seconds: float = 1.0
    recalls: Recalls = "later"
    streams: int = 1024
    deadline: float = 60.0

    def __post_init__(self) -> None:
        for name in ("store", "space", "ray", "embedder"):
            if not str(getattr(self, name)).strip():
                raise InvalidInput(f"the setting `{name}` is empty; leave it out, or give it a value")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if name == "user_actors" and value is None:
                continue
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= least):
                raise InvalidInput(f"the setting `{name}` is {value!r}; it is a number, {least} or more")
        if self.recalls not in get_args(Recalls):
            raise InvalidInput(f"the setting `recalls` is {self.recalls!r}; it is one of {', '.join(get_args(Recalls))}")
        _ = self.pool

    @property
    def pool(self) -> int | None:
        """The N of "pool:N"; None for an actor a user."""
        if self.placement == "per-user":
            return None
        kind, _, count = self.placement.partition(":")
        if kind != "pool" or not (count.isascii() and count.isdigit()) or not 1 <= int(count) <= MAX_POOL:
            raise InvalidInput(f'the setting `placement` is "per-user" or "pool:N" with N from 1 to {MAX_POOL}, not {self.placement!r}')
        return int(count)


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
