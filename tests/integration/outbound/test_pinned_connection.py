"""A single connection of the gateway: made anew when the server has closed it, and only to addresses that the policy allows."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TypeVar

import httpx
import pytest

from app.errors import EndpointRefused
from app.outbound.addresses import Address
from app.outbound.connection import PinnedConnection
from app.outbound.egress import EgressPolicy

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
T = TypeVar("T")


class Names:
    """A resolver with one address for each question; the last is repeated."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)

    async def __call__(self, host: str, port: int) -> list[Address]:
        del host, port
        return [ip_address(self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0])]


class Closing:
    """A server that answers as given, and closes each connection after that many answers."""

    def __init__(self, answer: bytes, answers: int) -> None:
        self.answer = answer
        self.answers = answers
        self.connections = 0
        self.closed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for _ in range(self.answers):
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(4)
            writer.write(self.answer)
        writer.close()
        await writer.wait_closed()
        self.closed.set()


async def ask(connection: PinnedConnection) -> bytes:
    response = await connection.post([(b"host", b"model.internal"), (b"content-length", b"4")], b"body")
    try:
        return b"".join([chunk async for chunk in response.chunks()])
    finally:
        await response.aclose()


def run(server: Closing, names: Names, block: Callable[[PinnedConnection], Awaitable[T]]) -> T:
    async def work() -> T:
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            connection = PinnedConnection(httpx.URL(f"http://model.internal:{port}/score"), EgressPolicy(), resolver=names)
            try:
                return await block(connection)
            finally:
                await connection.aclose()

    return asyncio.run(work())


def test_a_connection_is_kept_between_requests() -> None:
    server = Closing(ANSWER, answers=3)

    async def ask_thrice(connection: PinnedConnection) -> list[bytes]:
        return [await ask(connection) for _ in range(3)]

    assert run(server, Names("127.0.0.1"), ask_thrice) == [b"ok"] * 3
    assert server.connections == 1


def test_a_connection_that_the_server_closed_is_made_anew() -> None:
    server = Closing(ANSWER, answers=1)

    async def ask_after_the_end(connection: PinnedConnection) -> list[bytes]:
        answers = []
        for _ in range(3):
            answers.append(await ask(connection))
            await server.closed.wait()
            server.closed.clear()
        return answers

    assert run(server, Names("127.0.0.1"), ask_after_the_end) == [b"ok"] * 3
    assert server.connections == 3


def test_the_address_of_a_new_connection_is_checked_again() -> None:
    server = Closing(ANSWER, answers=1)

    async def ask_twice(connection: PinnedConnection) -> None:
        await ask(connection)
        await server.closed.wait()
        with pytest.raises(EndpointRefused, match="cloud metadata"):
            await ask(connection)

    run(server, Names("127.0.0.1", "169.254.169.254"), ask_twice)
    assert server.connections == 1


@contextmanager
def fails(kind: type[httpx.TransportError]) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    assert type(caught.value) is kind


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok"])
def test_an_answer_that_breaks_off_is_an_error_of_httpx_and_the_next_request_goes_on(answer: bytes) -> None:
    server = Closing(answer, answers=1)

    async def ask_again(connection: PinnedConnection) -> bytes:
        with fails(httpx.RemoteProtocolError):
            await ask(connection)
        server.answer = ANSWER
        return await ask(connection)

    assert run(server, Names("127.0.0.1"), ask_again) == b"ok"


def test_a_server_that_is_away_is_a_connection_error_and_is_asked_again() -> None:
    server = Closing(ANSWER, answers=1)

    async def ask_again(connection: PinnedConnection) -> bytes:
        with fails(httpx.ConnectError):
            await ask(connection)
        return await ask(connection)

    # The second address has the server; nothing listens on that port of the first.
    assert run(server, Names("127.0.0.2", "127.0.0.1"), ask_again) == b"ok"
