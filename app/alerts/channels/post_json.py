"""Posts JSON to the URL of a channel."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import httpx

from ...base.errors import EndpointRefused
from ...calls.call_failures import excerpt, failure_of_error, failure_of_status
from ...calls.egress_policy import EgressPolicy, parse_url
from ...calls.pinned_transport import PinnedTransport, Resolver, resolve
from .notification import Delivered, Undelivered

TIMEOUT_SECONDS = 10.0

_MOST_ANSWER_BYTES = 4096
_CONTENT_AT_FAULT = frozenset({400, 409, 411, 413, 415, 422})
_LEAST_SECRET_CHARACTERS = 6


def post_json(
    url: str,
    body: bytes,
    headers: list[tuple[str, str]],
    policy: EgressPolicy,
    *,
    resolver: Resolver = resolve,
) -> Delivered | Undelivered:
    """Blocks: do not call it from a running event loop."""
    try:
        parsed = parse_url(url)
        transport = PinnedTransport(policy, connections=1, resolver=resolver)
        # `asyncio.run` would wait for a name server that does not answer, for minutes.
        loop = asyncio.new_event_loop()
        try:
            outcome = loop.run_until_complete(
                _post(parsed, body, headers, transport, quotes=policy.shows_answers)
            )
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
    except EndpointRefused as error:
        return Undelivered(reason=str(error))
    if isinstance(outcome, Delivered):
        return outcome

    # The path gives access to some receivers, and they echo it. The longest piece first, so that none is left
    # in part.
    pieces = {parsed.raw_path.decode("ascii"), parsed.path, *parsed.path.split("/")}
    pieces |= {piece for pair in parsed.params.multi_items() for piece in pair}
    reason = outcome.reason
    answer = outcome.answer
    for piece in sorted(
        (piece for piece in pieces if len(piece) >= _LEAST_SECRET_CHARACTERS), key=len, reverse=True
    ):
        reason = reason.replace(piece, "[redacted]")
        answer = answer.replace(piece, "[redacted]")
    return replace(outcome, reason=reason, answer=answer)


async def _post(
    url: httpx.URL, body: bytes, headers: list[tuple[str, str]], transport: PinnedTransport, *, quotes: bool
) -> Delivered | Undelivered:
    every = [
        ("Content-Type", "application/json"),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "evenhand"),
        *headers,
    ]
    host = url.netloc.decode("ascii")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), transport:
            response = await transport.handle_async_request(
                httpx.Request("POST", url, headers=every, content=body)
            )
            async with aclosing(response):
                if response.is_success:
                    return Delivered()
                answer = b""
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) >= _MOST_ANSWER_BYTES:
                        break
    except TimeoutError:
        return Undelivered(reason=f"The receiver {host} did not answer within {TIMEOUT_SECONDS:g} seconds.")
    except httpx.RequestError as error:
        return Undelivered(reason=f"The receiver {host} {failure_of_error(error).what}.")

    failure = failure_of_status(response, answer, quotes=quotes)
    return Undelivered(
        reason=f"The receiver {host} {failure.what}.",
        answer=excerpt(answer[:_MOST_ANSWER_BYTES].decode(errors="replace")) if quotes else "",
        is_refused=response.status_code in _CONTENT_AT_FAULT,
        retry_after=response.headers.get("retry-after"),
    )
