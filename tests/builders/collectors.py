"""A collector of traces, as an operator has it: it keeps what it receives."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


def _spans(request: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    for resource in request.resource_spans:
        own = {attribute.key: _value(attribute.value) for attribute in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    has_failed=span.status.code == 2,
                    attributes=own | {attribute.key: _value(attribute.value) for attribute in span.attributes},
                )


def _value(value: Any) -> Any:  # noqa: ANN401 - a message of protobuf
    return getattr(value, value.WhichOneof("value"))
