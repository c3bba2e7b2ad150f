"""A receiver of notifications on loopback, for tests: keeps what it was sent, and answers what it is told to.

with receiving() as receiver:
    ...PUT a channel with receiver.url...
    receiver.status = 503                   # from now on
    assert [sent.id for sent in receiver.received] == [...]
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    status: int

    @property
    def json(self) -> dict[str, Any]:
        """The body, read."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def id(self) -> str:
        """Its idempotency key."""
        return self.headers["idempotency-key"]


@dataclass
class Receiver:
    """What a receiver has seen, and how it answers: `status` with `headers` and `answer`, or what `choose` says of the body."""

    port: int = 0
    status: int = 200
    answer: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    choose: Callable[[dict[str, Any]], int] | None = None
    hang: threading.Event | None = None
    requests: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/evenhand/hook-x7Kq9"

    @property
    def received(self) -> list[Received]:
        """What it has taken."""
        return [request for request in self.requests if request.status < 300]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(("127.0.0.1", receiver.port), _Handler)
        receiver.port = self.server_port


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if receiver.hang is not None:
            receiver.hang.wait()
        status = receiver.choose(json.loads(body)) if receiver.choose else receiver.status
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.requests.append(Received(self.path, headers, body, status))
        try:
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)
        except OSError:  # the sender has gone, which is some tests' point
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""


@contextmanager
def receiving(receiver: Receiver | None = None) -> Iterator[Receiver]:
    """The receiver at work until the block ends; one that was at work before listens on the same port again."""
    receiver = receiver or Receiver()
    server = _Server(receiver)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.hang is not None:
            receiver.hang.set()
        server.shutdown()
        thread.join()
        server.server_close()
