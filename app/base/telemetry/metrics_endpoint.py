"""The address at which a process without an API answers with its counters."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog

from ..errors import SetupError
from .prometheus import exposition

log = structlog.get_logger("evenhand.telemetry")


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


@contextmanager
def counters_served(host: str, port: int) -> Iterator[int]:
    """Yields the port of `GET /metrics`; with 0 it does not listen. Raises SetupError."""
    if not port:
        yield 0
        return
    try:
        server = make_server(host, port, _answer, WSGIServer, _Quiet)
    except (OSError, OverflowError) as error:
        raise SetupError(
            f"The worker cannot listen on {host}:{port} for its counters: {error}. Set "
            "EVENHAND_METRICS_HOST or EVENHAND_METRICS_PORT."
        ) from error
    # A scrape that hangs must not keep the worker from ending.
    thread = threading.Thread(target=server.serve_forever, name="counters", daemon=True)
    thread.start()
    log.info("counters_served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(environ: dict[str, object], start_response: object) -> list[bytes]:
    is_known = environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"] == "/metrics"
    text, media_type = exposition() if is_known else (b"There is only GET /metrics.\n", "text/plain")
    start_response(
        "200 OK" if is_known else "404 Not Found",
        [("Content-Type", media_type), ("Content-Length", str(len(text)))],
    )  # type: ignore[operator]
    return [text]
