"""One POST to a receiver, under the rule of which addresses may be called. Follows no redirect and reads little of the answer."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing

import httpx

from app.alerts.attempts import Delivered, Undelivered
from app.errors import EndpointRefused
from app.scoring.egress import EgressPolicy, parse_url
from app.scoring.failures import excerpt, failure_of_error, failure_of_status
from app.scoring.transport import PinnedTransport, Resolver, resolve

TIMEOUT_SECONDS = 10.0
"""For all of an attempt: receivers should answer first and work later."""

_MOST_ANSWER_BYTES = 4096
_CONTENT_AT_FAULT = frozenset({400, 409, 411, 413, 415, 422})
_LEAST_SECRET_CHARACTERS = 6


def post_json(
    url: str, body: bytes, headers: list[tuple[str, str]], policy: EgressPolicy, *, resolver: Resolver = resolve
) -> Delivered | Undelivered:
    """Sends the body and says how that ended. Blocks; not to be called from a running event loop."""
    try:
        parsed = parse_url(url)
        outcome = _run(_post(parsed, body, headers, PinnedTransport(policy, connections=1, resolver=resolver)))
    except EndpointRefused as error:
        return Undelivered(reason=str(error))
    if isinstance(outcome, Delivered):
        return outcome
    return Undelivered(reason=_redacted(outcome.reason, parsed), is_refused=outcome.is_refused, retry_after=outcome.retry_after)


def _run(attempt: Coroutine[None, None, Delivered | Undelivered]) -> Delivered | Undelivered:
    """Its outcome. Unlike `asyncio.run` it leaves a name server that does not answer alone: the system may ask it for minutes."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(attempt)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _post(url: httpx.URL, body: bytes, headers: list[tuple[str, str]], transport: PinnedTransport) -> Delivered | Undelivered:
    every = [("Content-Type", "application/json"), ("Accept-Encoding", "identity"), ("User-Agent", "evenhand"), *headers]
    host = url.netloc.decode("ascii")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), transport:
            response = await transport.handle_async_request(httpx.Request("POST", url, headers=every, content=body))
            async with aclosing(response):
                return Delivered() if response.is_success else await _refusal(host, response)
    except TimeoutError:
        return Undelivered(reason=f"The receiver {host} did not answer within {TIMEOUT_SECONDS:g} seconds.")
    except httpx.RequestError as error:
        return Undelivered(reason=f"The receiver {host} {failure_of_error(error).what}.")


async def _refusal(host: str, response: httpx.Response) -> Undelivered:
    answer = b""
    async for chunk in response.aiter_raw():
        answer += chunk
        if len(answer) >= _MOST_ANSWER_BYTES:
            break
    failure = failure_of_status(response, answer)
    said = excerpt(answer[:_MOST_ANSWER_BYTES].decode(errors="replace"))
    return Undelivered(
        reason=f"The receiver {host} {failure.what}.{said}",
        is_refused=response.status_code in _CONTENT_AT_FAULT,
        retry_after=response.headers.get("retry-after"),
    )


def _redacted(text: str, url: httpx.URL) -> str:
    """`text` without what stands behind the host: it is what gives access to some receivers, and they echo it."""
    pieces = {url.raw_path.decode("ascii"), url.path, *url.path.split("/"), *(part for pair in url.params.multi_items() for part in pair)}
    for piece in sorted((piece for piece in pieces if len(piece) >= _LEAST_SECRET_CHARACTERS), key=len, reverse=True):
        text = text.replace(piece, "[redacted]")
    return text
