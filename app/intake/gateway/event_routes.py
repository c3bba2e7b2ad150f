"""Events about calls: CloudEvents of KServe and Seldon, and those of Azure's collector.

Senders may stop at an error: once the key and the deployment are known, the answer is always 200.
"""

import uuid

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ...base.clock import utc_now
from ...base.errors import EvenhandError, InvalidInput, QuotaReached, RateReached, TooLarge, Unavailable
from ...database.binary_rows import read_row
from ...web.middleware import SAFE_HEADERS, SANE_REQUEST_ID
from ...web.problems import only_post, problem_response
from ..hot_routes.body_bounds import ClientGone
from ..hot_routes.routes import PREFIX
from .call_events import EventUnclear, ReportedHalf, read_events
from .known_callers import KnownCallerRoutes, read_header, read_user_name
from .spool_entries import CallHalf, CallSide, CallSource

EVENTS = "events"

AZURE_PATH = "/modeldata/log"
"""The user name in the URL is the deployment's id."""

MAX_REASONS = 10
"""Max reasons that one answer lists."""


class EventRoutes(KnownCallerRoutes):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        deployment_id = _find_deployment(scope) if scope["type"] == "http" else None
        if deployment_id is None:
            await self._app(scope, receive, send)
            return
        sent_id = read_header(scope, b"x-request-id")
        request_id = sent_id if SANE_REQUEST_ID.fullmatch(sent_id) else uuid.uuid4().hex
        try:
            if scope["method"] != "POST":
                response: Response = only_post("Events are sent with POST.", request_id)
            else:
                response = JSONResponse(await self._take(deployment_id, scope, receive))
        except EvenhandError as error:
            response = problem_response(error, request_id)
        except ClientGone:
            return
        response.headers.update({"x-request-id": request_id, **SAFE_HEADERS})
        await response(scope, receive, send)

    async def _take(self, deployment_id: str, scope: Scope, receive: Receive) -> dict[str, object]:
        principal = await self._require_logger(scope)
        if not deployment_id:
            raise InvalidInput.of(
                "AZUREML_MDC_HOST", "must hold the deployment's id and a key: DEPLOYMENT:KEY@HOST"
            )
        plan = await self._find_plan(principal, deployment_id)
        now = utc_now()
        try:
            body = await self._bodies.read(
                receive, read_header(scope, b"content-length").encode("latin-1"), principal.actor
            )
            try:
                # A sender may stop at an error: what is beyond a limit is ignored and counted.
                self._limits.admit_request(principal.actor, len(body))
                headers = {
                    name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
                }
                reports = read_events(headers, body, now=now)
            finally:
                self._bodies.done(body, principal.actor)
        except (EventUnclear, TooLarge, Unavailable, RateReached, QuotaReached) as error:
            reports = [EventUnclear(str(error))]
        unclear = [report for report in reports if isinstance(report, EventUnclear)]
        for report in unclear:
            self._gateway.ignore(plan.deployment.no, str(report), now=now)
        halves = [report for report in reports if isinstance(report, ReportedHalf)]
        are_kept = []
        for half in halves:
            entry = read_row(
                CallHalf,
                half,
                deployment_id=plan.deployment.id,
                deployment_no=plan.deployment.no,
                source=CallSource.EVENTS,
                received_at=now,
            )
            are_kept.append(await self._gateway.keep(entry, plan))
        # A half is half a record, and the answer completes most calls.
        records = sum(
            is_kept and half.side is CallSide.RESPONSE for half, is_kept in zip(halves, are_kept, strict=True)
        )
        if any(are_kept):
            self._limits.note_stored(principal.actor, sent=records, records=records, size=len(body))
        return {
            "received": sum(are_kept),
            "ignored": len(unclear),
            "reasons": [str(report) for report in unclear[:MAX_REASONS]],
        }


def _find_deployment(scope: Scope) -> str | None:
    """Empty where it names none, None where the request is of another route."""
    path: str = scope["path"]
    if path == AZURE_PATH:
        return read_user_name(scope)
    if not path.startswith(PREFIX):
        return None
    deployment_id, _, route = path[len(PREFIX) :].partition("/")
    return deployment_id if route == EVENTS else None
