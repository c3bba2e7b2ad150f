"""A stand-in for the service, which a test lets answer as it likes, and which keeps what it was sent."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.progress import wait_until


@dataclass(frozen=True)
class Sent:
    """One request."""

    method: str
    path: str
    key: str
    body: Any

    @property
    def records(self) -> list[Any]:
        """Its records or pairs."""
        found: list[Any] = self.body if isinstance(self.body, list) else self.body.get("records", [])
        return found


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


Respond = Callable[[Sent], Reply]


def receipt(sent: Sent, **counts: Any) -> Reply:  # noqa: ANN401 - members of a receipt
    """All accepted, but for what is named."""
    rows = len(sent.records)
    members = {"sent": rows, "accepted": rows, "duplicate": 0, "rejected": 0, "rejections": [], "conflicts": []}
    return Reply(200, members | counts)


class Collector:
    """A server on loopback. `respond` may be replaced at any time."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.requests: list[Sent] = []
        self.respond: Respond = receipt

    @property
    def ids(self) -> list[str]:
        """The ids of all records in requests that were answered with 200, in order."""
        return [record["id"] for record in self.records]

    @property
    def records(self) -> list[Any]:
        """All records in requests that were answered with 200, in order."""
        return [record for sent in self.accepted for record in sent.records if sent.method == "POST"]

    accepted: list[Sent]

    def answer(self, sent: Sent) -> Reply:
        """Keeps a request and answers it."""
        self.requests.append(sent)
        reply = Reply(204) if sent.method == "PUT" else self.respond(sent)
        if reply.status == 200:
            self.accepted.append(sent)
        return reply

    @property
    def missing(self) -> dict[str, dict[str, Any]]:
        """The last message of each sender about missing records."""
        return {sent.path.rpartition("/")[2]: sent.body for sent in self.requests if sent.method == "PUT"}

    def wait_for_records(self, records: int) -> None:
        """Returns once so many were accepted."""
        wait_until(lambda: len(self.records) >= records, f"{records} records arrive")


@contextmanager
def collecting() -> Iterator[Collector]:
    """The stand-in, until the block ends."""
    found: list[Collector] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = found[0].answer(Sent(self.command, self.path, self.headers["Authorization"], body))
            content = b"" if reply.body is None else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_POST  # noqa: N815 - the library's name

        def log_message(self, *_: Any) -> None:  # noqa: ANN401 - the library's
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        found.append(Collector(server))
        found[0].accepted = []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield found[0]
        finally:
            server.shutdown()
            thread.join()
