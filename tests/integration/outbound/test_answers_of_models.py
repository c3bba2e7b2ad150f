"""Answers of models over `PinnedTransport`: every way in which HTTP/1.1 ends a body, in pieces of any size, and answers that are none."""

import asyncio
import itertools
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from app.calls.egress_policy import Address, EgressPolicy
from app.calls.pinned_transport import PinnedTransport
from app.domain.deployment import EndpointTls
from tests.models.certificates import Authority

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Model:  v1 \r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-Trailer: t\r\n\r\n"
CONTINUED = b"HTTP/1.1 100 Continue\r\nX-No: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + LENGTH
UNTIL_END = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
OTHER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"
T = TypeVar("T")


async def loopback(_host: str, _port: int) -> list[Address]:
    return [ip_address("127.0.0.1")]


class Pieces:
    """A server that sends given pieces as its answer to each request, and then keeps or closes the connection.

    `late` goes before the second answer, `is_early`: it answers before it reads a body, `is_joined`: in one packet.
    """

    def __init__(self, *pieces: bytes, closes: bool = False, late: bytes = b"", is_early: bool = False, is_joined: bool = False) -> None:
        self.pieces, self.closes, self.late, self.is_early, self.is_joined = pieces, closes, late, is_early, is_joined
        self.connections = self.requests = self.sent = 0
        self.tasks: list[asyncio.Task[None]] = []
        self.closed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks += filter(None, [asyncio.current_task()])
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                if self.requests > 1:
                    writer.write(self.late)
                if self.is_early:
                    await self.answer(writer)
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                if not self.is_early:
                    await self.answer(writer)
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()
        self.closed.set()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        if self.is_joined:
            writer.writelines(self.pieces)
            return
        for piece in self.pieces:
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)
            await asyncio.sleep(0)


class Model:
    """What asks the server of a test."""

    def __init__(self, transport: PinnedTransport, url: str) -> None:
        self.transport, self.url = transport, url

    async def post(self, headers: list[tuple[bytes, bytes]] | None = None, body: bytes = b"body") -> httpx.Response:
        return await self.transport.handle_async_request(httpx.Request("POST", self.url, headers=headers, content=body))

    async def ask(self) -> bytes:
        async with aclosing(await self.post()) as answer:
            return await answer.aread()

    async def ask_twice(self) -> list[bytes]:
        return [await self.ask(), await self.ask()]


def run(server: Pieces, block: Callable[[Model], Awaitable[T]], *, fast: bool = True, tls_folder: Path | None = None) -> T:
    served = tls = None
    if tls_folder is not None:
        authority = Authority()
        issued = authority.issue("model.internal")
        (tls_folder / "model.pem").write_text(issued.certificate + issued.key)
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        served.load_cert_chain(tls_folder / "model.pem")
        tls = EndpointTls(authority=authority.pem)

    async def work() -> T:
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=served) as listener:
            url = f"{'http' if served is None else 'https'}://model.internal:{listener.sockets[0].getsockname()[1]}/score"
            async with PinnedTransport(EgressPolicy(), connections=2, tls=tls, resolver=loopback) as transport:
                found = await block(Model(transport, url))
            await asyncio.gather(*server.tasks)
            return found

    return uvloop.run(work()) if fast else asyncio.run(work())


@given(sent=st.sampled_from([LENGTH, CHUNKED, CONTINUED]), cuts=st.lists(st.integers(1, 120), max_size=4))
@settings(max_examples=60, deadline=None)
def test_an_answer_in_any_pieces_is_read_and_the_connection_kept(sent: bytes, cuts: list[int]) -> None:
    places = [0, *sorted({cut for cut in cuts if cut < len(sent)}), len(sent)]
    server = Pieces(*(sent[begin:end] for begin, end in itertools.pairwise(places)))

    async def ask_twice(model: Model) -> None:
        for _ in range(2):
            async with aclosing(await model.post()) as answer:
                assert (answer.status_code, await answer.aread()) == (200, b"hello")
            assert not {"X-Trailer", "X-No"} & set(answer.headers)
            assert answer.headers.get("X-Model", "v1") == "v1"

    run(server, ask_twice)
    assert server.connections == 1


@pytest.mark.parametrize("fast", [True, False])
def test_a_body_that_ends_with_the_connection_is_whole(fast: bool) -> None:  # noqa: FBT001 - the event loop
    server = Pieces(UNTIL_END, closes=True)

    assert run(server, Model.ask_twice, fast=fast) == [b"hello", b"hello"]
    assert server.connections == 2


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_an_answer_without_a_body_does_not_wait_for_one(status: bytes) -> None:
    server = Pieces(b"HTTP/1.1 " + status + b"\r\n\r\n")

    assert run(server, Model.ask_twice) == [b"", b""]
    assert server.connections == 1


def test_a_connection_that_the_server_closed_is_made_anew() -> None:
    server = Pieces(LENGTH, closes=True)

    async def ask_after_the_end(model: Model) -> list[bytes]:
        first = await model.ask()
        await server.closed.wait()
        return [first, await model.ask()]

    assert run(server, ask_after_the_end) == [b"hello", b"hello"]
    assert server.connections == 2


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", "conflicting Content-Length"),
        (b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", "illegal header"),
        (b"nonsense\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "SWITCH_UPGRADE"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "without sending complete message body"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "without sending complete message body"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 512 * 1024, "too long"),
        (b"HTTP/1.1 200 OK\r\n", "without sending a response"),
        (b"", "without sending a response"),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n" + LENGTH, "the status 999, which HTTP does not have"),
        (b"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", "not 99"),
    ],
)
def test_an_answer_that_is_none_is_an_error_that_says_so_and_the_next_request_goes_on(sent: bytes, words: str) -> None:
    server = Pieces(sent, closes=True)

    async def ask_again(model: Model) -> bytes:
        with pytest.raises(httpx.RemoteProtocolError, match=words):
            await model.ask()
        server.pieces = (LENGTH,)
        return await model.ask()

    assert run(server, ask_again) == b"hello"


@pytest.mark.parametrize("late", [b"", OTHER[20:]], ids=["a whole one", "one whose end comes later"])
def test_an_answer_behind_another_is_never_the_next_answer(late: bytes) -> None:
    server = Pieces(LENGTH)

    async def ask_until_it_is_found(model: Model) -> list[bytes]:
        async with aclosing(await model.post()) as under_way:
            server.requests, server.pieces, server.late = 0, (LENGTH + OTHER.removesuffix(late),), late
            first = await model.ask()
            with pytest.raises(httpx.RemoteProtocolError, match="more than its answer to the request before"):
                await model.ask()
            server.pieces, server.late = (LENGTH,), b""
            second = await under_way.aread()
        return [first, second, await model.ask()]

    assert run(server, ask_until_it_is_found) == [b"hello"] * 3
    assert server.connections == 2  # the other one is not closed for it


@pytest.mark.parametrize("fast", [True, False])
def test_an_answer_behind_another_that_tls_holds_back_is_never_the_next_answer(tmp_path: Path, fast: bool) -> None:  # noqa: FBT001 - as above
    server = Pieces(LENGTH, OTHER, is_joined=True)

    assert run(server, Model.ask_twice, fast=fast, tls_folder=tmp_path) == [b"hello", b"hello"]
    assert server.connections == 2


def test_a_connection_by_tls_is_kept(tmp_path: Path) -> None:
    server = Pieces(LENGTH)

    assert run(server, Model.ask_twice, tls_folder=tmp_path) == [b"hello", b"hello"]
    assert server.connections == 1


def test_an_answer_that_is_not_read_to_its_end_is_never_the_next_answer() -> None:
    server = Pieces(LENGTH)

    async def ask_without_reading(model: Model) -> bytes:
        await (await model.post()).aclose()
        return await model.ask()

    assert run(server, ask_without_reading) == b"hello"
    assert server.connections == 2


def test_an_answer_before_the_end_of_the_request_is_read() -> None:
    refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge"

    async def send_much(model: Model) -> tuple[int, bytes]:
        async with aclosing(await model.post(body=b"x" * 20_000_000)) as answer:
            return answer.status_code, await answer.aread()

    assert run(Pieces(refusal, is_early=True), send_much) == (413, b"large")


def test_a_server_waits_while_its_answer_is_not_read() -> None:
    piece, pieces = b"x" * 2**19, 60
    size = len(piece) * pieces
    server = Pieces(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, *[piece] * pieces)

    async def read_late(model: Model) -> tuple[int, int]:
        async with aclosing(await model.post()) as answer:
            before = -1
            while before != server.sent:
                before = server.sent
                for _ in range(2000):
                    await asyncio.sleep(0)
            return server.sent, len(await answer.aread())

    held, found = run(server, read_late)
    assert found == size
    assert held < size


def test_a_line_break_in_a_header_is_refused_before_anything_is_sent() -> None:
    server = Pieces(LENGTH)

    async def smuggle(model: Model) -> None:
        for header in ((b"x-key", b"a\r\nb: c"), (b"x key", b"a"), (b"x-key", b"a\x00")):
            with pytest.raises(httpx.LocalProtocolError):
                await model.post([header])

    run(server, smuggle)
    assert server.requests == 0


def test_the_limits_of_a_client_of_httpx_hold() -> None:
    async def wait(model: Model) -> None:
        async with httpx.AsyncClient(transport=model.transport, timeout=0.05) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post(model.url, content=b"body")

    run(Pieces(), wait)
