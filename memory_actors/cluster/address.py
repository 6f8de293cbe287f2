"""Where a Ray is: what is no address, and where none answers, is said within seconds. Ray itself would try for ten minutes."""

import os
import socket

from events.errors import ClusterUnavailable, InvalidInput

PROBE_SECONDS = 3.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of HTTP/2, and so of gRPC, begins (RFC 9113, 3.4): its preface and an empty SETTINGS frame, which is of type 4."""


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
