"""The middleware in applications that a server has under a prefix."""

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from evenhand_client import Evenhand
from evenhand_client.asgi import EvenhandMiddleware

from .collector import Collector

Make = Callable[..., Evenhand]


async def answer(_scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own types
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'{"predictions":[1]}'})


def call(client: Evenhand, path: str, root_path: str) -> None:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b'{"inputs":[{"age":30}]}'}

    async def send(message: MutableMapping[str, Any]) -> None:
        del message

    scope = {"type": "http", "method": "POST", "path": path, "root_path": root_path, "headers": []}
    asyncio.run(EvenhandMiddleware(answer, client=client)(scope, receive, send))


@pytest.mark.parametrize(
    ("path", "root_path", "logged"),
    [
        ("/invocations", "", 1),
        ("/credit/invocations", "/credit", 1),
        ("/credit/invocations", "/credit/", 1),
        ("/invocations", "/credit", 1),
        ("/invocations", "/", 1),
        ("/credit/invocations", "", 0),
        ("/credits/invocations", "/credit", 0),
        ("/credit/ping", "/credit", 0),
    ],
)
def test_a_path_needs_no_prefix_under_which_a_server_has_the_application(
    make: Make, collector: Collector, path: str, root_path: str, logged: int
) -> None:
    client = make()

    call(client, path, root_path)
    client.flush()

    assert sum(len(sent.records) for sent in collector.requests) == logged


@pytest.mark.parametrize("end", ["lifespan.shutdown.complete", "lifespan.shutdown.failed"])
def test_the_end_of_the_application_flushes_before_the_server_hears_of_it(make: Make, collector: Collector, end: str) -> None:
    client = make(flush_interval=3600)
    call(client, "/invocations", "")
    arrived: list[int] = []

    async def application(_scope: object, _receive: object, send: Any) -> None:  # noqa: ANN401 - as above
        await send({"type": "lifespan.startup.complete"})
        await send({"type": end})

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "lifespan.shutdown"}

    async def send(message: MutableMapping[str, Any]) -> None:
        del message
        arrived.append(len(collector.records))

    asyncio.run(EvenhandMiddleware(application, client=client)({"type": "lifespan"}, receive, send))

    assert arrived == [0, 1]
