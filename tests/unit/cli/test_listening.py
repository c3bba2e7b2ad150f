"""Where the API processes listen: a socket for each, all on one address."""

import contextlib
import socket

import pytest

from app.base.errors import SetupError
from app.cli.service.serve import open_listeners

HOST = "127.0.0.1"
CONNECTIONS = 64


def test_connections_are_spread_over_the_sockets_of_all_processes() -> None:
    with open_listeners(HOST, 0, processes=2) as listeners, contextlib.ExitStack() as opened:
        address = listeners[0].getsockname()
        assert [listener.getsockname() for listener in listeners] == [address] * 2
        for _ in range(CONNECTIONS):
            opened.enter_context(socket.create_connection(address))
        counts = [_accept_all(listener) for listener in listeners]

    assert sum(counts) == CONNECTIONS
    assert min(counts) > 0  # by chance: all 64 meet in one once in 2^63


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("second", [1, 2])
def test_an_address_that_another_service_listens_on_is_taken(first: int, second: int) -> None:
    with open_listeners(HOST, 0, processes=first) as listeners:
        port = listeners[0].getsockname()[1]
        with pytest.raises(SetupError, match="EVENHAND_PORT"), open_listeners(HOST, port, processes=second):
            pass


def _accept_all(listener: socket.socket) -> int:
    listener.setblocking(False)
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count
