"""A stand-in for the service that keeps the ids of records and the counts of missing ones."""

import json
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Store:
    """Records by id, and totals of those that were not received; what the service would have."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.missing: dict[str, int] = {}
        self.lock = threading.Lock()

    def take(self, body: Any) -> dict[str, object]:  # noqa: ANN401 - JSON
        """Returns the receipt of a batch of records, or of logged pairs."""
        with self.lock:
            ids = [str(one["scoring_id"]) for one in body] if isinstance(body, list) else [str(one["id"]) for one in body["records"]]
            duplicate = sum(one in self.times for one in ids)
            self.times.update(ids)
        new = len(ids) - duplicate
        return {"sent": len(ids), "accepted": new, "duplicate": duplicate, "rejected": 0, "rejections": [], "conflicts": []}


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the library's types
        """Says nothing: programs that are killed break off their requests."""


def serve(listener: socket.socket, store: Store) -> ThreadingHTTPServer:
    """Begins to listen on a socket that is bound; `shutdown` of what is returned ends it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(200, json.dumps(store.take(body)).encode())

        def do_PUT(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with store.lock:
                store.missing[self.path] = sum(hour["not_received"] for hour in body["hours"])
            self._answer(204, b"")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = _Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.daemon_threads = True
    server.socket = listener
    server.server_address = listener.getsockname()
    listener.listen(64)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
