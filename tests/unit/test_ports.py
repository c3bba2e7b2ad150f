"""A port of a service that starts again is one that no client's connection takes meanwhile."""

import socket

from tests.ports import PORT_RANGE, free_port


def test_a_port_is_free_and_not_one_of_outgoing_connections() -> None:
    first_outgoing = int(PORT_RANGE.read_text().split()[0])

    port = free_port()

    assert port < first_outgoing
    with socket.create_server(("127.0.0.1", port)):
        pass
