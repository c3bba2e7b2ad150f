"""Passes a request on to a model and its answer back."""

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
from ...base.telemetry.traces import model_span, with_place
from ...base.values import frozen_arrays
from ...calls.call_failures import CallFailure, failure_of_error
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
"""Others, such as cookies, would be set for us."""

_EVENT_PREFIX = b"ce-"


def pick_answer_headers(answered: Headers) -> Headers:
    lowered = ((name.lower(), value) for name, value in answered)
    return [(name, value) for name, value in lowered if name in PASSED_BACK or name.startswith(_EVENT_PREFIX)]


async def hold_answer(chunks: AsyncIterator[bytes], max_bytes: int) -> tuple[bytes, bool]:
    received = []
    size = 0
    async for chunk in chunks:
        received.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            return b"".join(received), False
    return b"".join(received), True


class ForwardedModel:
    """Belongs to one event loop. Raises EndpointRefused for its URL, ScoringFailed for its credentials."""

    def __init__(self, endpoint: Endpoint, policy: EgressPolicy) -> None:
        self.endpoint = endpoint
        self._url = parse_url(endpoint.url)
        self._host = self._url.netloc.decode("ascii")
        own_headers = [
            *build_auth_header(endpoint.credentials),
            *(encode_header(name, value) for name, value in endpoint.headers.items()),
        ]
        self._own = {name.lower() for name, _ in own_headers}
        self._headers = [(b"accept-encoding", b"identity"), (b"user-agent", b"evenhand"), *own_headers]
        credentials = endpoint.credentials
        self._tokens = (
            TokenSource(credentials) if credentials is not None and credentials.kind.has_token_url else None
        )
        self._policy = policy
        # For each request: one pool would look through all connections and requests for each.
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._idle = [self._connect()]  # now, so that unusable certificates are known at once
        self._users = 0
        self._is_retired = False

    @asynccontextmanager
    async def answer(self, headers: Headers, body: bytes) -> AsyncIterator[httpx.Response]:
        """Yields the answer, its body unread; the caller keeps `timeout_seconds`. Raises EndpointDown,
        ScoringFailed.
        """
        self._users += 1
        try:
            with model_span(self._host, {"evenhand.caller": "gateway"}, sent=headers) as call:
                placed = with_place(headers, call)
                sent = [*self._headers, *(header for header in placed if header[0] not in self._own)]
                async with self._free:
                    transport = self._idle.pop() if self._idle else self._connect()
                    began = monotonic_seconds()
                    try:
                        async with aclosing(await self._send(transport, sent, body)) as response:
                            model_calls.labels("answered").inc()
                            model_seconds.labels("gateway", "answered").observe(monotonic_seconds() - began)
                            call.status = response.status_code
                            yield response
                    except httpx.RequestError as error:
                        model_calls.labels("failed").inc()
                        model_seconds.labels("gateway", "failed").observe(monotonic_seconds() - began)
                        raise self.fault_of(failure_of_error(error)) from error
                    finally:
                        self._idle.append(transport)
        finally:
            self._users -= 1
            if self._is_retired:
                await self.retire()

    async def retire(self) -> None:
        self._is_retired = True
        while self._users == 0 and self._idle:
            await self._idle.pop().aclose()

    def fault_of(self, failure: CallFailure) -> ScoringFailed:
        sentence = redact_secrets(
            f"The model's endpoint {self._host} {failure.what}. {failure.advice}", self.endpoint
        )
        return EndpointDown(sentence) if failure.may_pass else ScoringFailed(sentence)

    def _connect(self) -> PinnedTransport:
        return PinnedTransport(self._policy, connections=1, tls=self.endpoint.tls)

    async def _send(self, transport: PinnedTransport, headers: Headers, body: bytes) -> httpx.Response:
        if self._tokens is None:
            return await self._post(transport, headers, body)
        token = await self._token(self._tokens)
        response = await self._post(transport, [*headers, _bearer(token)], body)
        if response.status_code != HTTPStatus.UNAUTHORIZED:
            return response
        # Revoked before its time: another one, once.
        await response.aclose()
        self._tokens.forget(token)
        return await self._post(transport, [*headers, _bearer(await self._token(self._tokens))], body)

    async def _post(self, transport: PinnedTransport, headers: Headers, body: bytes) -> httpx.Response:
        return await transport.handle_async_request(
            httpx.Request("POST", self._url, headers=headers, content=body)
        )

    async def _token(self, tokens: TokenSource) -> str:
        if (current := tokens.current()) is not None:
            return current
        async with self._connect() as transport:
            token = await tokens.token(transport)
        if isinstance(token, CallFailure):
            raise self.fault_of(token)
        return token


def _bearer(token: str) -> tuple[bytes, bytes]:
    return b"authorization", b"Bearer " + token.encode()


PATIENCE_SECONDS = 0.5

QUIET_SECONDS = 1.0

MAX_AGE_SECONDS = 24 * 3600.0

_MOST_KEPT = 10_000

_T = TypeVar("_T")
_K = TypeVar("_K")


@dataclass(slots=True)
class _Known(Generic[_T]):
    value: _T
    answered_at: float
    quiet_until: float = 0.0


class LastAnswers(Generic[_K, _T]):
    """Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._known: dict[_K, _Known[_T]] = {}

    async def ask(self, key: _K, look_up: Callable[[], Awaitable[_T]]) -> _T:
        """Falls back to the last answer if the database gives none in time. Raises Unavailable without a
        young one; any other error of `look_up` forgets it.
        """
        remembered = self._known.get(key)
        now = self._clock()
        if remembered is not None and now - remembered.answered_at > MAX_AGE_SECONDS:
            del self._known[key]
            remembered = None
        if remembered is not None and now < remembered.quiet_until:
            return remembered.value
        try:
            async with asyncio.timeout(None if remembered is None else PATIENCE_SECONDS):
                value = await look_up()
        except (Unavailable, TimeoutError):
            if remembered is None:
                raise
            remembered.quiet_until = self._clock() + QUIET_SECONDS
            return remembered.value
        except EvenhandError:
            self._known.pop(key, None)
            raise
        if remembered is None and len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[key] = _Known(value, now)
        return value


KEPT_SECONDS = 1.0

MOST_MODELS = 1000


@frozen_arrays
class CallPlan:
    """`codec` and `model` are None without an endpoint called by HTTP; a `model` may be why it cannot be
    called.
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
    """Belongs to one event loop."""

    def __init__(self, database: Database, sealer: Sealer, policy: EgressPolicy) -> None:
        self._database = database
        self.sealer = sealer
        self._policy = policy
        self._fresh: dict[str, tuple[CallPlan, float]] = {}
        self._running: dict[str, asyncio.Task[CallPlan]] = {}
        self._last: LastAnswers[str, CallPlan] = LastAnswers()
        self._models: dict[int, ForwardedModel] = {}

    async def current(self, deployment_id: str) -> CallPlan:
        """The last plan while the database is away. Raises NotFound, and Unavailable without
        an earlier plan.
        """
        cached = self._fresh.get(deployment_id)
        if cached is not None and monotonic_seconds() < cached[1]:
            return cached[0]
        return await self._last.ask(deployment_id, lambda: self._read_shared(deployment_id))

    async def stop(self) -> None:
        for model in self._models.values():
            await model.retire()

    async def _read_shared(self, deployment_id: str) -> CallPlan:
        task = self._running.get(deployment_id)
        if task is None:
            task = self._running[deployment_id] = asyncio.create_task(self._read(deployment_id))
            task.add_done_callback(lambda ended: self._end(deployment_id, ended))
        # A caller that goes away must not end the look-up for the others.
        return await asyncio.shield(task)

    async def _read(self, deployment_id: str) -> CallPlan:
        def read_deployment() -> Deployment:
            with self._database.transaction() as session:
                return Deployments(session, self.sealer).get(deployment_id)

        asked_at = monotonic_seconds()
        deployment = await asyncio.to_thread(read_deployment)
        endpoint = deployment.endpoint
        plan = CallPlan(deployment, None, None)
        if endpoint is not None and not endpoint.is_loaded:
            plan = CallPlan(deployment, bind_codec(endpoint), await self._model(deployment.no, endpoint))
        if len(self._fresh) >= MOST_MODELS:
            self._fresh.clear()
        self._fresh[deployment_id] = (plan, asked_at + KEPT_SECONDS)
        return plan

    async def _model(self, deployment_no: int, endpoint: Endpoint) -> ForwardedModel | ScoringFailed:
        present = self._models.get(deployment_no)
        if present is not None and present.endpoint == endpoint:
            return present
        try:
            model = ForwardedModel(endpoint, self._policy)
        except ScoringFailed as error:
            return error
        self._models[deployment_no] = model
        if present is not None:
            await present.retire()
        if len(self._models) > MOST_MODELS:
            await self._models.pop(next(iter(self._models))).retire()
        return model

    def _end(self, deployment_id: str, task: "asyncio.Task[CallPlan]") -> None:
        if not task.cancelled():
            task.exception()  # or asyncio logs it where every waiting caller has gone
        self._running.pop(deployment_id, None)
