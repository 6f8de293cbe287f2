"""Which writer a setting means."""

from collections.abc import Callable

from events.ambient import Clock
from events.errors import InvalidInput
from events.log import Log
from events.policy import Policy
from events.store import Store
from memory_actors.settings import Settings
from memory_actors.user_actor import UserActor
from memory_actors.writer import InlineWriter, Writer


def make_writer(ray: str, store: Store, log: Log, clock: Clock, policy: Callable[[str], Policy], settings: Settings) -> Writer:
    """`ray` "off": in this process. "local", "auto" or an address: a named actor a user, on that Ray."""
    if not ray.strip():
        raise InvalidInput('ray is "off", "local", "auto" or the address of a cluster')
    if ray == "off":
        return InlineWriter(UserActor(log, clock, policy, settings.streams))
    from memory_actors.ray_writer import RayWriter  # noqa: PLC0415 - Ray takes a second to import, and is often off

    return RayWriter(ray, store, policy, settings)
