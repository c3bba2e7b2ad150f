"""How many connections may be open, in total and from one address."""

import socket
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.e2e.doors.sockets import api_process, one_answer, rest, statuses
from tests.progress import wait_until

GOOD = b"GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n"


def test_connections_beyond_the_total_are_answered_503_until_one_ends(database: Database, tmp_path: Path) -> None:
    with api_process(database, tmp_path, max_connections=2, keep_alive_seconds=3600) as door:
        with door.connect() as first, door.connect("127.0.0.2") as second:
            for connection in (first, second):
                connection.sendall(GOOD)
                one_answer(connection)
            with door.connect("127.0.0.3") as third:
                refused = rest(third)
        answers = [door.ask(door.me()) for _ in range(4)]

    assert statuses(refused) == [503]
    assert [statuses(answer) for answer in answers][-1] == [200]


def test_one_address_cannot_take_the_place_of_others(database: Database, tmp_path: Path) -> None:
    with api_process(database, tmp_path, max_connections_per_address=1, keep_alive_seconds=3600) as door, door.connect() as first:
        first.sendall(GOOD)
        one_answer(first)
        with door.connect() as second, door.connect("127.0.0.2") as other:
            other.sendall(door.me())

            assert statuses(rest(second)) == [503]
            assert statuses(rest(other)) == [200]


@pytest.mark.nightly
def test_for_a_trusted_proxy_only_the_total_counts(database: Database, tmp_path: Path) -> None:
    settings = {"max_connections_per_address": 1, "trusted_proxies": "127.0.0.0/30", "keep_alive_seconds": 3600}
    with api_process(database, tmp_path, **settings) as door, door.connect() as first, door.connect() as second:
        for connection in (first, second):
            connection.sendall(GOOD)

            assert statuses(one_answer(connection)) == [200]


@pytest.mark.nightly
def test_a_client_that_does_not_read_its_answers_loses_its_connection(database: Database, tmp_path: Path) -> None:
    settings = {"max_connections_per_address": 1, "request_body_seconds": 0.5, "keep_alive_seconds": 1}
    with api_process(database, tmp_path, **settings) as door, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", door.port))
        large = door.me(ending=False).replace(b"/v1/me", b"/openapi.json")
        connection.sendall(large * 16)

        wait_until(lambda: statuses(door.ask(door.me())) == [200], "the only connection there may be is free again")
