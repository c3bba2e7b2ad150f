"""Connections to one model that are kept between requests, and httpx's face of them, for callers that also ask other servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx

from ..domain.deployments import EndpointTls
from .connection import PinnedConnection, WireAnswer
from .egress import EgressPolicy
from .transport import PinnedTransport, Resolver, resolve

_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class ModelConnections:
    """At most `most` connections to one URL, each for one request at a time. Belongs to one event loop.

    Raises:
        ScoringFailed: the PEM texts of `tls` cannot be used.
    """

    def __init__(
        self, url: httpx.URL, policy: EgressPolicy, *, most: int, tls: EndpointTls | None = None, resolver: Resolver = resolve
    ) -> None:
        self._url, self._policy, self._tls, self._resolver = url, policy, tls, resolver
        self._free = asyncio.Semaphore(most)
        self._idle = [self._connect()]  # the first one now, so that unusable texts are known at once

    @asynccontextmanager
    async def using_one(self) -> AsyncIterator[PinnedConnection]:
        """Yields a connection that nobody else uses, the one that was used last."""
        async with self._free:
            connection = self._idle.pop() if self._idle else self._connect()
            try:
                yield connection
            finally:
                self._idle.append(connection)

    async def close_idle(self) -> None:
        """Closes those that nobody uses."""
        while self._idle:
            await self._idle.pop().aclose()

    def _connect(self) -> PinnedConnection:
        return PinnedConnection(self._url, self._policy, tls=self._tls, resolver=self._resolver)


class ModelTransport(httpx.AsyncBaseTransport):
    """Sends POST requests for `url` over connections of its own, and all others (for tokens) through a `PinnedTransport`.

    Raises:
        ScoringFailed: the PEM texts of `tls` cannot be used.
    """

    def __init__(
        self, url: httpx.URL, policy: EgressPolicy, *, connections: int, tls: EndpointTls | None = None, resolver: Resolver = resolve
    ) -> None:
        self._url = url
        self._connections = ModelConnections(url, policy, most=connections, tls=tls, resolver=resolver)
        self._others = PinnedTransport(policy, connections=1, tls=tls, resolver=resolver)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the answer, whose body is still to be read; it must be closed.

        Raises:
            httpx.TransportError: there is no answer.
            EndpointRefused: the policy allows no address of the host.
        """
        if request.method != "POST" or request.url != self._url:
            return await self._others.handle_async_request(request)
        body = request.content
        headers = [one for one in request.headers.raw if one[0].lower() not in _FRAMING]
        headers.append((b"Content-Length", b"%d" % len(body)))
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(self._connections.using_one())
            answer = await connection.post(headers, body)
            stack.push_async_callback(answer.aclose)
            # From here on the reader of the answer gives the connection back.
            return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer, stack.pop_all()))

    async def aclose(self) -> None:
        """Closes the connections that nobody uses."""
        await self._connections.close_idle()
        await self._others.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: WireAnswer, stack: AsyncExitStack) -> None:
        self._answer = answer
        self._stack = stack

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer.chunks()

    async def aclose(self) -> None:
        await self._stack.aclose()
