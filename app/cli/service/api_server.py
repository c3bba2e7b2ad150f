"""Answers HTTP on a socket that it is given."""

import asyncio
import socket
import sys
import threading
from functools import partial
from typing import cast

import uvicorn

from ...main import create_app
from ...pages.render import compile_templates
from ...web.http_bounds import Connections, count_allowed_connections, raise_open_file_limit
from ...web.http_protocol import BoundedProtocol
from ..database import load_service_settings, spare_loaded_objects

STOP_SECONDS = 10
"""For the last requests; less than the supervisor waits."""

THREAD_SWITCH_SECONDS = 0.0005
"""Python's 0.005 would delay a call of a model several times: it needs several passes of the loop."""


def main() -> None:
    """Serves on the socket whose descriptor is the only argument, until SIGTERM."""
    settings = load_service_settings()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    listener = socket.socket(fileno=int(sys.argv[1]))
    connections = Connections(settings, count_allowed_connections(settings, raise_open_file_limit()))
    config = uvicorn.Config(
        create_app(settings),
        loop="uvloop",
        http=cast("type[asyncio.Protocol]", partial(BoundedProtocol, connections=connections)),
        ws="none",  # its protocol would take over a connection, without the bounds
        timeout_keep_alive=settings.keep_alive_seconds,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the gate reads the scheme itself
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    spare_loaded_objects()
    threading.Thread(target=compile_templates, name="templates", daemon=True).start()
    uvicorn.Server(config).run(sockets=[listener])
