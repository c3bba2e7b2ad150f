"""Ports for services that tests start, end and start again."""

import random
import socket
from contextlib import suppress
from pathlib import Path

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""First and last port that the system gives to outgoing connections."""
_PORTS = 10_000
"""Number of ports below the first of them to choose from."""


def free_port() -> int:
    """A port on loopback that nobody listens on, below those of outgoing connections.

    One of those may be taken by a client's connection while a service is away, and the service could not listen again.
    """
    first_outgoing = int(PORT_RANGE.read_text().split()[0])
    while True:
        port = random.randrange(first_outgoing - _PORTS, first_outgoing)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
