"""An HTTP server for a model."""

import json
import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer(ThreadingHTTPServer):
    """The socket listens already, so that callers wait during training. `answer` gets path and content."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, answer: Callable[[str, Any], Any]) -> None:
        # Replaces the base class's own socket.
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.answer = answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            content = self.server.answer(self.path, json.loads(body))
        except (ValueError, KeyError, TypeError) as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": f"{type(error).__name__}: {error}"})
        else:
            self._answer(HTTPStatus.OK, content)

    def _answer(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Logs nothing."""
