"""What a request may be and how long it may take, before any key is read."""

import socket
from collections.abc import Iterator

import pytest

from app.database.engine import Database
from app.web.http_bounds import MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED
from tests.databases import Databases
from tests.e2e.doors.sockets import Door, api_process, one_answer, rest, statuses

BODY = b"POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def module_database(databases: Databases) -> Iterator[Database]:
    """One for all tests here, which store nothing that another one sees."""
    with databases.lent() as url:
        database = Database(url)
        yield database
        database.close()


@pytest.fixture(scope="module")
def door(module_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A process with the default settings."""
    with api_process(module_database, tmp_path_factory.mktemp("door")) as door:
        yield door


@pytest.fixture(scope="module")
def hasty_door(module_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A process that has little patience."""
    settings = {"request_head_seconds": 0.5, "request_body_seconds": 0.5, "keep_alive_seconds": 1}
    with api_process(module_database, tmp_path_factory.mktemp("hasty"), **settings) as door:
        yield door


def _head(*headers: bytes) -> bytes:
    return b"\r\n".join([b"GET /health/live HTTP/1.1", b"host: a", b"connection: close", *headers]) + b"\r\n\r\n"


def test_a_head_may_have_so_many_bytes_and_headers_and_no_more(door: Door) -> None:
    many = [b"x-%d: y" % no for no in range(MAX_HEADERS)]

    assert statuses(door.ask(_head(b"x: " + b"y" * (MAX_HEAD_BYTES - 200)))) == [200]
    assert statuses(door.ask(_head(b"x: " + b"y" * MAX_HEAD_BYTES))) == [431]
    assert statuses(door.ask(_head(*[b"x-%d: %b" % (no, b"y" * 8192) for no in range(9)]))) == [431]
    assert statuses(door.ask(_head(*many[:-2]))) == [200]
    assert statuses(door.ask(_head(*many))) == [431]
    assert statuses(door.ask(b"GET /" + b"y" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nhost: a\r\n\r\n")) == [431]


@pytest.mark.parametrize("start", [b"", b"GET /", b"GET / HTTP/1.1\r\nx", b"GET / HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\nx: y\r\n\r\n\r\n"])
def test_a_head_that_never_ends_is_refused_while_it_comes(door: Door, start: bytes) -> None:
    with door.connect() as connection:
        connection.sendall(start)
        refused = b""
        for _ in range(64):  # blank lines before a request count, too
            try:
                connection.sendall(b"\r\n" * 32_768 if not start or start.endswith(b"\n") else b"y" * 65_536)
            except ConnectionError:
                break
        refused = rest(connection)

    assert statuses(refused)[-1:] in ([431], [])  # a broken connection may take the answer along
    assert statuses(door.ask(door.me())) == [200]


def test_the_refusal_is_a_problem_that_reaches_who_is_still_sending(door: Door) -> None:
    with door.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nx: " + b"y" * 2 * MAX_HEAD_BYTES)
        connection.shutdown(socket.SHUT_WR)
        answer = rest(connection)

    assert statuses(answer) == [431]
    assert b'"type": "urn:evenhand:problem:http-431"' in answer
    assert b"65,536 bytes" in answer


def test_bounds_hold_for_later_requests_of_a_connection_and_earlier_ones_are_answered_first(door: Door) -> None:
    too_large = b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * MAX_HEAD_BYTES + b"\r\n\r\n"
    with door.connect() as connection:
        connection.sendall(door.me(ending=False))
        first = one_answer(connection)
        connection.sendall(too_large)
        second = rest(connection)

    assert (statuses(first), statuses(second)) == ([200], [431])
    assert statuses(door.ask(door.me(ending=False) * 2 + too_large)) == [200, 200, 431]


def test_so_many_requests_may_wait_on_a_connection_and_no_more(door: Door) -> None:
    answers = statuses(door.ask(door.me(ending=False) * (MAX_PIPELINED + 200)))

    assert answers == [200] * (MAX_PIPELINED + 1) + [503]


def test_two_hosts_are_a_bad_request(door: Door) -> None:
    answer = door.ask(b"GET /health/live HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n")

    assert statuses(answer) == [400]
    assert b"The header Host may be sent once." in answer


def test_trailers_never_become_headers(door: Door) -> None:
    head = b"POST /v1/api-keys HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n"
    chunks = b"\r\n1d\r\n" + b'{"role":"read","name":"four"}' + b"\r\n0\r\n"
    key = b"authorization: Bearer %b\r\n" % door.key.encode()
    media_type = b"content-type: application/json\r\n"

    assert statuses(door.ask(head + key + media_type + chunks + b"\r\n")) == [201]
    assert statuses(door.ask(head + key + chunks + media_type + b"\r\n")) == [415]
    assert statuses(door.ask(head + media_type + chunks + key + b"\r\n")) == [401]


def test_trailers_that_never_end_are_refused(door: Door) -> None:
    with door.connect() as connection:
        connection.sendall(BODY + b"transfer-encoding: chunked\r\n\r\n0\r\nx: ")
        try:
            for _ in range(64):
                connection.sendall(b"y" * 65_536)
        except ConnectionError:
            pass
        assert statuses(rest(connection)) in ([431], [], [403])


@pytest.mark.parametrize("start", [b"G", b"GET /health/live HTTP/1.1\r\nhost: a\r\n", b"\r\n"])
def test_a_half_open_request_ends_at_its_deadline(hasty_door: Door, start: bytes) -> None:
    answer = hasty_door.ask(start)

    assert statuses(answer) == [408]
    assert b"was not complete after 0.5 seconds" in answer


def test_a_connection_that_asks_nothing_ends_without_an_answer(hasty_door: Door) -> None:
    assert hasty_door.ask(b"") == b""


def test_half_a_request_after_an_answer_has_the_same_deadline_and_silence_its_own(hasty_door: Door) -> None:
    with hasty_door.connect() as half, hasty_door.connect() as silent:
        half.sendall(hasty_door.me(ending=False))
        silent.sendall(hasty_door.me(ending=False))
        answers = [one_answer(half), one_answer(silent)]
        half.sendall(b"GET /v1/me HTTP/1.1\r\n")

        assert [statuses(answer) for answer in answers] == [[200], [200]]
        assert statuses(rest(half)) == [408]
        assert rest(silent) == b""


def test_a_body_that_stops_coming_ends_with_an_answer(hasty_door: Door) -> None:
    answer = hasty_door.ask(BODY + b"content-length: 1000\r\n\r\nname=")

    assert statuses(answer) == [408]
    assert b"more slowly than 1,000 bytes a second" in answer


def test_a_body_that_goes_on_after_its_answer_ends_too(hasty_door: Door) -> None:
    # The key is missing, so the answer comes before the body.
    answer = hasty_door.ask(b"POST /v1/deployments HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{")

    assert statuses(answer) == [401]


def test_a_body_that_comes_after_its_answer_does_not_keep_the_connection_for_ever(hasty_door: Door) -> None:
    with hasty_door.connect() as connection:
        connection.sendall(b"POST /v1/deployments HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n")
        answer = one_answer(connection)
        connection.sendall(b"{}")

        assert statuses(answer) == [401]
        assert rest(connection) == b""
