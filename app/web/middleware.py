"""What happens around every request, the ingestion routes included: a request id, one log line, counters, safe headers.

Pure ASGI, so that it costs little and does not buffer what passes through.
"""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.clock import monotonic_seconds
from app.telemetry.logs import bind_request_id
from app.telemetry.metrics import http_requests, http_seconds
from app.web.problems import body_too_large, problem_response, unexpected_response

REQUEST_ID = "x-request-id"

SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_NO_ROUTE = "(none)"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Answers are data of one caller; only the documentation page loads anything, and says so itself."""

log = structlog.get_logger("evenhand.http")


class RequestContext:
    """The outermost layer: nothing a request does escapes it unlogged or unanswered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on and accounts for it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        # A copy, because the server hands every request the same state object of the lifespan.
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        bind_request_id(request_id)
        answer = _Answer(send, request_id)
        began = monotonic_seconds()
        try:
            await self._app(scope, receive, answer.send)
        except Exception:  # the last line of defence: whatever nobody foresaw is logged once, and answered
            log.exception("request failed", method=scope["method"], path=scope["path"])
            if answer.status is None:
                await unexpected_response(request_id)(scope, receive, answer.send)
        finally:
            _account(scope, answer.status, monotonic_seconds() - began)


class BodyLimit:
    """Answers 413 to a body over the limit: at once where its length is announced, else as soon as it has been exceeded.

    Requests that are `exempt` limit their bodies themselves.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, exempt: Callable[[Scope], bool]) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._exempt = exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on while its body is small enough."""
        if scope["type"] != "http" or self._exempt(scope):
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > self._max_bytes:
            await problem_response(body_too_large(self._max_bytes), scope["state"]["request_id"])(scope, receive, send)
            return
        await self._app(scope, self._counting(receive), send)

    def _counting(self, receive: Receive) -> Receive:
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                # FastAPI takes any other exception out of a body for broken JSON.
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        return counted


@dataclass(slots=True)
class _Answer:
    """Passes an answer on, puts our headers on it and remembers its status."""

    _send: Send
    request_id: str
    status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self.request_id
            for name, value in SAFE_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _request_id(scope: Scope) -> str:
    sent = Headers(scope=scope).get(REQUEST_ID, "")
    return sent if SANE_REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex


def _account(scope: Scope, status: int | None, seconds: float) -> None:
    # Only known methods and route templates become labels: a scanner must not be able to make new ones.
    route = scope.get("route_template") or getattr(scope.get("route"), "path", None) or _NO_ROUTE
    method = scope["method"] if scope["method"] in _METHODS else "OTHER"
    http_requests.labels(method, route, str(status or "disconnected")).inc()
    http_seconds.labels(route).observe(seconds)
    log.info("request", method=method, path=scope["path"], route=route, status=status, seconds=round(seconds, 4))
