"""Passes a request on to a model and its answer back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus

import httpx

from ...base.clock import monotonic_seconds
from ...base.errors import EndpointDown, ScoringFailed
from ...base.telemetry.prometheus import model_calls, model_seconds
from ...base.telemetry.traces import model_span, with_place
from ...calls.call_failures import CallFailure, failure_of_error
from ...calls.credentials import TokenSource, build_auth_header, encode_header, redact_secrets
from ...calls.egress_policy import EgressPolicy, parse_url
from ...calls.pinned_transport import PinnedTransport
from ...domain.deployment import Endpoint
from ...payloads.codec import Headers

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
