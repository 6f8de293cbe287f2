"""Which writer a setting means, and whether there is a Ray where it says. What is wrong is said within seconds."""

import os
import socket
from collections.abc import Callable

from events.ambient import Clock
from events.errors import ClusterUnavailable, InvalidInput
from events.log import Log
from events.log.store import Store
from events.policy import Policy
from memory_actors.actors.user_actor import UserActor
from memory_actors.actors.writer import InlineWriter, Writer
from memory_actors.settings import Settings

PROBE_SECONDS = 3.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of HTTP/2, and so of gRPC, begins (RFC 9113, 3.4): its preface and an empty SETTINGS frame, which is of type 4."""


def make_writer(ray: str, store: Store, log: Log, clock: Clock, policy: Callable[[str], Policy], settings: Settings) -> Writer:
    """`ray` "off": in this process. "local", "auto" or an address: a named actor a user, on that Ray.

    Raises InvalidInput for what is no address, ClusterUnavailable where no Ray answers.
    """
    if ray == "off":
        return InlineWriter(UserActor(log, clock, policy, settings.streams))
    from memory_actors.actors.ray_writer import RayWriter  # noqa: PLC0415 - Ray takes a second to import, and is often off

    return RayWriter(ray, store, policy, settings)


def check_address(ray: str) -> None:
    """Raises InvalidInput or ClusterUnavailable for an address where there is no Ray: Ray itself would try for ten minutes."""
    if not ray.strip() or "://" in ray:
        raise InvalidInput(
            f'ray is "off", "local", "auto" or the address HOST:PORT of a cluster that this machine is a node of, not {ray!r}'
        )
    if ray not in ("local", "auto"):
        _probe(ray)


def _probe(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PROBE_SECONDS) as connection:
            connection.sendall(PREFACE)
            answer = connection.recv(9, socket.MSG_WAITALL)
    except (OSError, ValueError, OverflowError) as error:
        raise ClusterUnavailable(f"no Ray at {address!r} ({error}). `--ray local` starts one here, `--ray off` does without") from error
    if answer[3:4] != b"\x04" and not os.environ.get("RAY_USE_TLS"):
        raise ClusterUnavailable(f"what listens at {address!r} is not Ray. `--ray local` starts one here, `--ray off` does without")
