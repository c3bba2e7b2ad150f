"""The routes of the gateway and of events: CloudEvents of KServe and Seldon, and those of Azure's collector.

A call's record is on disk before its answer is sent. Senders of events may stop at an error: once the key and
the deployment are known, the answer is 200.
"""

import asyncio
import base64
import hashlib

from starlette.responses import JSONResponse, Response

from ...access.gate.caller import Services
from ...access.principals import Principal
from ...base.clock import utc_now
from ...base.errors import InvalidInput, QuotaReached, RateReached, TooLarge, Unauthenticated, Unavailable
from ...calls.call_failures import build_timeout_failure
from ...database.binary_rows import read_row
from ...payloads.codec import Headers
from ...web.middleware import SANE_REQUEST_ID
from ..hot_routes.hot_route import Bodies, HotRequest, HotRoute
from ..logging.model_call import CapturedBody, Exchange
from .call_events import CallHalf, CallSide, CallSource, CompleteCall, EventUnclear, read_events
from .forward import PASSED_ON, CallPlan, LastAnswers, pick_answer_headers, read_start
from .service import Gateway

PREDICTIONS = "predictions"

RECORD_ID = b"evenhand-record-id"

MAX_LOGGED_ANSWER_BYTES = 32 * 2**20
"""A larger answer is passed on as it comes, and counted as not received."""

EVENTS = "events"

AZURE_PATH = "/modeldata/log"
"""The user name in the URL is the deployment's id."""

MAX_REASONS = 10

_STATUSES_WITHOUT_BODY = (204, 304)


class KnownCallerRoute(HotRoute):
    """Route that answers callers it knows also while the database is away."""

    def __init__(self, services: Services, name: str, gateway: Gateway) -> None:
        super().__init__(services, name, Bodies())
        self._callers: LastAnswers[bytes, Principal] = LastAnswers()
        self._gateway = gateway

    async def _authenticate(self, authorization: str | None) -> Principal:
        # By a hash: the keys themselves are in memory for no longer than a request.
        key = hashlib.sha256((authorization or "").encode()).digest()
        principal = await self._callers.ask(key, lambda: self._authenticator.authenticate(authorization))
        # The answer may be from before the database was away.
        if principal.expires_at is not None and principal.expires_at <= utc_now():
            raise Unauthenticated("This API key or token has expired.")
        return principal

    async def _find_plan(self, principal: Principal, deployment_id: str) -> CallPlan:
        plan = await self._gateway.plans.read_plan(deployment_id)
        principal.require_sight(plan.deployment.no, deployment_id)
        return plan


class GatewayRoute(KnownCallerRoute):
    other_methods = "A model is called with POST."

    async def _answer(self, request: HotRequest) -> None:
        principal = await self._find_logger(request)
        plan = await self._find_plan(principal, request.deployment_id)
        if request.scope["query_string"]:
            raise InvalidInput(
                "query", "must be empty: the model is called at the address of the deployment's endpoint"
            )
        model = plan.require_model()
        record_id = request.header(RECORD_ID) or request.id
        if not SANE_REQUEST_ID.fullmatch(record_id):
            raise InvalidInput(
                "Evenhand-Record-Id", "must have 1 to 128 letters, digits or characters of ._:-"
            )
        async with self._hold_body(request, principal.actor) as body:
            # Before the call: a caller beyond its rate must spare the model.
            self._limits.admit_rate(principal.actor)
            try:
                await self._relay(request, body, plan, principal.actor, record_id)
            except TimeoutError as error:
                raise model.describe_fault(build_timeout_failure(model.endpoint.timeout_seconds)) from error

    async def _relay(
        self, request: HotRequest, body: bytes, plan: CallPlan, actor: str, record_id: str
    ) -> None:
        """Calls the model, logs the call, and sends the answer. Raises TimeoutError if the model takes too
        long to answer, or to go on.
        """
        model = plan.require_model()
        limit = model.endpoint.timeout_seconds
        passed_headers = [(name, value) for name, value in request.scope["headers"] if name in PASSED_ON]
        async with asyncio.timeout(limit) as clock, model.open_answer(passed_headers, body) as response:
            chunks = response.aiter_raw()
            start, is_whole = await read_start(chunks, MAX_LOGGED_ANSWER_BYTES)
            clock.reschedule(None)  # the limit is the model's, not the caller's
            headers = pick_answer_headers(response.headers.raw)
            if response.is_success:
                exchange = Exchange(
                    call_id=record_id,
                    scored_at=utc_now(),
                    request=_capture(passed_headers, body),
                    answer=_capture(headers, start),
                )
                await self._log_call(plan, exchange, actor, is_whole=is_whole)
                headers.append((RECORD_ID, record_id.encode("latin-1")))
            if is_whole and response.status_code not in _STATUSES_WITHOUT_BODY:
                headers.append((b"content-length", b"%d" % len(start)))
            await request.send(
                {"type": "http.response.start", "status": response.status_code, "headers": headers}
            )
            await request.send({"type": "http.response.body", "body": start, "more_body": not is_whole})
            while not is_whole:
                chunk = await asyncio.wait_for(anext(chunks, b""), limit)
                is_whole = not chunk
                await request.send({"type": "http.response.body", "body": chunk, "more_body": not is_whole})

    async def _log_call(self, plan: CallPlan, exchange: Exchange, actor: str, *, is_whole: bool) -> None:
        entry = CompleteCall(
            deployment_id=plan.deployment.id,
            deployment_no=plan.deployment.no,
            source=CallSource.GATEWAY,
            received_at=exchange.scored_at,
            exchange=exchange,
        )
        if not is_whole:
            await self._gateway.count_lost(entry, plan)
            return
        size = len(exchange.request.body) + len(exchange.answer.body)
        try:
            self._limits.admit_storage(actor, size)
        except QuotaReached:
            # A caller of a model gets its answer also when the log is full.
            await self._gateway.count_lost(entry, plan)
            return
        is_kept = await self._gateway.keep(entry, plan)
        # A call counts as one record until its records are counted.
        self._limits.note_stored(actor, sent=1, records=int(is_kept), size=size if is_kept else 0)


def _capture(headers: Headers, body: bytes) -> CapturedBody:
    values = dict(headers)
    return CapturedBody(
        body,
        values.get(b"content-type", b"").decode("latin-1"),
        values.get(b"content-encoding", b"").decode("latin-1"),
    )


class EventRoute(KnownCallerRoute):
    other_methods = "Events are sent with POST."

    async def _answer(self, request: HotRequest) -> Response:
        principal = await self._find_logger(request)
        deployment_id = request.deployment_id
        if request.scope["path"] == AZURE_PATH:
            deployment_id = read_user_name(request.header(b"authorization"))
        if not deployment_id:
            raise InvalidInput(
                "AZUREML_MDC_HOST", "must hold the deployment's id and a key: DEPLOYMENT:KEY@HOST"
            )
        plan = await self._find_plan(principal, deployment_id)
        now = utc_now()
        size = 0
        try:
            async with self._hold_body(request, principal.actor) as body:
                # A sender may stop at an error: what is beyond a limit is ignored and counted.
                size = len(body)
                self._limits.admit_request(principal.actor, size)
                headers = {
                    name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.items()
                }
                reports = read_events(headers, body, now=now)
        except (EventUnclear, TooLarge, Unavailable, RateReached, QuotaReached) as error:
            reports = [EventUnclear(str(error))]
        unclear = [report for report in reports if isinstance(report, EventUnclear)]
        kept = []
        for half in reports:
            if isinstance(half, EventUnclear):
                self._gateway.count_ignored(plan.deployment.no, str(half), now=now)
                continue
            entry = read_row(
                CallHalf,
                half,
                deployment_id=plan.deployment.id,
                deployment_no=plan.deployment.no,
                source=CallSource.EVENTS,
                received_at=now,
            )
            if await self._gateway.keep(entry, plan):
                kept.append(half)
        if kept:
            # A half is half a record, and the answer completes most calls.
            records = sum(half.side is CallSide.RESPONSE for half in kept)
            self._limits.note_stored(principal.actor, sent=records, records=records, size=size)
        return JSONResponse(
            {
                "received": len(kept),
                "ignored": len(unclear),
                "reasons": [str(report) for report in unclear[:MAX_REASONS]],
            }
        )


def read_user_name(authorization: str) -> str:
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[0]
    except ValueError:
        return ""
