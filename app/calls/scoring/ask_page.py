"""Sends a page to the model at its pace, with retries, and returns the answer's bytes."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypeVar

import httpx

from ...base.clock import utc_now
from ...base.errors import EndpointDown, PageRefused, ScoringFailed
from ...base.telemetry.prometheus import model_calls, model_rows, model_seconds
from ...base.telemetry.traces import ModelCall, model_span
from ...base.values import frozen
from ...domain.deployment import Endpoint, FieldType, OutputFields
from ...payloads.codec import HttpMessage, RequestOptions
from ...payloads.read_predictions import Answer, put_in_order
from ...payloads.registry import bind_codec
from ...payloads.wire import Rows
from ..call_failures import (
    CallFailure,
    build_crowded_failure,
    build_deadline_failure,
    build_error_failure,
    build_oversized_failure,
    build_status_failure,
    build_timeout_failure,
    excerpt,
)
from ..credentials import (
    TokenSource,
    build_auth_header,
    encode_header,
    make_bearer_credentials,
    read_body,
    redact,
    redact_secrets,
)
from ..egress_policy import EgressPolicy, parse_url

MAX_WAIT_SECONDS = 30.0

_FIRST_PAUSE_SECONDS = 0.5


@frozen
class Timing:
    """Clocks and pause of a client, which tests replace."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = utc_now


class Pacer:
    """Spaces requests by the rate limit; all pages of a client share it."""

    def __init__(self, requests_per_second: float | None, timing: Timing) -> None:
        self._spacing = 0.0 if requests_per_second is None else 1.0 / requests_per_second
        self._timing = timing
        self._free_at = 0.0

    async def turn(self, deadline: float = math.inf) -> bool:
        """False if it would come after the deadline."""
        now = self._timing.monotonic()
        turn_at = max(now, self._free_at)
        if turn_at >= deadline:
            return False
        self._free_at = turn_at + self._spacing
        if turn_at > now:
            await self._timing.sleep(turn_at - now)
        return True

    def hold(self, seconds: float) -> None:
        self._free_at = max(self._free_at, self._timing.monotonic() + seconds)


def backoff_seconds(attempt: int, page: int) -> float:
    """0.5 s after the first attempt (1), doubling, times 0.5 to 1; the same in every run."""
    spread = (page * 7919 + attempt * 104_729) % 1000 / 1000
    return float(min(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * (0.5 + 0.5 * spread), MAX_WAIT_SECONDS))


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """0 to the longest wait; None if unreadable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), MAX_WAIT_SECONDS)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return min(max((aware - now).total_seconds(), 0.0), MAX_WAIT_SECONDS)


Fitted = TypeVar("Fitted")

MAX_ATTEMPTS = 4

MAX_ANSWER_BYTES = 32 * 2**20
"""A page of 10,000 rows that echoes 100 inputs takes about 10 MB."""

_MAX_COMPLAINT_BYTES = 64 * 1024

_LOADED_URL = httpx.URL("http://loaded.invalid/")

_TABLE_MEMBERS = (b'"values"', b'"predictions"', b'"outputs"')


@frozen
class ModelKey:
    """Everything that the client of a model depends on."""

    endpoint: Endpoint
    outputs: OutputFields
    columns: tuple[str, ...]
    types: tuple[FieldType, ...] = ()


def name_model(endpoint: Endpoint) -> str:
    """The MLflow URI, or host and port. Raises EndpointRefused."""
    return endpoint.uri if endpoint.is_loaded else parse_url(endpoint.url).netloc.decode("ascii")


class PageScorer:
    """Sends pages to a model and reads the answers. Errors quote answers if the policy shows them.

    Raises EndpointRefused and ScoringFailed.
    """

    def __init__(self, key: ModelKey, policy: EgressPolicy, timing: Timing | None) -> None:
        endpoint = key.endpoint
        self._key = key
        self._codec = bind_codec(endpoint)
        self._endpoint = endpoint
        self._timing = timing or Timing()
        self._quotes = policy.shows_answers
        self._host = name_model(endpoint)
        self._url = _LOADED_URL if endpoint.is_loaded else parse_url(endpoint.url)
        self._headers = [
            (b"Accept-Encoding", b"identity"),
            (b"User-Agent", b"evenhand"),
            *build_auth_header(endpoint.credentials),
            *(encode_header(name, value) for name, value in endpoint.headers.items()),
        ]
        credentials = endpoint.credentials
        needs_token = credentials and credentials.kind.has_token_url
        self._tokens = TokenSource(credentials) if credentials and needs_token else None
        self._pacer = Pacer(endpoint.requests_per_second, self._timing)

    async def score(
        self,
        transport: httpx.AsyncBaseTransport,
        rows: Rows,
        fit: Callable[[Answer], Fitted],
        *,
        page: int,
        pages: int,
        attempts: int,
        deadline: float = math.inf,
    ) -> Fitted:
        key = self._key
        message = self._codec.write_message(
            key.columns, rows, options=RequestOptions(outputs=key.outputs, types=key.types)
        )
        model_rows.inc(len(rows))
        answer = await self.ask(transport, message, page=page, deadline=deadline, attempts=attempts)
        try:
            read = self._codec.read_answer(answer, outputs=key.outputs, expected_rows=len(rows))
            return fit(put_in_order(read, key.columns, rows, key.outputs))
        except ScoringFailed as error:
            # A table may echo a person's features into a log.
            quoted = "" if any(marker in answer for marker in _TABLE_MEMBERS) else self._quote(answer)
            location = f"(Endpoint {self._host}, page {page + 1} of {pages}.)"
            raise ScoringFailed(f"{self._redact(str(error))} {location}", quotation=quoted) from error

    async def ask(
        self,
        transport: httpx.AsyncBaseTransport,
        message: HttpMessage,
        *,
        page: int,
        deadline: float = math.inf,
        attempts: int = MAX_ATTEMPTS,
    ) -> bytes:
        """Returns the 2xx answer to page number `page` (from 0), by `deadline` on the monotonic clock.

        Raises PageRefused, EndpointDown (no answer in time, or it cannot now), ScoringFailed (for good).
        """
        attempt = 1
        while True:
            outcome: bytes | CallFailure
            if await self._pacer.turn(deadline):
                started_at = self._timing.monotonic()
                with model_span(self._host, {"evenhand.page": page + 1, "evenhand.attempt": attempt}) as call:
                    outcome = await self._attempt(transport, message, deadline, call)
                    call.has_failed = isinstance(outcome, CallFailure)
                result = "failed" if call.has_failed else "answered"
                model_seconds.labels("check", result).observe(self._timing.monotonic() - started_at)
            else:
                outcome = build_crowded_failure()
            if isinstance(outcome, bytes):
                model_calls.labels("answered").inc()
                return outcome
            requested_pause = (
                retry_after_seconds(outcome.retry_after, self._timing.now()) if outcome.may_pass else None
            )
            if requested_pause is not None:
                self._pacer.hold(requested_pause)  # holds the other pages too
            pause = backoff_seconds(attempt, page) if requested_pause is None else requested_pause
            if not outcome.may_pass or attempt == attempts or self._timing.monotonic() + pause >= deadline:
                model_calls.labels("failed").inc()
                raise self._build_error(outcome, attempt)
            model_calls.labels("retried").inc()
            if requested_pause is None:
                await self._timing.sleep(pause)
            attempt += 1

    async def _attempt(
        self, transport: httpx.AsyncBaseTransport, message: HttpMessage, deadline: float, call: ModelCall
    ) -> bytes | CallFailure:
        limit = min(self._endpoint.timeout_seconds, deadline - self._timing.monotonic())
        try:
            # For the whole attempt: a server that drips bytes never runs into a limit per read.
            async with asyncio.timeout(limit):
                if self._tokens is None:
                    return await self._send(transport, message, call)
                # With another token if the endpoint refuses the first.
                for is_last in (False, True):
                    token = await self._tokens.token(transport)
                    if isinstance(token, CallFailure):
                        return token
                    outcome = await self._send(
                        transport, message, call, (b"Authorization", b"Bearer " + token.encode())
                    )
                    if (
                        not isinstance(outcome, CallFailure)
                        or outcome.status != HTTPStatus.UNAUTHORIZED
                        or is_last
                    ):
                        return outcome
                    self._tokens.forget(token)
                raise AssertionError
        except TimeoutError:
            return (
                build_timeout_failure(limit)
                if limit == self._endpoint.timeout_seconds
                else build_deadline_failure(limit)
            )
        except httpx.RequestError as error:
            return build_error_failure(error, by_tls=self._url.scheme == "https")

    async def _send(
        self,
        transport: httpx.AsyncBaseTransport,
        message: HttpMessage,
        call: ModelCall,
        *extra: tuple[bytes, bytes],
    ) -> bytes | CallFailure:
        # The transport itself: a client would add cookies, redirects and authentication.
        headers = [*message.headers, *self._headers, *call.headers, *extra]
        response = await transport.handle_async_request(
            httpx.Request("POST", self._url, headers=headers, content=message.body)
        )
        call.status = response.status_code
        async with aclosing(response):
            if not response.is_success:
                complaint, _ = await read_body(response, _MAX_COMPLAINT_BYTES)
                return build_status_failure(response, complaint, quotes=self._quotes)
            answer, is_complete = await read_body(response, MAX_ANSWER_BYTES)
            return answer if is_complete else build_oversized_failure(MAX_ANSWER_BYTES)

    def _build_error(self, failure: CallFailure, attempts: int) -> ScoringFailed:
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        quoted = self._quote(failure.answer)
        sentence = (
            f"The model's endpoint {self._host} {self._redact(failure.what)} ({tries}). {failure.advice}"
        )
        if failure.is_of_records:
            return PageRefused(
                sentence, quotation=quoted, answer=self._redact(failure.answer.decode(errors="replace"))
            )
        return (
            EndpointDown(sentence, quotation=quoted)
            if failure.may_pass
            else ScoringFailed(sentence, quotation=quoted)
        )

    def _quote(self, answer: bytes) -> str:
        return excerpt(self._redact(answer.decode(errors="replace"))) if self._quotes else ""

    def _redact(self, text: str) -> str:
        token = self._tokens.known() if self._tokens else None
        return redact_secrets(redact(text, make_bearer_credentials(token)), self._endpoint)
