"""A model in a process of its own: the benchmark's program, which starts itself again with `--serve`."""

import contextlib
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn


@contextlib.contextmanager
def model_of(program: str, *arguments: str) -> Iterator[int]:
    """Starts the program with `--serve`; yields the port that it prints."""
    command = [sys.executable, "-P", program, "--serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            if not port:
                sys.exit("the model did not start")
            yield int(port)
        finally:
            process.terminate()


def serve_model(answer: Callable[[str, bytes], Awaitable[bytes]]) -> None:
    """Answers requests by their path and body until it is ended; prints the port."""

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
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listener])
