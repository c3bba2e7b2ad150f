"""One page to the model and its answer's bytes back, with the attempts that takes. Reads no predictions."""

import asyncio

import httpx

from app.domain.deployments import Endpoint
from app.errors import ScoringFailed
from app.scoring.credentials import header_of, redacted
from app.scoring.egress import parse_url
from app.scoring.failures import Failure, excerpt, failure_of_error, failure_of_status, oversized, slow
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
            *header_of(endpoint.credentials),
        ]
        self._pacer = Pacer(endpoint.requests_per_second, timing)

    async def ask(self, http: httpx.AsyncClient, body: bytes, *, page: int) -> bytes:
        """The body of the endpoint's 2xx answer to page number `page` (from 0).

        Raises:
            ScoringFailed: the endpoint failed for good, or in every attempt; EndpointRefused among them.
        """
        attempt = 1
        while True:
            await self._pacer.turn()
            outcome = await self._attempt(http, body)
            if isinstance(outcome, bytes):
                model_calls.labels("answered").inc()
                return outcome
            if not outcome.may_pass or attempt == MAX_ATTEMPTS:
                model_calls.labels("failed").inc()
                raise self._given_up(outcome, attempt)
            model_calls.labels("retried").inc()
            await self._rest(outcome, attempt, page)
            attempt += 1

    def unusable(self, error: ScoringFailed, answer: bytes, *, page: int, pages: int) -> ScoringFailed:
        """The error for an answer that came but gives no predictions: what was wrong, where, and how an answer without a table began."""
        where = f"(Endpoint {self._host}, page {page + 1} of {pages}.)"
        # A table's beginning tells nothing more, and may echo a person's features into a log.
        said = "" if any(word in answer for word in _TABLE_WORDS) else excerpt(self._safe(answer.decode(errors="replace")))
        return ScoringFailed(f"{self._safe(str(error))} {where}{said}")

    async def _attempt(self, http: httpx.AsyncClient, body: bytes) -> bytes | Failure:
        try:
            # One limit for the whole attempt: a server that drips a byte a second would never run into a limit per read.
            async with (
                asyncio.timeout(self._endpoint.timeout_seconds),
                http.stream("POST", self._url, content=body, headers=self._headers) as response,
            ):
                if not response.is_success:
                    complaint, _ = await _read(response, _MAX_COMPLAINT_BYTES)
                    return failure_of_status(response, complaint)
                answer, complete = await _read(response, MAX_ANSWER_BYTES)
                return answer if complete else oversized(MAX_ANSWER_BYTES)
        except TimeoutError:
            return slow(self._endpoint.timeout_seconds)
        except httpx.RequestError as error:
            return failure_of_error(error)

    async def _rest(self, failure: Failure, attempt: int, page: int) -> None:
        asked_for = retry_after_seconds(failure.retry_after, self._timing.now())
        if asked_for is not None:
            self._pacer.hold(asked_for)  # holds the other pages too
        else:
            await self._timing.sleep(backoff_seconds(attempt, page))

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
