"""One page to the model and its answer's bytes back, with the attempts that takes. Reads no predictions."""

import asyncio
import math
from contextlib import aclosing

import httpx

from app.domain.deployments import Endpoint
from app.errors import ScoringFailed
from app.scoring.credentials import header_of, redacted
from app.scoring.egress import parse_url
from app.scoring.failures import Failure, crowded, excerpt, failure_of_error, failure_of_status, late, oversized, slow
from app.scoring.pacing import Pacer, Timing, backoff_seconds, retry_after_seconds
from app.telemetry.metrics import model_calls

MAX_ATTEMPTS = 4
"""Per page. The first page to use them up ends the whole, so a dead endpoint sees at most this times the concurrency."""

MAX_ANSWER_BYTES = 32 * 2**20
"""A page of 10,000 rows that echoes 100 inputs takes about 10 MB."""

_MAX_COMPLAINT_BYTES = 64 * 1024

_TABLE_WORDS = (b'"values"', b'"predictions"')


class Asker:
    """Asks one endpoint for pages, within its rate limit and time-out.

    Raises:
        EndpointRefused: the URL is not one that may be called.
        ScoringFailed: the credentials cannot be put into a header.
    """

    def __init__(self, endpoint: Endpoint, timing: Timing) -> None:
        self._endpoint = endpoint
        self._timing = timing
        self._url = parse_url(endpoint.url)
        self._headers = [
            (b"Content-Type", b"application/json"),
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"identity"),
            (b"User-Agent", b"evenhand"),
            *header_of(endpoint.credentials),
        ]
        self._pacer = Pacer(endpoint.requests_per_second, timing)

    async def ask(
        self, transport: httpx.AsyncBaseTransport, body: bytes, *, page: int, deadline: float = math.inf, attempts: int = MAX_ATTEMPTS
    ) -> bytes:
        """The body of the endpoint's 2xx answer to page number `page` (from 0), by `deadline` on the monotonic clock.

        Raises:
            ScoringFailed: the endpoint failed for good, in every attempt, or until then; EndpointRefused among them.
        """
        attempt = 1
        while True:
            may_ask = await self._pacer.turn(deadline)
            outcome = await self._attempt(transport, body, deadline) if may_ask else crowded()
            if isinstance(outcome, bytes):
                model_calls.labels("answered").inc()
                return outcome
            asked_for = retry_after_seconds(outcome.retry_after, self._timing.now()) if outcome.may_pass else None
            if asked_for is not None:
                self._pacer.hold(asked_for)  # holds the other pages too
            pause = backoff_seconds(attempt, page) if asked_for is None else asked_for
            if not outcome.may_pass or attempt == attempts or self._timing.monotonic() + pause >= deadline:
                model_calls.labels("failed").inc()
                raise self._given_up(outcome, attempt)
            model_calls.labels("retried").inc()
            if asked_for is None:
                await self._timing.sleep(pause)
            attempt += 1

    def unusable(self, error: ScoringFailed, answer: bytes, *, page: int, pages: int) -> ScoringFailed:
        """The error for an answer that came but gives no predictions: what was wrong, where, and how an answer without a table began."""
        where = f"(Endpoint {self._host}, page {page + 1} of {pages}.)"
        # A table's beginning tells nothing more, and may echo a person's features into a log.
        said = "" if any(word in answer for word in _TABLE_WORDS) else excerpt(self._safe(answer.decode(errors="replace")))
        return ScoringFailed(f"{self._safe(str(error))} {where}{said}")

    async def _attempt(self, transport: httpx.AsyncBaseTransport, body: bytes, deadline: float) -> bytes | Failure:
        limit = min(self._endpoint.timeout_seconds, deadline - self._timing.monotonic())
        try:
            # One limit for the whole attempt: a server that drips a byte a second would never run into a limit per read.
            async with asyncio.timeout(limit):
                # The transport itself: a client around it would add cookies, redirects and authentication, which are not wanted here.
                response = await transport.handle_async_request(httpx.Request("POST", self._url, headers=self._headers, content=body))
                async with aclosing(response):
                    if not response.is_success:
                        complaint, _ = await _read(response, _MAX_COMPLAINT_BYTES)
                        return failure_of_status(response, complaint)
                    answer, complete = await _read(response, MAX_ANSWER_BYTES)
                    return answer if complete else oversized(MAX_ANSWER_BYTES)
        except TimeoutError:
            return slow(limit) if limit == self._endpoint.timeout_seconds else late(limit)
        except httpx.RequestError as error:
            return failure_of_error(error)

    def _given_up(self, failure: Failure, attempts: int) -> ScoringFailed:
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        said = excerpt(self._safe(failure.answer.decode(errors="replace")))
        return ScoringFailed(f"The model's endpoint {self._host} {self._safe(failure.what)} ({tries}).{said} {failure.advice}")

    def _safe(self, text: str) -> str:
        return redacted(text, self._endpoint.credentials)

    @property
    def _host(self) -> str:
        return self._url.netloc.decode("ascii")


async def _read(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """The body up to about `limit` bytes, and whether that is all of it."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return b"".join(chunks), False
    return b"".join(chunks), True
