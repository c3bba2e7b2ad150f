"""The process that answers HTTP. Started by the supervisor, with a listening socket that outlives it."""

import gc
import socket
import sys

import uvicorn

from app.cli.http_protocol import HttpProtocol
from app.cli.startup import service_settings
from app.main import create_app

STOP_SECONDS = 10  # less than the supervisor's patience

GARBAGE_THRESHOLD = 20_000
"""New containers before the collector looks for cycles; a batch of records makes a few thousand, and none in cycles."""


def main() -> None:
    """Serve on the socket whose descriptor is the only argument, until SIGTERM."""
    settings = service_settings()
    listener = socket.socket(fileno=int(sys.argv[1]))
    config = uvicorn.Config(
        create_app(settings),
        loop="uvloop",
        http=HttpProtocol,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who is behind a proxy is not believed; the gate reads the scheme itself
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.freeze()  # what is loaded by now stays: walking it again and again makes most of the slowest answers
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
