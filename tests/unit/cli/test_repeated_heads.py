"""Requests whose head was sent before go to their route directly, and the client cannot tell."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import uvicorn
from starlette.types import Receive, Scope, Send

from app.cli.http_bounds import Connections, HttpBounds
from app.cli.repeating_protocol import RepeatingProtocol
from app.web.repeats import REPEATABLE, WaitingClient

HEAD = b"POST /posts HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n"


@dataclass
class Route:
    """Takes repeated requests, answers those that ask for it at once, and keeps the others until `release`."""

    direct: list[bytes] = field(default_factory=list)
    ordinary: list[bytes] = field(default_factory=list)
    kept: list[WaitingClient] = field(default_factory=list)
    server: uvicorn.Server | None = None
    protocols: list[RepeatingProtocol] = field(default_factory=list)

    def take(self, body: bytes, sender: WaitingClient) -> bool:
        if body == b"no!":
            return False
        self.direct.append(body)
        if body == b"new":
            self._answer(sender, body)
        elif body == b"odd":
            asyncio.get_running_loop().call_soon(sender.hand_back)
        else:
            self.kept.append(sender)
        return True

    def release(self) -> None:
        kept, self.kept = self.kept, []
        for sender in kept:
            self._answer(sender, b"old")

    def _answer(self, sender: WaitingClient, body: bytes) -> None:
        sender.answer(b"HTTP/1.1 200 OK\r\n%bcontent-length: 3\r\n\r\n%b" % (sender.head_of_answers(), body))

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.ordinary.append(body)
        scope[REPEATABLE] = self
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
        await send({"type": "http.response.body", "body": body})


def _run(act: Callable[[Route, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> Route:
    """Runs `act` with a connection on which one request of `HEAD` was answered in the ordinary way."""

    async def run() -> Route:
        route = Route()
        config = uvicorn.Config(
            route.app,
            interface="asgi3",
            http=RepeatingProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            timeout_keep_alive=3600,
        )
        config.load()
        route.server = uvicorn.Server(config)
        connections, state = Connections(HttpBounds()), route.server.server_state

        def make() -> RepeatingProtocol:
            route.protocols.append(RepeatingProtocol(config=config, server_state=state, app_state={}, connections=connections))
            return route.protocols[-1]

        async with await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD + b"one")
            assert await _read_body(reader) == b"one"
            try:
                await act(route, reader, writer)
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
                await _until(lambda: not state.connections)
        return route

    return asyncio.run(run())


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - nothing tells when
        await asyncio.sleep(0.001)


async def _read_body(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    return await reader.readexactly(3)


def test_the_second_request_of_a_head_goes_directly() -> None:
    async def act(_route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(HEAD + b"new")
            assert await _read_body(reader) == b"new"

    route = _run(act)

    assert (route.ordinary, route.direct) == ([b"one"], [b"new", b"new"])


def test_what_the_route_does_not_take_or_hands_back_is_parsed() -> None:
    async def act(_route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for body in (b"no!", b"odd", b"new"):
            writer.write(HEAD + body)
            assert await _read_body(reader) == body

    route = _run(act)

    assert (route.ordinary, route.direct) == ([b"one", b"no!", b"odd"], [b"odd", b"new"])


def test_a_request_in_two_pieces_and_two_in_one_piece_are_parsed() -> None:
    async def act(_route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"n")
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(b"ew")
        assert await _read_body(reader) == b"new"
        writer.write(HEAD + b"two" + HEAD + b"too")
        assert [await _read_body(reader) for _ in range(2)] == [b"two", b"too"]

    route = _run(act)

    assert (route.ordinary, route.direct) == ([b"one", b"new", b"two", b"too"], [])


def test_a_head_may_come_before_its_body() -> None:
    async def act(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for pieces in ((HEAD, b"new"), (HEAD, b"n", b"ew"), (HEAD, b"two" + HEAD, b"too")):
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0.02)
            assert await _read_body(reader) == b"".join(pieces).replace(HEAD, b"")[:3]
        assert await _read_body(reader) == b"too"
        writer.write(HEAD)
        await asyncio.sleep(0.02)
        assert len(route.ordinary) == 4
        route.protocols[-1]._look()  # noqa: SLF001 - as when the time for a head is over
        writer.write(b"end")
        assert await _read_body(reader) == b"end"

    route = _run(act)

    assert (route.ordinary, route.direct) == ([b"one", b"new", b"two", b"too", b"end"], [b"new"])


def test_a_server_that_ends_answers_a_request_whose_head_has_come() -> None:
    async def act(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await asyncio.sleep(0.02)
        route.protocols[-1].shutdown()
        writer.write(b"new")
        assert await _read_body(reader) == b"new"
        assert await reader.read() == b""

    assert _run(act).direct == []


def test_another_head_is_parsed() -> None:
    async def act(_route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD.replace(b"host: a", b"host: b") + b"new")
        assert await _read_body(reader) == b"new"

    assert _run(act).direct == []


def test_requests_that_come_before_the_answer_wait_for_it() -> None:
    async def act(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"old")
        await _until(lambda: bool(route.kept))
        writer.write(HEAD + b"new" + b"GET /get HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nget")
        await asyncio.sleep(0.05)
        assert route.direct == [b"old"]
        route.release()
        assert [await _read_body(reader) for _ in range(3)] == [b"old", b"new", b"get"]

    _run(act)


def test_a_request_under_way_is_answered_before_the_server_ends() -> None:
    async def act(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"old")
        await _until(lambda: bool(route.kept))
        route.protocols[-1].shutdown()
        route.release()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200 OK\r\nconnection: close\r\n")
        assert answer.endswith(b"old")

    _run(act)


def test_a_connection_that_ends_before_its_answer_harms_nobody() -> None:
    async def act(route: Route, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"old")
        await _until(lambda: bool(route.kept))
        writer.transport.abort()
        await _until(lambda: not route.protocols[-1].connections)
        route.release()
        route.protocols[-1].hand_back()

    _run(act)


def test_an_idle_connection_is_closed_after_direct_requests_too() -> None:
    async def act(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = route.protocols[-1]
        writer.write(HEAD + b"new")
        assert await _read_body(reader) == b"new"
        protocol.timeout_keep_alive_handler()  # it fires because of the first request, but the second was just answered
        assert not protocol.transport.is_closing()
        protocol.timeout_keep_alive = 0
        protocol.timeout_keep_alive_handler()
        assert await reader.read() == b""

    _run(act)


def test_a_connection_that_is_leaving_ends_with_its_answer_unless_another_request_has_come() -> None:
    async def act(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        route.protocols[-1].is_leaving = True
        writer.write(HEAD + b"old")
        await _until(lambda: bool(route.kept))
        writer.write(HEAD + b"old")
        await _until(lambda: route.protocols[-1].flow.read_paused)
        for _ in range(2):
            assert len(route.kept) == 1
            route.release()
        first, second = (await reader.read()).removesuffix(b"old").split(b"old")
        assert b"connection: close" not in first
        assert second.startswith(b"HTTP/1.1 200 OK\r\nconnection: close\r\n")
        assert route.protocols[-1]._reader_timer is not None  # noqa: SLF001 - it was watched whether the client reads its answer

    assert _run(act).direct == [b"old", b"old"]
