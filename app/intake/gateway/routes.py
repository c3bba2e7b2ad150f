"""The gateway's route: passes a call to the model and its answer back as they are, and logs both.

The record is on disk before the answer is sent.
"""

import asyncio
import itertools
import os

import structlog
from starlette.types import Message, Receive, Scope, Send

from ...base.clock import monotonic_seconds, utc_now
from ...base.errors import EvenhandError, InvalidInput, QuotaReached
from ...base.telemetry.prometheus import http_requests, http_seconds
from ...calls.call_failures import slow
from ...payloads.codec import Headers
from ...web.middleware import SAFE_HEADERS, SANE_REQUEST_ID
from ...web.problems import only_post, problem_response, unexpected_response
from ..hot_routes.body_bounds import ClientGone
from ..hot_routes.routes import PREFIX
from ..logging.model_call import CapturedBody, Exchange
from .call_plans import CallPlan
from .forward import PASSED_ON, hold_answer, pick_answer_headers
from .known_callers import KnownCallerRoutes, read_header
from .spool_entries import CallSource, CompleteCall

PREDICTIONS = "predictions"

RECORD_ID = b"evenhand-record-id"
"""Of several records, `{id}-1` is the first."""

MAX_LOGGED_ANSWER_BYTES = 32 * 2**20
"""A larger answer is passed on as it comes, and counted as not received."""

_TEMPLATE = f"{PREFIX}{{deployment_id}}/{PREDICTIONS}"
_WITHOUT_BODY = (204, 304)
_SAFE: Headers = [(name.encode(), value.encode()) for name, value in SAFE_HEADERS.items()]

_PROCESS = os.urandom(8).hex()
_calls = itertools.count()

log = structlog.get_logger("evenhand.http")


class GatewayRoute(KnownCallerRoutes):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (path := scope["path"]).startswith(PREFIX):
            deployment_id, _, route = path[len(PREFIX) :].partition("/")
            if route == PREDICTIONS:
                await self._respond(deployment_id, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _respond(self, deployment_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        began = monotonic_seconds()
        sent_id = read_header(scope, b"x-request-id")
        request_id = sent_id if SANE_REQUEST_ID.fullmatch(sent_id) else f"{_PROCESS}{next(_calls):016x}"
        status = 0

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode("latin-1")),
                    *_SAFE,
                ]
            await send(message)

        try:
            if scope["method"] != "POST":
                await only_post("A model is called with POST.", request_id)(scope, receive, send_counted)
                return
            await self._forward(deployment_id, request_id, scope, receive, send_counted)
        except EvenhandError as error:
            if status:
                raise  # closes the connection: the answer has begun
            await problem_response(error, request_id)(scope, receive, send_counted)
        except ClientGone:
            return
        except Exception:  # an unforeseen error is logged once, and answered
            log.exception("request failed", method=scope["method"], route=_TEMPLATE, request_id=request_id)
            if status:
                raise  # as above
            await unexpected_response(request_id)(scope, receive, send_counted)
        http_requests.labels("POST", _TEMPLATE, str(status)).inc()
        http_seconds.labels(_TEMPLATE).observe(monotonic_seconds() - began)

    async def _forward(
        self, deployment_id: str, request_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        principal = await self._require_logger(scope)
        plan = await self._find_plan(principal, deployment_id)
        if scope["query_string"]:
            raise InvalidInput.of(
                "query", "must be empty: the model is called at the address of the deployment's endpoint"
            )
        model = plan.require_model()
        record_id = _read_record_id(scope) or request_id
        body = await self._bodies.read(
            receive, read_header(scope, b"content-length").encode("latin-1"), principal.actor
        )
        limit = model.endpoint.timeout_seconds
        try:
            # First: a caller beyond its rate must spare the model.
            self._limits.admit_rate(principal.actor)
            sent = [(name, value) for name, value in scope["headers"] if name in PASSED_ON]
            async with asyncio.timeout(limit) as clock, model.answer(sent, body) as response:
                chunks = response.aiter_raw()
                held, is_whole = await hold_answer(chunks, MAX_LOGGED_ANSWER_BYTES)
                clock.reschedule(None)  # the limit is the model's, not the caller's
                headers = pick_answer_headers(response.headers.raw)
                if response.is_success:
                    exchange = Exchange(
                        call_id=record_id,
                        scored_at=utc_now(),
                        request=_capture(sent, body),
                        answer=_capture(headers, held),
                    )
                    await self._keep(plan, exchange, principal.actor, is_whole=is_whole)
                    headers.append((RECORD_ID, record_id.encode("latin-1")))
                if is_whole and response.status_code not in _WITHOUT_BODY:
                    headers.append((b"content-length", b"%d" % len(held)))
                await send(
                    {"type": "http.response.start", "status": response.status_code, "headers": headers}
                )
                await send({"type": "http.response.body", "body": held, "more_body": not is_whole})
                if not is_whole:
                    while chunk := await asyncio.wait_for(anext(chunks, b""), limit):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    await send({"type": "http.response.body", "body": b""})
        except TimeoutError as error:
            raise model.fault_of(slow(limit)) from error
        finally:
            self._bodies.done(body, principal.actor)

    async def _keep(self, plan: CallPlan, exchange: Exchange, actor: str, *, is_whole: bool) -> None:
        entry = CompleteCall(
            deployment_id=plan.deployment.id,
            deployment_no=plan.deployment.no,
            source=CallSource.GATEWAY,
            received_at=exchange.scored_at,
            exchange=exchange,
        )
        size, may_store = len(exchange.request.body) + len(exchange.answer.body), is_whole
        try:
            if is_whole:
                self._limits.admit_storage(actor, size)
        except QuotaReached:
            # A caller of a model gets its answer also when the log is full.
            may_store = False
        if may_store:
            is_kept = await self._gateway.keep(entry, plan)
            # Before its records are counted, a call counts as one.
            self._limits.note_stored(actor, sent=1, records=int(is_kept), size=size if is_kept else 0)
        else:
            await self._gateway.lose(entry, plan)


def _capture(headers: Headers, body: bytes) -> CapturedBody:
    values = dict(headers)
    return CapturedBody(
        body,
        values.get(b"content-type", b"").decode("latin-1"),
        values.get(b"content-encoding", b"").decode("latin-1"),
    )


def _read_record_id(scope: Scope) -> str:
    """Id that the caller gives the record; empty if it gives none."""
    sent = read_header(scope, RECORD_ID)
    if sent and not SANE_REQUEST_ID.fullmatch(sent):
        raise InvalidInput.of(
            "Evenhand-Record-Id", "must have 1 to 128 letters, digits or characters of ._:-"
        )
    return sent
