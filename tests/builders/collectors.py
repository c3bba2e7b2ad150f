"""Collectors of traces and of log lines, as an operator has them: they keep what they receive."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import StreamRequestHandler, TCPServer, ThreadingTCPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """One span as a collector reads it; ids are hexadecimal, `parent_id` is empty at the root."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    has_failed: bool
    attributes: dict[str, Any]


@dataclass
class TraceCollector:
    """The spans received so far."""

    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)

    def named(self, name: str) -> list[ReceivedSpan]:
        """The spans of that name."""
        return [span for span in self.spans if span.name == name]


@dataclass
class AuditReceiver:
    """A receiver of the audit: the bodies of requests, or the bytes of connections. While `refuses`, it takes nothing."""

    address: str = ""
    received: list[bytes] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    refuses: bool = False


@contextmanager
def log_collector() -> Iterator[AuditReceiver]:
    """A collector of OTLP's log records in JSON on loopback, until the block ends."""
    receiver = AuditReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.authorizations.append(self.headers.get("Authorization"))
            if not receiver.refuses:
                receiver.received.append(body)
            self.send_response(503 if receiver.refuses else 200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        receiver.address = f"http://127.0.0.1:{port}/v1/logs"
        yield receiver


@contextmanager
def syslog_server() -> Iterator[AuditReceiver]:
    """A syslog server over TCP on loopback, until the block ends. It reads up to the end and closes, or resets while it `refuses`."""
    receiver = AuditReceiver()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            if receiver.refuses:
                # With what arrived unread, as a server that dies.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.recv(1, socket.MSG_PEEK)
                socket.close(self.connection.detach())
            else:
                receiver.received.append(self.rfile.read())

    with _serving(ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        receiver.address = f"syslog+tcp://127.0.0.1:{port}"
        yield receiver


@contextmanager
def _serving(server: TCPServer) -> Iterator[int]:
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def trace_collector() -> Iterator[TraceCollector]:
    """A collector of OTLP over HTTP on loopback, until the block ends."""
    collector = TraceCollector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.spans += _spans(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        collector.url = f"http://127.0.0.1:{port}"
        yield collector


def _spans(request: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    for resource in request.resource_spans:
        own = {one.key: _value(one.value) for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    has_failed=span.status.code == 2,
                    attributes=own | {one.key: _value(one.value) for one in span.attributes},
                )


def _value(value: Any) -> Any:  # noqa: ANN401 - a message of protobuf
    return getattr(value, value.WhichOneof("value"))
