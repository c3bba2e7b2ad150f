"""The connections of checks to a model, behind httpx's face."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import httpx

from app.outbound.egress import EgressPolicy
from app.outbound.model_transport import ModelTransport

SECOND = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
PACKED = gzip.compress(b"hello")


class Recorder:
    """A server that records requests and answers each with the bytes given for its path."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = answers
        self.heads: list[bytes] = []
        self.connections = 0
        self.tasks: list[asyncio.Task[None] | None] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks.append(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
                self.heads.append(head)
                writer.write(self.answers[head.split(b" ")[1].decode().strip("/")])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def run(server: Recorder, block: Callable[[ModelTransport, str], Awaitable[None]], connections: int = 1) -> None:
    async def work() -> None:
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            base = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            async with ModelTransport(httpx.URL(f"{base}/model"), EgressPolicy(), connections=connections) as transport:
                await block(transport, base)
            await asyncio.gather(*(task for task in server.tasks if task is not None))

    asyncio.run(work())


async def ask(transport: ModelTransport, url: str, headers: list[tuple[bytes, bytes]] | None = None, method: str = "POST") -> bytes:
    response = await transport.handle_async_request(httpx.Request(method, url, headers=headers or [], content=b"body"))
    async with aclosing(response):
        return await response.aread()


def test_an_answer_that_is_packed_all_the_same_is_unpacked() -> None:
    packed = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED)

    async def block(transport: ModelTransport, base: str) -> None:
        assert [await ask(transport, f"{base}/model") for _ in range(2)] == [b"hello", b"hello"]

    server = Recorder(model=packed)
    run(server, block)
    assert server.connections == 1


def test_other_addresses_and_methods_are_asked_over_connections_of_their_own() -> None:
    async def block(transport: ModelTransport, base: str) -> None:
        assert await ask(transport, f"{base}/model") == b"ok"
        assert await ask(transport, f"{base}/token") == b"ok"
        assert await ask(transport, f"{base}/model", method="PUT") == b"ok"

    server = Recorder(model=SECOND, token=SECOND)
    run(server, block)
    assert [head.split(b" ", 2)[:2] for head in server.heads] == [[b"POST", b"/model"], [b"POST", b"/token"], [b"PUT", b"/model"]]
    assert server.connections == 2


def test_a_request_says_its_own_length_whatever_the_endpoint_s_headers_say() -> None:
    async def block(transport: ModelTransport, base: str) -> None:
        assert await ask(transport, f"{base}/model", [(b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"99")]) == b"ok"

    server = Recorder(model=SECOND)
    run(server, block)
    assert b"content-length: 4\r\n" in server.heads[0].lower()
    assert b"chunked" not in server.heads[0]


def test_a_response_that_is_closed_unread_gives_its_place_to_the_next_one() -> None:
    async def block(transport: ModelTransport, base: str) -> None:
        for _ in range(3):
            response = await transport.handle_async_request(httpx.Request("POST", f"{base}/model", content=b"body"))
            await response.aclose()
        assert await ask(transport, f"{base}/model") == b"ok"

    run(Recorder(model=SECOND), block)
