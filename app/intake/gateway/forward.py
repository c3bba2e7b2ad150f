"""Passes a request on to a model and its answer back; remembers what it needs of the database while that is
away.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Generic, TypeVar

import httpx

from ...base.clock import monotonic_seconds
from ...base.errors import Conflict, EndpointDown, EvenhandError, ScoringFailed, Unavailable
from ...base.telemetry.prometheus import model_calls, model_seconds
from ...base.telemetry.traces import model_span, replace_trace_headers
from ...base.values import frozen_arrays
from ...calls.call_failures import CallFailure, build_error_failure
from ...calls.credentials import TokenSource, build_auth_header, encode_header, redact_secrets
from ...calls.egress_policy import EgressPolicy, parse_url
from ...calls.pinned_transport import PinnedTransport
from ...database.engine import Database, Sealer
from ...deployments.queries import Deployments
from ...domain.deployment import Deployment, Endpoint
from ...payloads.codec import Codec, Headers
from ...payloads.registry import bind_codec

CONNECTIONS = 256

PASSED_ON = frozenset(
    {
        b"content-type",
        b"content-encoding",
        b"accept",
        b"accept-language",
        b"inference-header-content-length",
        b"x-request-id",
        b"traceparent",
        b"tracestate",
        b"baggage",
    }
)
"""Headers of a caller that the model gets. A list of those not passed on would let a caller set what a
proxy of the model trusts.
"""

PASSED_BACK = frozenset(
    {
        b"content-type",
        b"content-encoding",
        b"content-language",
        b"inference-header-content-length",
        b"retry-after",
        b"x-model-version",
    }
)
"""Headers of the model's answer that the caller gets. A cookie of the model would be set for this service."""

_EVENT_PREFIX = b"ce-"


def pick_answer_headers(answered: Headers) -> Headers:
    lowered = ((name.lower(), value) for name, value in answered)
    return [(name, value) for name, value in lowered if name in PASSED_BACK or name.startswith(_EVENT_PREFIX)]


async def read_start(chunks: AsyncIterator[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """Reads until the end or more than `max_bytes`; returns the bytes, and whether it ended."""
    received = []
    size = 0
    async for chunk in chunks:
        received.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            return b"".join(received), False
    return b"".join(received), True


class ForwardedModel:
    """Connections to the model of one endpoint. Belongs to one event loop.

    Raises EndpointRefused for the URL, ScoringFailed for unusable credentials.
    """

    def __init__(self, endpoint: Endpoint, policy: EgressPolicy) -> None:
        self.endpoint = endpoint
        self._url = parse_url(endpoint.url)
        self._host = self._url.netloc.decode("ascii")
        own_headers = [
            *build_auth_header(endpoint.credentials),
            *(encode_header(name, value) for name, value in endpoint.headers.items()),
        ]
        self._own_names = {name.lower() for name, _ in own_headers}
        self._headers = [(b"accept-encoding", b"identity"), (b"user-agent", b"evenhand"), *own_headers]
        credentials = endpoint.credentials
        self._tokens = (
            TokenSource(credentials) if credentials is not None and credentials.kind.has_token_url else None
        )
        # Now, so that unusable certificates are known at once.
        self._transport = PinnedTransport(policy, connections=CONNECTIONS, tls=endpoint.tls)
        self._calls_under_way = 0
        self._is_retired = False

    @asynccontextmanager
    async def open_answer(self, headers: Headers, body: bytes) -> AsyncIterator[httpx.Response]:
        """Yields the answer, its body unread; the caller keeps `timeout_seconds`. Raises EndpointDown,
        ScoringFailed.
        """
        self._calls_under_way += 1
        try:
            with model_span(self._host, {"evenhand.caller": "gateway"}, sent=headers) as call:
                traced = replace_trace_headers(headers, call)
                sent_headers = [
                    *self._headers,
                    *(header for header in traced if header[0] not in self._own_names),
                ]
                began = monotonic_seconds()
                try:
                    async with aclosing(await self._send(sent_headers, body)) as response:
                        model_calls.labels("answered").inc()
                        model_seconds.labels("gateway", "answered").observe(monotonic_seconds() - began)
                        call.status = response.status_code
                        yield response
                except httpx.RequestError as error:
                    model_calls.labels("failed").inc()
                    model_seconds.labels("gateway", "failed").observe(monotonic_seconds() - began)
                    raise self.describe_fault(build_error_failure(error)) from error
        finally:
            self._calls_under_way -= 1
            if self._is_retired:
                await self.retire()

    async def retire(self) -> None:
        self._is_retired = True
        if not self._calls_under_way:
            await self._transport.aclose()

    def describe_fault(self, failure: CallFailure) -> ScoringFailed:
        sentence = redact_secrets(
            f"The model's endpoint {self._host} {failure.what}. {failure.advice}", self.endpoint
        )
        return EndpointDown(sentence) if failure.may_pass else ScoringFailed(sentence)

    async def _send(self, headers: Headers, body: bytes) -> httpx.Response:
        if self._tokens is None:
            return await self._post(headers, body)
        token = await self._get_token(self._tokens)
        response = await self._post([*headers, _build_bearer(token)], body)
        if response.status_code != HTTPStatus.UNAUTHORIZED:
            return response
        # The token was revoked before its time: another token is tried, once.
        await response.aclose()
        self._tokens.forget(token)
        return await self._post([*headers, _build_bearer(await self._get_token(self._tokens))], body)

    async def _post(self, headers: Headers, body: bytes) -> httpx.Response:
        return await self._transport.handle_async_request(
            httpx.Request("POST", self._url, headers=headers, content=body)
        )

    async def _get_token(self, tokens: TokenSource) -> str:
        token = tokens.current() or await tokens.token(self._transport)
        if isinstance(token, CallFailure):
            raise self.describe_fault(token)
        return token


def _build_bearer(token: str) -> tuple[bytes, bytes]:
    return b"authorization", b"Bearer " + token.encode()


PATIENCE_SECONDS = 0.5
"""Wait for the database where an earlier answer is known."""

QUIET_SECONDS = 1.0
"""Pause of questions after an unanswered one."""

MAX_AGE_SECONDS = 24 * 3600.0
"""Age of an answer up to which it may be used."""

_MAX_ANSWERS = 10_000

_T = TypeVar("_T")
_K = TypeVar("_K")


@dataclass(slots=True)
class _LastAnswer(Generic[_T]):
    value: _T
    answered_at: float
    fresh_until: float


class LastAnswers(Generic[_K, _T]):
    """Answers of the database by key, for use while it is away. Belongs to one event loop.

    For `fresh_seconds` an answer is given again without a question.
    """

    def __init__(self, clock: Callable[[], float] = monotonic_seconds, *, fresh_seconds: float = 0.0) -> None:
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        self._answers: dict[_K, _LastAnswer[_T]] = {}
        self._running: dict[_K, asyncio.Task[_T]] = {}

    async def ask(self, key: _K, look_up: Callable[[], Awaitable[_T]]) -> _T:
        """Falls back to the remembered answer if the database gives none in time.

        Raises Unavailable if there is none that is young enough. Any other error of `look_up` is raised, and
        the answer forgotten.
        """
        remembered = self._answers.get(key)
        now = self._clock()
        if remembered is not None and now - remembered.answered_at > MAX_AGE_SECONDS:
            del self._answers[key]
            remembered = None
        if remembered is not None and now < remembered.fresh_until:
            return remembered.value
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._look_up(key, look_up))
            task.add_done_callback(lambda ended: self._forget_task(key, ended))
        try:
            async with asyncio.timeout(None if remembered is None else PATIENCE_SECONDS):
                # A caller that goes away must not end the look-up for the others.
                return await asyncio.shield(task)
        except (Unavailable, TimeoutError):
            if remembered is None:
                raise
            remembered.fresh_until = self._clock() + QUIET_SECONDS
            return remembered.value

    async def _look_up(self, key: _K, look_up: Callable[[], Awaitable[_T]]) -> _T:
        asked_at = self._clock()
        try:
            value = await look_up()
        except EvenhandError as error:
            if not isinstance(error, Unavailable):
                self._answers.pop(key, None)
            raise
        if len(self._answers) >= _MAX_ANSWERS:
            self._answers.clear()
        self._answers[key] = _LastAnswer(value, asked_at, asked_at + self._fresh_seconds)
        return value

    def _forget_task(self, key: _K, task: "asyncio.Task[_T]") -> None:
        if not task.cancelled():
            task.exception()  # else asyncio logs it if every waiting caller has gone
        self._running.pop(key, None)


FRESH_SECONDS = 1.0
"""Time in which a change of an endpoint may go unnoticed while the database answers."""

MAX_MODELS = 1000
"""Models whose connections one process keeps."""


@frozen_arrays
class CallPlan:
    """A deployment, and how its model is called. `codec` and `model` are None unless the endpoint is called
    by HTTP; `model` is the error if it cannot be called.
    """

    deployment: Deployment
    codec: Codec | None
    model: ForwardedModel | ScoringFailed | None

    def require_model(self) -> ForwardedModel:
        """Raises Conflict without an endpoint called by HTTP, ScoringFailed if it cannot be called."""
        if isinstance(self.model, ScoringFailed):
            raise self.model
        if self.deployment.endpoint is not None and self.deployment.endpoint.is_loaded:
            raise Conflict(
                f"Deployment {self.deployment.id} has an MLflow model that only checks load, so no call can "
                "be passed on to it. Serve the model, and give its URL as the endpoint."
            )
        if self.model is None:
            raise Conflict(
                f"Deployment {self.deployment.id} has no endpoint, so nothing can be passed on to its "
                "model; give it one."
            )
        return self.model


class CallPlans:
    """Plans by deployment, with the connections to their models. Belongs to one event loop."""

    def __init__(self, database: Database, sealer: Sealer, policy: EgressPolicy) -> None:
        self._database = database
        self.sealer = sealer
        self._policy = policy
        self._last: LastAnswers[str, CallPlan] = LastAnswers(fresh_seconds=FRESH_SECONDS)
        self._models: dict[int, ForwardedModel] = {}

    async def read_plan(self, deployment_id: str) -> CallPlan:
        """Falls back to the remembered one while the database is away.

        Raises NotFound, and Unavailable if no plan is remembered.
        """
        return await self._last.ask(deployment_id, lambda: self._read(deployment_id))

    async def stop(self) -> None:
        for model in self._models.values():
            await model.retire()

    async def _read(self, deployment_id: str) -> CallPlan:
        def read_deployment() -> Deployment:
            with self._database.transaction() as session:
                return Deployments(session, self.sealer).get(deployment_id)

        deployment = await asyncio.to_thread(read_deployment)
        endpoint = deployment.endpoint
        if endpoint is None or endpoint.is_loaded:
            return CallPlan(deployment, None, None)
        return CallPlan(deployment, bind_codec(endpoint), await self._connect_model(deployment.no, endpoint))

    async def _connect_model(self, deployment_no: int, endpoint: Endpoint) -> ForwardedModel | ScoringFailed:
        connected = self._models.get(deployment_no)
        if connected is not None and connected.endpoint == endpoint:
            return connected
        try:
            model = ForwardedModel(endpoint, self._policy)
        except ScoringFailed as error:
            return error
        self._models[deployment_no] = model
        if connected is not None:
            await connected.retire()
        if len(self._models) > MAX_MODELS:
            await self._models.pop(next(iter(self._models))).retire()
        return model
