import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from app.cli.http_bounds import Connections, HttpBounds
from app.cli.http_protocol import BoundedProtocol

Found = TypeVar("Found")


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


async def _exchange(ask: Callable[[int], Awaitable[Found]]) -> Found:
    config = uvicorn.Config(_app, http=BoundedProtocol, lifespan="off", log_config=None, access_log=False, ws="none")
    config.load()
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: BoundedProtocol(config=config, server_state=server.server_state, app_state={}, connections=Connections(HttpBounds())),
        "127.0.0.1",
        0,
    )
    async with listening:
        return await ask(listening.sockets[0].getsockname()[1])


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
