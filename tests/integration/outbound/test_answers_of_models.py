"""Answers on the gateway's own connection: every way in which HTTP/1.1 ends a body, in pieces of any size, and answers that are none."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import TypeVar

import httpx
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from app.outbound.addresses import Address
from app.outbound.connection import MAX_ANSWER_HEAD_BYTES, MAX_WAITING_BYTES, PinnedConnection
from app.outbound.egress import EgressPolicy

HEADERS = [(b"host", b"model.internal"), (b"content-length", b"4")]
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Model:  v1 \r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-Trailer: t\r\n\r\n"
CONTINUED = b"HTTP/1.1 100 Continue\r\nX-No: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + LENGTH
UNTIL_END = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
T = TypeVar("T")


async def loopback(_host: str, _port: int) -> list[Address]:
    return [ip_address("127.0.0.1")]


class Pieces:
    """A server that sends given pieces as its answer to each request, and then keeps or closes the connection."""

    def __init__(self, *pieces: bytes, closes: bool = False, reads: bool = True) -> None:
        self.pieces, self.closes, self.reads = pieces, closes, reads
        self.connections = 0
        self.sent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                if self.reads:
                    await reader.readexactly(4)
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    self.sent += len(piece)
                    await asyncio.sleep(0)
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def run(server: Pieces, block: Callable[[PinnedConnection], Awaitable[T]], *, fast: bool = True) -> T:
    async def work() -> T:
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            connection = PinnedConnection(httpx.URL(f"http://model.internal:{port}/score"), EgressPolicy(), resolver=loopback)
            try:
                return await block(connection)
            finally:
                await connection.aclose()

    return uvloop.run(work()) if fast else asyncio.run(work())


async def ask(connection: PinnedConnection, body: bytes = b"body") -> tuple[int, dict[bytes, bytes], bytes]:
    answer = await connection.post(HEADERS, body)
    try:
        return answer.status, dict(answer.headers), b"".join([chunk async for chunk in answer.chunks()])
    finally:
        await answer.aclose()


async def ask_twice(connection: PinnedConnection) -> list[tuple[int, dict[bytes, bytes], bytes]]:
    return [await ask(connection), await ask(connection)]


@given(sent=st.sampled_from([LENGTH, CHUNKED, CONTINUED]), cuts=st.lists(st.integers(1, 120), max_size=4))
@settings(max_examples=60, deadline=None)
def test_an_answer_in_any_pieces_is_read_and_the_connection_kept(sent: bytes, cuts: list[int]) -> None:
    places = [0, *sorted({cut for cut in cuts if cut < len(sent)}), len(sent)]
    server = Pieces(*(sent[begin:end] for begin, end in itertools.pairwise(places)))

    for status, headers, body in run(server, ask_twice):
        assert (status, body) == (200, b"hello")
        assert not {b"X-Trailer", b"X-No"} & set(headers)
        assert headers.get(b"X-Model", b"v1") == b"v1"
    assert server.connections == 1


@pytest.mark.parametrize("fast", [True, False])
def test_a_body_that_ends_with_the_connection_is_whole(fast: bool) -> None:  # noqa: FBT001 - the event loop
    server = Pieces(UNTIL_END, closes=True)

    assert [body for _, _, body in run(server, ask_twice, fast=fast)] == [b"hello", b"hello"]
    assert server.connections == 2


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_an_answer_without_a_body_does_not_wait_for_one(status: bytes) -> None:
    server = Pieces(b"HTTP/1.1 " + status + b"\r\n\r\n")

    assert [body for _, _, body in run(server, ask_twice)] == [b"", b""]
    assert server.connections == 1


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "not one of HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", "not one of HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", "not one of HTTP/1.1"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "not one of HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "before the answer was complete"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2 * MAX_ANSWER_HEAD_BYTES, "bytes before its body"),
        (b"HTTP/1.1 200 OK\r\n", "without an answer"),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n" + LENGTH, "the status 999, which HTTP does not have"),
        (b"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", "the status 99, which HTTP does not have"),
    ],
)
def test_an_answer_that_is_none_is_an_error_that_says_so(sent: bytes, words: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match=words):
        run(Pieces(sent, closes=True), ask)


def test_bytes_after_an_answer_are_never_the_next_answer() -> None:
    server = Pieces(LENGTH + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")

    assert [body for _, _, body in run(server, ask_twice)] == [b"hello", b"hello"]
    assert server.connections == 2


def test_an_answer_that_is_not_read_to_its_end_is_never_the_next_answer() -> None:
    server = Pieces(LENGTH)

    async def ask_without_reading(connection: PinnedConnection) -> bytes:
        answer = await connection.post(HEADERS, b"body")
        await answer.aclose()
        return (await ask(connection))[2]

    assert run(server, ask_without_reading) == b"hello"
    assert server.connections == 2


def test_an_answer_before_the_end_of_the_request_is_read() -> None:
    refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge"
    server = Pieces(refusal, reads=False)

    async def send_much(connection: PinnedConnection) -> tuple[int, bytes]:
        status, _, body = await ask(connection, b"x" * 20_000_000)
        return status, body

    assert run(server, send_much) == (413, b"large")


def test_a_server_waits_while_its_answer_is_not_read() -> None:
    size = 60 * MAX_WAITING_BYTES
    server = Pieces(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, *[b"x" * MAX_WAITING_BYTES] * 60)

    async def read_late(connection: PinnedConnection) -> tuple[int, int]:
        answer = await connection.post(HEADERS, b"body")
        before = -1
        while before != server.sent:
            before = server.sent
            for _ in range(2000):
                await asyncio.sleep(0)
        held = server.sent
        found = sum([len(chunk) async for chunk in answer.chunks()])
        await answer.aclose()
        return held, found

    held, found = run(server, read_late)
    assert found == size
    assert held < size


def test_a_line_break_in_a_header_is_refused_before_anything_is_sent() -> None:
    server = Pieces(LENGTH)

    async def smuggle(connection: PinnedConnection) -> None:
        for header in ((b"x-key", b"a\r\nb: c"), (b"x key", b"a"), (b"x-key", b"a\x00")):
            with pytest.raises(httpx.LocalProtocolError):
                await connection.post([*HEADERS, header], b"body")

    run(server, smuggle)
    assert server.connections == 0
