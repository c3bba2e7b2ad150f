"""A model behind HTTP on loopback, for tests: fields/values on `/score`, MLflow on `/invocations`, its own counts on `/counts`.

    with serve(RuleScorer()) as server:
        ...Endpoint(url=server.url)...          # or server.mlflow_url
        assert server.counts.rows == 100        # or GET server.counts_url from another process

A model is anything with `predict(columns, rows) -> list of (prediction, probability)`. Every server listens on 127.0.0.1, on a
port of its own (or `port`), keeps connections alive, and stops at the end of the `with`. `run()` serves until interrupted and
prints the port, for use as a program.
"""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import msgspec


class Model(Protocol):
    """What a served model does."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(prediction, probability) for each row, in order."""
        ...


class Counts(msgspec.Struct):
    """What a server has seen since its start or the last `clear()`. `most_at_once` is the largest number of requests in work together."""

    requests: int = 0
    rows: int = 0
    connections: int = 0
    most_at_once: int = 0
    bodies: list[bytes] = msgspec.field(default_factory=list)
    """The last hundred request bodies (left out of `/counts`)."""
    authorizations: list[str | None] = msgspec.field(default_factory=list)
    """The Authorization header of those requests."""
    hosts: list[str | None] = msgspec.field(default_factory=list)
    """The Host header of those requests."""
    traceparents: list[str | None] = msgspec.field(default_factory=list)
    """The traceparent header of those requests."""
    hops: list[str | None] = msgspec.field(default_factory=list)
    """The Evenhand-Hops header of those requests."""

    def clear(self) -> None:
        """Starts counting anew."""
        self.requests = self.rows = self.connections = self.most_at_once = 0
        self.bodies.clear()
        self.authorizations.clear()
        self.hosts.clear()
        self.traceparents.clear()
        self.hops.clear()


class Reply(msgspec.Struct):
    """An answer as it goes on the wire."""

    status: int
    body: bytes
    headers: dict[str, str] = msgspec.field(default_factory=dict)


class ModelServer(ThreadingHTTPServer):
    """The HTTP side of a model. Subclasses change `answer()` to misbehave (see `faulty.py`)."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, model: Model, port: int = 0) -> None:
        self.model = model
        self.counts = Counts()
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self._at_once = 0
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        """Where fields/values is spoken."""
        return f"{self.base}/score"

    @property
    def mlflow_url(self) -> str:
        """Where MLflow is spoken."""
        return f"{self.base}/invocations"

    @property
    def counts_url(self) -> str:
        """Where a GET gives `{requests, rows, connections, most_at_once}`."""
        return f"{self.base}/counts"

    def answer(self, path: str, body: bytes) -> Reply:
        """The reply to one POST; the model's own, in the format of the path."""
        request = msgspec.json.decode(body)
        if path == "/invocations":
            table = request["dataframe_split"]
            found = self.count(table["columns"], table["data"])
            return Reply(200, msgspec.json.encode({"predictions": [{"prediction": p, "probability": q} for p, q in found]}))
        found = self.count(request["fields"], request["values"])
        return Reply(200, msgspec.json.encode({"fields": ["prediction", "probability"], "values": found}))

    def count(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """Scores rows and counts them."""
        with self.lock:
            self.counts.rows += len(rows)
        return self.model.predict(columns, rows)

    def handled(self, path: str, body: bytes, headers: Message) -> Reply:
        """`answer()` between the counters."""
        with self.lock:
            self._at_once += 1
            self.counts.requests += 1
            self.counts.most_at_once = max(self.counts.most_at_once, self._at_once)
            self.counts.bodies = [*self.counts.bodies[-99:], body]
            self.counts.authorizations = [*self.counts.authorizations[-99:], headers.get("Authorization")]
            self.counts.traceparents = [*self.counts.traceparents[-99:], headers.get("traceparent")]
            self.counts.hops = [*self.counts.hops[-99:], headers.get("Evenhand-Hops")]
            self.counts.hosts = [*self.counts.hosts[-99:], headers.get("Host")]
        try:
            return self.answer(path, body)
        finally:
            with self.lock:
                self._at_once -= 1

    def get_request(self) -> tuple[socket.socket, Any]:
        """Counts connections, and remembers them so that the end of a test closes them."""
        connection, address = super().get_request()
        with self.lock:
            self.counts.connections += 1
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - socketserver's signature
        """Forgets a closed connection."""
        with self.lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Cuts every open connection."""
        self.stopping.set()
        with self.lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send(self.server.handled(self.path, body, self.headers))

    def do_GET(self) -> None:
        seen = self.server.counts
        counts = {name: getattr(seen, name) for name in ("requests", "rows", "connections", "most_at_once")}
        self._send(Reply(200, msgspec.json.encode(counts)))

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        try:
            self.end_headers()
            self.wfile.write(reply.body)
        except OSError:  # the client has gone, which is some tests' point
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True


@contextmanager
def serve(model: Model, *, port: int = 0) -> Iterator[ModelServer]:
    """The model behind HTTP in a thread, until the end of the `with`."""
    with running(ModelServer(model, port)) as server:
        yield server


@contextmanager
def running(server: ModelServer) -> Iterator[ModelServer]:
    """A server made by hand, in a thread until the end of the `with`."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.hang_up()
        server.shutdown()
        thread.join()
        server.server_close()


def run(model: Model, *, port: int = 0) -> None:
    """Serves until interrupted; the first line printed is the port."""
    with serve(model, port=port) as server:
        print(server.server_port, flush=True)  # noqa: T201 - how the starter learns the port
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return
