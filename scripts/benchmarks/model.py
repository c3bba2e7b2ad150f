"""A model in a process of its own."""

import contextlib
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import uvicorn

Answer = Callable[[str, bytes], Awaitable[bytes]]
"""Answers a request by its path and body. Is pickled, so it is a function or a method of a module."""


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[int]:
    """Yields the port of a server that answers like this."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(answer, there), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        process.terminate()


def _serve(answer: Answer, port: Connection) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own types
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        content = await answer(scope["path"], body)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    config = uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error", lifespan="off", loop="uvloop")
    listener = config.bind_socket()
    port.send(listener.getsockname()[1])
    uvicorn.Server(config).run(sockets=[listener])
