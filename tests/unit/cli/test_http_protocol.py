import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar
from unittest.mock import Mock

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.base.settings import Settings
from app.web import http_bounds
from app.web.http_bounds import Connections
from app.web.http_protocol import BoundedProtocol

Found = TypeVar("Found")

LONG_BYTES = 8 * 2**20
PART = b"x" * 2**16
BUFFER_BYTES = 2**14

OVERRIDDEN = [
    *["connection_made", "connection_lost", "data_received", "send_400_response", "pause_writing", "resume_writing"],
    *["on_message_begin", "on_header", "on_headers_complete", "on_body", "on_message_complete"],
]
OF_PROTOCOL = [
    *["client", "cycle", "flow", "headers", "loop", "parser", "pipeline", "transport", "url"],
    *["timeout_keep_alive", "timeout_keep_alive_task", "timeout_keep_alive_handler"],
]
OF_FLOW = ["read_paused", "resume_reading"]
OF_CYCLE = ["disconnected", "message_event", "response_complete", "response_started"]


async def _app(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answers with the path: in parts, where it says so."""
    path = scope["path"].encode()
    headers = [] if b"parts" in path else [(b"content-length", b"%d" % len(path))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if not headers:
        for byte in path:
            await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": bytes([byte]), "more_body": True})
        path = b""
    await send({"type": "http.response.body", "body": path})


async def _answer_at_length(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LONG_BYTES)]})
    for _ in range(LONG_BYTES // len(PART)):
        await send({"type": "http.response.body", "body": PART, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _exchange(
    ask: Callable[[int], Awaitable[Found]], *, app: ASGIApp = _app, protocols: list[BoundedProtocol] | None = None
) -> Found:
    """What `ask` finds at the server's port. `protocols` gets those of its connections."""
    config = uvicorn.Config(app, http=BoundedProtocol, lifespan="off", log_config=None, access_log=False, ws="none")
    config.load()
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    connections = Connections(Settings(), 2000)

    def make() -> BoundedProtocol:
        protocol = BoundedProtocol(config=config, server_state=server.server_state, app_state={}, connections=connections)
        if protocols is not None:
            protocols.append(protocol)
        return protocol

    async with await loop.create_server(make, "127.0.0.1", 0) as open_listeners:
        open_listeners.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        return await ask(open_listeners.sockets[0].getsockname()[1])


def test_answers_of_one_connection_are_whole_also_in_parts_and_without_a_body() -> None:
    async def ask(port: int) -> list[tuple[int, str]]:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            answers = [await client.request(method, path) for path in ("/one", "/parts", "/two") for method in ("GET", "HEAD")]
        return [(answer.status_code, answer.text) for answer in answers]

    assert asyncio.run(_exchange(ask)) == [(200, "/one"), (200, ""), (200, "/parts"), (200, ""), (200, "/two"), (200, "")]


def test_pipelined_requests_are_answered_in_order() -> None:
    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"".join(b"GET /%d HTTP/1.1\r\nhost: a\r\n\r\n" % n for n in range(3)) + b"GET /3 HTTP/1.1\r\nconnection: close\r\n\r\n"
        )
        answer = await reader.read()
        writer.close()
        return answer

    answer = asyncio.run(_exchange(ask))

    assert [part[-2:] for part in answer.split(b"HTTP/1.1 200")[1:]] == [b"/0", b"/1", b"/2", b"/3"]


def test_a_request_that_would_lose_its_body_to_an_upgrade_is_refused() -> None:
    """Java's HTTP client sends these headers over plain HTTP, and so does the HTTP sink of Kafka Connect."""

    async def ask(port: int, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        asked = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
        writer.write(b"POST /one HTTP/1.1\r\nhost: a\r\n" + asked + body)
        answer = await reader.readuntil(b"}" if body != b"\r\n" else b"/one")
        writer.close()
        return answer

    with_body = asyncio.run(_exchange(partial(ask, body=b"content-length: 2\r\n\r\n{}")))
    without = asyncio.run(_exchange(partial(ask, body=b"\r\n")))

    assert with_body.startswith(b"HTTP/1.1 400 ")
    assert b"A request with the header Upgrade may have no body" in with_body
    assert without.startswith(b"HTTP/1.1 200 ")


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - nothing tells when
        await asyncio.sleep(0.001)


async def _ask_for_much(port: int) -> socket.socket:
    """A connection that has sent a request, and takes little of the answer until it is read."""
    loop = asyncio.get_running_loop()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    client.setblocking(False)
    await loop.sock_connect(client, ("127.0.0.1", port))
    await loop.sock_sendall(client, b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    return client


def _waits_for_its_reader(protocols: list[BoundedProtocol]) -> bool:
    """Whether the one connection has begun, and has more to send than is taken, or nothing any more."""
    return any(each.cycle is not None and (each.flow.write_paused or each.transport.is_closing()) for each in protocols)


def test_a_slow_reader_gets_the_whole_of_a_long_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_bounds, "SWEEP_SECONDS", 3600)  # the test looks by itself
    protocols: list[BoundedProtocol] = []

    async def ask(port: int) -> int:
        loop = asyncio.get_running_loop()
        received, now = 0, loop.time()
        with await _ask_for_much(port) as client:
            while True:
                # Writing is paused whenever the deadline is over, and in between a part of the answer was read.
                await _until(lambda: _waits_for_its_reader(protocols))
                now += Settings().request_body_seconds
                protocols[0].end_if_late(now)
                until = received + LONG_BYTES // 8
                while received < until:
                    part = await loop.sock_recv(client, len(PART))
                    if not part:
                        return received
                    received += len(part)

    assert asyncio.run(_exchange(ask, app=_answer_at_length, protocols=protocols)) > LONG_BYTES


def test_a_reader_that_stops_in_the_middle_of_an_answer_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_bounds, "SWEEP_SECONDS", 3600)
    protocols: list[BoundedProtocol] = []

    async def ask(port: int) -> list[bool]:
        now, found = asyncio.get_running_loop().time(), []
        with await _ask_for_much(port):
            await _until(lambda: _waits_for_its_reader(protocols))
            for seconds in (0, Settings().request_body_seconds - 1, Settings().request_body_seconds):
                protocols[0].end_if_late(now + seconds)
                found.append(protocols[0].transport.is_closing())
            await _until(lambda: protocols[0].cycle.disconnected)  # so the application ends, too
        return found

    assert asyncio.run(_exchange(ask, app=_answer_at_length, protocols=protocols)) == [False, False, True]


def test_half_a_head_right_behind_a_request_is_refused_after_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_bounds, "SWEEP_SECONDS", 3600)
    protocols: list[BoundedProtocol] = []
    may_answer = asyncio.Event()

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        await may_answer.wait()
        await _app(scope, receive, send)

    async def ask(port: int) -> tuple[bytes, bytes]:
        late = asyncio.get_running_loop().time() + 2 * Settings().request_head_seconds
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /one HTTP/1.1\r\nhost: a\r\n\r\nGET /")
        await _until(lambda: bool(protocols) and protocols[0].cycle is not None)
        protocols[0].end_if_late(late)
        may_answer.set()
        first = await reader.readuntil(b"/one")
        protocols[0].end_if_late(late)
        second = await reader.read()
        writer.close()
        return first, second

    first, second = asyncio.run(_exchange(ask, app=wait, protocols=protocols))

    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 408 ")


def test_uvicorn_has_what_the_bounds_use_of_it() -> None:
    """None of it is documented. The door tests show that it does what is expected of it."""

    async def find() -> tuple[HttpToolsProtocol, list[str]]:
        config = uvicorn.Config(_app, lifespan="off", log_config=None, access_log=False, ws="none")
        config.load()
        transport = Mock(asyncio.Transport)
        transport.get_extra_info.return_value = None
        transport.is_closing.return_value = False
        protocol = HttpToolsProtocol(config, uvicorn.Server(config).server_state, {})
        protocol.connection_made(transport)
        protocol.data_received(b"GET /one HTTP/1.1\r\nhost: a\r\n\r\n")
        await _until(lambda: protocol.cycle.response_complete)
        protocol.timeout_keep_alive_handler()
        places = ((HttpToolsProtocol, OVERRIDDEN), (protocol, OF_PROTOCOL), (protocol.flow, OF_FLOW), (protocol.cycle, OF_CYCLE))
        return protocol, [name for place, names in places for name in names if not hasattr(place, name)]

    protocol, missing = asyncio.run(find())

    assert missing == []
    assert (protocol.url, protocol.headers, len(protocol.pipeline)) == (b"/one", [(b"host", b"a")], 0)
    assert protocol.timeout_keep_alive_task is not None
