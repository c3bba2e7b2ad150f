"""Traces of OpenTelemetry. Off unless a collector is named.

The tracer is not the library's global one: the web framework would send paths, which hold ids of records.
"""

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Headers = list[tuple[bytes, bytes]]
Attributes = Mapping[str, str | int | bool]

COLLECTOR_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_PROPAGATOR = TraceContextTextMapPropagator()
_TRACE_HEADERS = frozenset({b"traceparent", b"tracestate"})
_MAX_HEADER_BYTES = 512

log = structlog.get_logger("evenhand.telemetry")


@dataclass
class _Tracing:
    tracer: Tracer = field(default_factory=NoOpTracer)
    is_on: bool = False


TRACING = _Tracing()


@contextmanager
def tracing(process: str, *, version: str, is_own: Callable[[str], bool]) -> Iterator[None]:
    """Sends spans if the environment names a collector. `process` is `api` or `worker`.

    `is_own` says whether a URL is the service's.
    """
    obstacle = _find_obstacle(is_own)
    if obstacle is not None:
        if obstacle:
            log.warning("traces_off", reason=obstacle)
        yield
        return
    # Loaded only here: these take a fifth of a second.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - above
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    attributes = {
        "service.version": version,
        "service.instance.id": str(uuid.uuid4()),
        "evenhand.process": process,
    }
    is_named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    provider = TracerProvider(
        resource=Resource.create(attributes if is_named else {**attributes, "service.name": "evenhand"}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    TRACING.tracer, TRACING.is_on = provider.get_tracer("evenhand", version), True
    log.info("traces_on", process=process)
    try:
        yield
    finally:
        TRACING.tracer, TRACING.is_on = NoOpTracer(), False
        provider.shutdown()


def request_span(sent: Iterable[tuple[bytes, bytes]]) -> AbstractContextManager[None]:
    return _span("request", SpanKind.SERVER, parent=_read_parent(sent), attributes={})


def check_span(traceparent: str | None, attributes: Attributes) -> AbstractContextManager[None]:
    parent = None if traceparent is None else _PROPAGATOR.extract({"traceparent": traceparent})
    return _span("check", SpanKind.CONSUMER, parent=parent, attributes=attributes)


@dataclass
class ModelCall:
    """Call of a model in a trace; `headers` say its place there, and are empty while traces are off."""

    headers: Headers = field(default_factory=list)
    status: int | None = None
    has_failed: bool = False


@contextmanager
def model_span(
    host: str, attributes: Attributes, *, sent: Iterable[tuple[bytes, bytes]] | None = None
) -> Iterator[ModelCall]:
    """Opens the span of a call, in the current trace or in that of `sent` headers.

    The caller sets `status` and `has_failed` before the block ends.
    """
    call = ModelCall()
    if not TRACING.is_on:
        yield call
        return
    parent = None if sent is None else _read_parent(sent)
    span = TRACING.tracer.start_span(
        "call model",
        context=parent,
        kind=SpanKind.CLIENT,
        attributes={"http.request.method": "POST", "server.address": host, **attributes},
    )
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span))
    call.headers = [(name.encode(), value.encode()) for name, value in carrier.items()]
    try:
        yield call
    except BaseException as error:
        span.set_status(Status(StatusCode.ERROR, type(error).__name__))
        raise
    finally:
        if call.status is not None:
            span.set_attribute("http.response.status_code", call.status)
        if call.has_failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end()


def describe_span(
    attributes: Mapping[str, str | int | bool | None], *, name: str = "", has_failed: bool = False
) -> None:
    span = trace.get_current_span()
    if not span.is_recording():
        return
    if name:
        span.update_name(name)
    span.set_attributes({key: value for key, value in attributes.items() if value is not None})
    if has_failed:
        span.set_status(Status(StatusCode.ERROR))


def write_traceparent() -> str | None:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get("traceparent")


def add_trace_id(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
    return event


def replace_trace_headers(headers: Headers, call: ModelCall) -> Headers:
    return (
        [*(header for header in headers if header[0] not in _TRACE_HEADERS), *call.headers]
        if call.headers
        else headers
    )


@contextmanager
def _span(name: str, kind: SpanKind, *, parent: Context | None, attributes: Attributes) -> Iterator[None]:
    if not TRACING.is_on:
        yield
        return
    # Messages of exceptions may quote a model's answer.
    with TRACING.tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=dict(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except BaseException as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def _read_parent(sent: Iterable[tuple[bytes, bytes]]) -> Context:
    # Longer ones are no places, and the library would log each.
    carrier = {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in sent
        if name in _TRACE_HEADERS and len(value) <= _MAX_HEADER_BYTES
    }
    return _PROPAGATOR.extract(carrier)


def _find_obstacle(is_own: Callable[[str], bool]) -> str | None:
    collectors = [url for name in COLLECTOR_VARIABLES if (url := os.environ.get(name))]
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower()
    if (
        not collectors
        or exporter == "none"
        or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    ):
        return ""
    if exporter != "otlp":
        return f"OTEL_TRACES_EXPORTER is {exporter}; Evenhand sends traces by otlp only."
    protocol = next(
        (os.environ[name] for name in _PROTOCOL_VARIABLES if os.environ.get(name)), _PROTOCOL
    ).strip()
    if protocol != _PROTOCOL:
        return (
            f"{protocol} is the protocol of OTEL_EXPORTER_OTLP_PROTOCOL; Evenhand speaks {_PROTOCOL} "
            "(usually port 4318) only."
        )
    if any(map(is_own, collectors)):
        return "The collector is Evenhand's own address, which would trace itself; name the collector's."
    try:
        import opentelemetry.exporter.otlp.proto.http  # noqa: PLC0415 - an extra
        import opentelemetry.sdk.trace  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        return (
            "A collector is named, but the packages that send to it are not installed: pip install "
            "'evenhand[traces]'."
        )
    return None
