"""The two hot routes.

Plain ASGI, because a framework's route costs more than the durable write. Only failures of ours are logged: a
line per request would cost as much as storing its record.
"""

import itertools
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl

import msgspec
import structlog
from fastapi import Depends
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...access.gate.caller import Services, open_feature
from ...access.gate.gate import require_own_page
from ...access.principals import Permission
from ...base.clock import monotonic_seconds, utc_now
from ...base.encodings import UTF_8
from ...base.errors import Conflict, EvenhandError, FieldProblem, InvalidInput, NotFound, UnsupportedMediaType
from ...base.frozen import frozen
from ...base.strict_json import JsonObject
from ...base.telemetry.prometheus import http_requests, http_seconds
from ...domain.arrival import RecordSource, stated_source
from ...domain.record import Receipt
from ...web.middleware import SAFE_HEADERS, SANE_REQUEST_ID
from ...web.problems import KINDS, build_problem_response, problem_response, unexpected_response
from ...web.query_parameters import require_parameters
from ...web.uploads import parse_content_type
from ..logging.log_request import LogRequest
from ..logging.service import Ingestion
from .body_bounds import Bodies, ClientGone

IngestionIn = Annotated[Ingestion, Depends(open_feature(Ingestion))]

PREFIX = "/v1/deployments/"
PAYLOAD, FEEDBACK = "payload-records", "feedback-records"

_SWITCHES = ("historical", "first_time_counts", "assume_utc")

PARAMETERS: Mapping[str, Mapping[str, bool]] = {
    PAYLOAD: dict.fromkeys(_SWITCHES, False),
    FEEDBACK: dict.fromkeys((*_SWITCHES, "label"), False),
}
"""True would mean that it may be repeated."""

SOURCE_HEADER = b"evenhand-source"
"""Programs of ours name themselves in it."""

_MOST_ERRORS = 100

_JSON = ("", "application/json")
_CSV = "text/csv"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

log = structlog.get_logger("evenhand.http")

_PROCESS = os.urandom(8).hex()
_requests = itertools.count()

_encode = msgspec.json.Encoder().encode


@frozen
class _Route:
    template: str
    log: Callable[..., Awaitable[Receipt]]
    parameters: Mapping[str, bool]
    takes_csv: bool


class IngestionRoutes:
    def __init__(self, app: ASGIApp, services: Services, ingestion: Ingestion) -> None:
        self._limits = services.limits
        self._app = app
        self._authenticator = services.authenticator
        self._ingestion = ingestion
        self._bodies = Bodies()
        self._routes = {
            name: _Route(f"{PREFIX}{{deployment_id}}/{name}", function, PARAMETERS[name], name == FEEDBACK)
            for name, function in ((PAYLOAD, ingestion.log_payload), (FEEDBACK, ingestion.log_feedback))
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (path := scope["path"]).startswith(PREFIX):
            deployment_id, _, route_name = path[len(PREFIX) :].partition("/")
            route = self._routes.get(route_name)
            if route is not None and scope["method"] == "POST":
                await self._respond(route, deployment_id, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _respond(
        self, route: _Route, deployment_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        began = monotonic_seconds()
        # Of a header that is sent twice the last counts.
        headers: dict[bytes, bytes] = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = sent_id if SANE_REQUEST_ID.fullmatch(sent_id) else f"{_PROCESS}{next(_requests):016x}"
        try:
            answer = await self._answer(route, deployment_id, scope, headers, receive, request_id)
        except EvenhandError as error:
            answer = problem_response(error, request_id)
        except ClientGone:
            return
        except Exception:  # an unforeseen error is logged once, and answered
            log.exception(
                "request failed", method=scope["method"], route=route.template, request_id=request_id
            )
            answer = unexpected_response(request_id)
        answer.headers["x-request-id"] = request_id
        if answer.status_code != HTTPStatus.OK:
            answer.headers.update(
                SAFE_HEADERS
            )  # nothing that a browser could misread, and each header costs time
        await answer(scope, receive, send)
        http_requests.labels("POST", route.template, str(answer.status_code)).inc()
        http_seconds.labels(route.template).observe(monotonic_seconds() - began)

    async def _answer(
        self,
        route: _Route,
        deployment_id: str,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        request_id: str,
    ) -> Response:
        sent = headers.get(b"authorization")
        authorization = sent.decode("latin-1") if sent else None
        require_own_page(scope, authorization)
        principal = await self._authenticator.authenticate_async(authorization)
        principal.require_role(Permission.LOG)
        plan = await self._ingestion.plan(deployment_id)
        if not principal.sees(plan.target.no):
            raise NotFound("deployment", deployment_id)  # the same words as for an id that does not exist
        is_csv = _is_csv(route, headers)
        options = _read_options(scope["query_string"], route.parameters)
        sent_source = headers.get(SOURCE_HEADER)
        source = RecordSource.REST if sent_source is None else stated_source(sent_source.decode("latin-1"))
        encoding = _read_header(headers, b"content-encoding")
        charset = parse_content_type(_read_header(headers, b"content-type")).encoding if is_csv else UTF_8
        body = await self._bodies.read(receive, headers.get(b"content-length", b""), principal.actor)
        try:
            self._limits.admit_request(principal.actor, len(body))
            request = LogRequest(
                body=body,
                encoding=encoding,
                is_csv=is_csv,
                charset=charset,
                actor=principal.actor,
                source=source,
                **options,
            )
            receipt = await route.log(deployment_id, request, now=utc_now())
            self._limits.note_stored(
                principal.actor,
                sent=receipt.accepted + receipt.duplicate + receipt.rejected,
                records=receipt.accepted,
                size=len(body) if receipt.accepted else 0,
            )
        finally:
            self._bodies.done(body, principal.actor)
        return _write_receipt(receipt, request_id)


def receipt_members(receipt: Receipt, stored: str = "accepted") -> JsonObject:
    return {
        "sent": receipt.accepted + receipt.duplicate + receipt.rejected,
        stored: receipt.accepted,
        "duplicate": receipt.duplicate,
        "rejected": receipt.rejected,
        "rejections": [asdict(rejection) for rejection in receipt.rejections],
        "conflicts": [asdict(conflict) for conflict in receipt.conflicts],
        **({"rounded_probabilities": receipt.rounded} if receipt.rounded else {}),
        **({"warnings": list(map(asdict, receipt.warnings))} if receipt.warnings else {}),
    }


def _write_receipt(receipt: Receipt, request_id: str) -> Response:
    """A wholly refused request must never look like a success."""
    if receipt.accepted or receipt.duplicate:
        return Response(_encode(receipt_members(receipt)), media_type="application/json")
    return refuse_all(InvalidInput if receipt.rejections else Conflict, receipt, request_id)


def refuse_all(
    error: type[EvenhandError],
    receipt: Receipt,
    request_id: str,
    *,
    noun: str = "record",
    stored: str = "accepted",
    conflicting: str = "id",
) -> Response:
    """Problem document of a request of which nothing is stored, with the receipt's members."""
    faults = [
        FieldProblem(f"{noun}s[{refused.index}].{refused.field}", refused.reason)
        for refused in receipt.rejections
    ]
    faults += [
        FieldProblem(f"{noun}s[{conflict.index}].{conflicting}", conflict.reason)
        for conflict in receipt.conflicts
    ]
    lead = (
        f"The {noun} was not stored."
        if len(faults) == 1
        else f"None of the {len(faults):,} {noun}s was stored. The first:"
    )
    detail = f"{lead} {faults[0].field}: {faults[0].message}"
    return build_problem_response(
        KINDS[error], detail, request_id, problems=faults[:_MOST_ERRORS], **receipt_members(receipt, stored)
    )


def _is_csv(route: _Route, headers: Mapping[bytes, bytes]) -> bool:
    media_type = _read_header(headers, b"content-type").partition(";")[0].strip()
    if route.takes_csv and media_type == _CSV:
        return True
    if media_type not in _JSON and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        expected = f"application/json{' or text/csv' if route.takes_csv else ''}"
        raise UnsupportedMediaType(f"Send the content type {expected}; found {media_type!r}.")
    return False


def _read_options(query: bytes, parameters: Mapping[str, bool]) -> JsonObject:
    if not query:
        return {}
    sent = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    require_parameters([name for name, _ in sent], parameters)
    options: JsonObject = dict(sent)
    for name in _SWITCHES:
        if name in options:
            text = options[name].lower()
            if text not in _BOOLEANS:
                raise InvalidInput.of(name, f"must be true or false, found {text[:20]!r}")
            options[name] = _BOOLEANS[text]
    return options


def _read_header(headers: Mapping[bytes, bytes], name: bytes) -> str:
    sent = headers.get(name)
    return sent.decode("latin-1").strip().lower() if sent else ""
