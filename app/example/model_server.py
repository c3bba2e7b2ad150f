"""Serves the model over HTTP in a process of its own, as a team would that has never heard of Evenhand.

`POST /score` takes `{"fields": [...], "values": [[...]]}` and answers in the same form.
"""

import contextlib
import json
import socket
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from app.example.model import CreditRiskModel, train

OUTPUTS = {"prediction": "prediction", "probability": "probability", "label": "predictedLabel"}
"""The names of the columns in the model's answer."""

PORT_FILE = "example-model.port"


class ModelServer(ThreadingHTTPServer):
    """Answers on a socket that listens already, so that callers wait while the model is being trained."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, model: CreditRiskModel) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            asked = json.loads(body)
            rows = self.server.model.predict(asked["fields"], asked["values"])
        except (ValueError, KeyError, TypeError) as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": f"{type(error).__name__}: {error}"})
        else:
            self._answer(HTTPStatus.OK, {"fields": list(OUTPUTS.values()), "values": rows})

    def _answer(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Says nothing: a line a request would fill the log."""


@contextlib.contextmanager
def model_listener(folder: Path) -> Iterator[socket.socket]:
    """A listening socket on loopback; on the port of the last run if it is free, so that the stored endpoint stays right."""
    remembered = folder / PORT_FILE
    port = 0
    with contextlib.suppress(OSError, ValueError):
        port = int(remembered.read_text(encoding="ascii"))
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError):
        listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        remembered.write_text(str(listener.getsockname()[1]), encoding="ascii")
        yield listener


def main() -> None:
    """Train, then serve on the socket whose descriptor is the only argument, until killed."""
    ModelServer(socket.socket(fileno=int(sys.argv[1])), train()).serve_forever()


if __name__ == "__main__":
    main()
