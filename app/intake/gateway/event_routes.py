"""Events about calls: CloudEvents of KServe and Seldon, and those of Azure's collector.

Senders may stop at an error: once the key and the deployment are known, the answer is always 200.
"""

import base64

from starlette.responses import JSONResponse, Response

from ...base.clock import utc_now
from ...base.errors import InvalidInput, QuotaReached, RateReached, TooLarge, Unavailable
from ...database.binary_rows import read_row
from ..hot_routes.hot_route import HotRequest
from .call_events import EventUnclear, ReportedHalf, read_events
from .routes import KnownCallerRoute
from .spool_entries import CallHalf, CallSide, CallSource

EVENTS = "events"

AZURE_PATH = "/modeldata/log"
"""The user name in the URL is the deployment's id."""

MAX_REASONS = 10
"""Max reasons that one answer lists."""


class EventRoute(KnownCallerRoute):
    other_methods = "Events are sent with POST."

    async def _answer(self, request: HotRequest) -> Response:
        principal = await self._find_logger(request)
        deployment_id = request.deployment_id
        if request.scope["path"] == AZURE_PATH:
            deployment_id = read_user_name(request.header(b"authorization"))
        if not deployment_id:
            raise InvalidInput.of(
                "AZUREML_MDC_HOST", "must hold the deployment's id and a key: DEPLOYMENT:KEY@HOST"
            )
        plan = await self._find_plan(principal, deployment_id)
        now = utc_now()
        try:
            announced = request.headers.get(b"content-length", b"")
            body = await self._bodies.read(request.receive, announced, principal.actor)
            try:
                # A sender may stop at an error: what is beyond a limit is ignored and counted.
                self._limits.admit_request(principal.actor, len(body))
                headers = {
                    name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.items()
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
        return JSONResponse(
            {
                "received": sum(are_kept),
                "ignored": len(unclear),
                "reasons": [str(report) for report in unclear[:MAX_REASONS]],
            }
        )


def read_user_name(authorization: str) -> str:
    """User name of HTTP Basic; empty where there is none."""
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[0]
    except ValueError:
        return ""
