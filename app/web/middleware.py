"""The layer around every request. Pure ASGI, so that bodies and answers are not buffered."""

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Annotated, Any, TypeVar, get_args, get_origin

import structlog
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..base.clock import monotonic_seconds
from ..base.errors import CallLoop, FieldProblem, InvalidInput, Unavailable, UnsupportedMediaType
from ..base.settings import Network
from ..base.strict_json import require_strict
from ..base.telemetry.prometheus import http_requests, http_seconds
from ..base.telemetry.traces import TRACING, describe_span, request_span
from ..base.turns import Room
from ..base.values import find_nearest, frozen, frozen_by_name
from ..calls.pinned_transport import MAX_HOPS
from .problems import build_body_too_large, problem_response, unexpected_response

_IPV6_BITS = 64


def find_client_address(address: str, headers: Headers, trusted: Sequence[Network]) -> str:
    """`X-Forwarded-For` from its end, as far as trusted proxies wrote it: the rest may be made up."""
    named = [address.strip() for line in headers.getlist("x-forwarded-for") for address in line.split(",")]
    while named and is_within(address, trusted):
        # Some proxies add the port, to an IPv6 address in brackets.
        entry = named.pop()
        stated = _parse(entry[1:].partition("]")[0] if entry.startswith("[") else entry) or _parse(
            entry.partition(":")[0]
        )
        if stated is None:
            break
        address = str(stated)
    return address


def name_client(address: str) -> str:
    parsed = _parse(address) if ":" in address else None
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, _IPV6_BITS), strict=False))
    return str(parsed or address)


def is_within(address: str, networks: Sequence[Network]) -> bool:
    parsed = _parse(address) if networks else None
    return parsed is not None and any(parsed in network for network in networks)


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


MAX_PROBLEMS = 100

_MAX_NAME_CHARACTERS = 100

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_MEDIA_TYPES: dict[Callable[..., Any], tuple[str, ...]] = {}


async def require_known_parameters(request: Request) -> None:
    if request.scope["query_string"]:
        require_parameters(
            [name for name, _ in request.query_params.multi_items()],
            list_declared_parameters(request.scope["route"]),
        )


def require_parameters(sent: Sequence[str], allowed: Mapping[str, bool]) -> None:
    """A repeated name needs True in `allowed`."""
    problems = []
    for name, times in Counter(sent).items():
        field = f"query.{name:.{_MAX_NAME_CHARACTERS}}"
        if name not in allowed:
            problems.append(FieldProblem(field, _describe_unknown(name, list(allowed))))
        elif times > 1 and not allowed[name]:
            problems.append(FieldProblem(field, f"is given {times:,} times; give it once"))
    if problems:
        raise InvalidInput(problems[:MAX_PROBLEMS])


def list_declared_parameters(route: APIRoute) -> Mapping[str, bool]:
    return dict(_list_declared(route.dependant))


def _list_declared(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    for inner in dependant.dependencies:
        yield from _list_declared(inner)
    for parameter in dependant.query_params:
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from (
                (field.alias or name, _is_list(field.annotation))
                for name, field in annotation.model_fields.items()
            )
        else:
            yield parameter.alias, _is_list(annotation)


def _is_list(annotation: Any) -> bool:  # noqa: ANN401 - a type, or a form of typing
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_list(get_args(annotation)[0])
    return origin in (list, set, frozenset, tuple) or (
        origin is not None
        and any(_is_list(argument) for argument in get_args(annotation) if get_origin(argument) is not None)
    )


def _describe_unknown(name: str, allowed: Sequence[str]) -> str:
    if not allowed:
        return "is no parameter of this address, which takes none"
    near = find_nearest(name, allowed) or next(
        (candidate for candidate in allowed if candidate in name or name in candidate), None
    )
    suggestion = "." if near is None else f"; did you mean {near}?"
    return f"is no parameter of this address{suggestion} It takes {', '.join(allowed)}"


def takes(*media_types: str) -> Callable[[_Endpoint], _Endpoint]:
    def mark(endpoint: _Endpoint) -> _Endpoint:
        _MEDIA_TYPES[endpoint] = media_types
        return endpoint

    return mark


async def require_understood_body(request: Request) -> None:
    """Refuses a body that is neither strict JSON nor of another type of the route."""
    has_body = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    if request.method not in _WITH_BODY or not has_body:
        return
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    media_types = _MEDIA_TYPES.get(request.scope["endpoint"], ())
    if media_type not in media_types and not is_json(media_type):
        expected = (
            f"one of the content types application/json, {', '.join(media_types)}"
            if media_types
            else "JSON with the content type application/json"
        )
        raise UnsupportedMediaType(f"Send {expected}; found {media_type or 'none'!r}.")
    # The route reads the body itself: it may be too large for memory.
    if not media_types:
        require_strict(await request.body())


def is_json(media_type: str) -> bool:
    return media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )


NO_ROUTE = "(none)"


def name_route(scope: Scope) -> str:
    template: str = scope.get("route_template") or getattr(scope.get("route"), "path", None) or NO_ROUTE
    return template


REQUEST_ID = "x-request-id"

SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""The documentation page, which alone loads anything, sends its own."""

_LOOP_DETAIL = (
    f"Evenhand made this call itself, or it came through {MAX_HOPS} installations, so it ends here. An"
    " endpoint or a receiver is the address of an Evenhand service: give the address of the server itself."
)

log = structlog.get_logger("evenhand.http")


def refuse_loop() -> Response:
    request_id = uuid.uuid4().hex
    log.warning("a call came back", request_id=request_id)
    return problem_response(CallLoop(_LOOP_DETAIL), request_id)


@frozen
class RequestContext:
    """No request passes without a log line and an answer."""

    app: ASGIApp
    trusted_proxies: Sequence[Network]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            # Answered as GET: the server, which has the request's own method, sends no body.
            scope = {**scope, "method": "GET"}
        with request_span(scope["headers"]) if TRACING.is_on else nullcontext():
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        status: int | None = None
        sent_id = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = sent_id if SANE_REQUEST_ID.fullmatch(sent_id) else uuid.uuid4().hex
        client: str = scope["client"][0] if scope.get("client") else ""
        if self.trusted_proxies:
            client = find_client_address(client, Headers(scope=scope), self.trusted_proxies)
        # A copy: the server hands every request the same state of the lifespan.
        scope["state"] = {**scope.get("state", {}), "request_id": request_id, "client_address": client}
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        began = monotonic_seconds()
        try:
            await self.app(scope, receive, send_marked)
        except Exception:  # an unforeseen error is logged once, and answered
            log.exception("request failed", method=scope["method"], route=name_route(scope))
            if status is None:
                await unexpected_response(request_id)(scope, receive, send_marked)
        finally:
            _log_request(scope, status, monotonic_seconds() - began)


@frozen_by_name
class BodyLimit:
    """Answers 413 to a body over the limit: at once where its length is announced.

    Bodies count in `room` until the answer; forms to log in have no key. `exempt` requests limit their bodies
    themselves.
    """

    app: ASGIApp
    max_bytes: int
    room: Room | None = None
    exempt: Callable[[Scope], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.exempt(scope):
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > self.max_bytes:
            await problem_response(build_body_too_large(self.max_bytes), scope["state"]["request_id"])(
                scope, receive, send
            )
            return
        principal = scope["state"].get("principal")
        room, caller = (None, "") if principal is None else (self.room, principal.actor)
        received = 0

        async def receive_bounded() -> Message:
            nonlocal received
            # FastAPI takes any exception from a body but HTTPException for broken JSON.
            message = await receive()
            size = len(message.get("body", b""))
            received += size
            if room is not None and size:
                room.take(caller, size)
                try:
                    room.require(caller)
                except Unavailable as error:
                    raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
            if received > self.max_bytes:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        try:
            await self.app(scope, receive_bounded, send)
        finally:
            if room is not None and received:
                room.give_back(caller, received)


def _log_request(scope: Scope, status: int | None, seconds: float) -> None:
    # Only templates become labels: a scanner must not be able to create new ones.
    route = name_route(scope)
    method = scope["method"] if scope["method"] in _METHODS else "OTHER"
    http_requests.labels(method, route, str(status or "disconnected")).inc()
    http_seconds.labels(route).observe(seconds)
    principal = scope["state"].get("principal")
    deployment = scope.get("path_params", {}).get("deployment_id")
    if TRACING.is_on:
        attributes = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            "evenhand.deployment": deployment,
            "evenhand.request_id": scope["state"]["request_id"],
        }
        has_failed = status is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        describe_span(attributes, name=f"{method} {route}", has_failed=has_failed)
    log.info(
        "request",
        method=method,
        # Not the path: the ids of records in it may reveal who a person is.
        route=route,
        deployment=deployment,
        actor=None if principal is None else principal.actor,
        client=scope["state"]["client_address"],
        status=status,
        seconds=round(seconds, 4),
    )
