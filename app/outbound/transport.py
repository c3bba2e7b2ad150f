"""Connects to models and receivers of alerts: resolves a name, checks its address by the policy, and connects to the same address.

A name is resolved once per connection and never again without the policy, so a name server that changes its answer gains
nothing. TLS still names and verifies the host.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, TypeAlias, cast

import httpcore
import httpx

from ..domain.deployments import EndpointTls
from ..errors import EndpointRefused
from .addresses import Address, address_of
from .certificates import add_certificates
from .egress import EgressPolicy

Resolver: TypeAlias = Callable[[str, int], Awaitable[list[Address]]]
"""Resolves host and port to addresses, in the order in which they should be tried."""

KEPT_ALIVE_SECONDS = 30.0
"""Seconds after which an unused connection is closed."""

_MOST_HELD_BYTES = 64 * 1024


async def resolve(host: str, port: int) -> list[Address]:
    """Returns the addresses of a host by the system's resolver.

    Raises:
        OSError: the name has no address, or no name server answers.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(entry[4][0])) for entry in found]


class PinnedTransport(httpx.AsyncHTTPTransport):
    """httpx's transport with keep-alive, but every connection goes to an address that `policy` has allowed.

    No proxy is used. `connections` bounds the connections open at once. `tls` is an endpoint's own authority and certificate.

    Raises:
        ScoringFailed: its PEM texts cannot be used.
    """

    def __init__(self, policy: EgressPolicy, *, connections: int, tls: EndpointTls | None = None, resolver: Resolver = resolve) -> None:
        context = _load_tls_context(tls)
        super().__init__(verify=context, trust_env=False)
        # httpx offers no way to pass its pool a network backend, so the pool is built here with the same class.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=KEPT_ALIVE_SECONDS,
            network_backend=_PinnedBackend(policy, resolver),
        )


class PinnedConnection:
    """One connection to one address, by the same policy, for callers with many small requests.

    httpx and the pool of httpcore take more processor time than the connection itself, so this uses only the latter, and gives httpx's
    errors. A connection that the server closed is made again.

    Raises:
        ScoringFailed: the PEM texts of `tls` cannot be used.
    """

    def __init__(self, url: httpx.URL, policy: EgressPolicy, *, tls: EndpointTls | None = None, resolver: Resolver = resolve) -> None:
        self._url = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        self._context = _load_tls_context(tls)
        self._backend = _PinnedBackend(policy, resolver)
        self._connection = self._make()

    async def post(self, headers: list[tuple[bytes, bytes]], body: bytes) -> httpcore.Response:
        """Returns the answer to a request with these headers, all that it has; its body is read with `read_chunks`, and it is closed then.

        Raises:
            httpx.TransportError: there is no answer.
            EndpointRefused: the policy allows no address of the host.
        """
        # Says so, too, where the server has closed it meanwhile, which is looked up in the socket.
        if self._connection.has_expired() or self._connection.is_closed():
            await self._connection.aclose()
            self._connection = self._make()
        try:
            return await self._connection.handle_async_request(httpcore.Request(b"POST", self._url, headers=headers, content=body))
        except tuple(_ERRORS) as error:
            raise _as_httpx(error) from error

    async def aclose(self) -> None:
        """Closes it; the next request makes another one."""
        await self._connection.aclose()

    def _make(self) -> httpcore.AsyncHTTPConnection:
        return httpcore.AsyncHTTPConnection(
            self._url.origin, ssl_context=self._context, keepalive_expiry=KEPT_ALIVE_SECONDS, network_backend=self._backend
        )


async def read_chunks(response: httpcore.Response) -> AsyncIterator[bytes]:
    """Yields the body as it comes.

    Raises:
        httpx.TransportError: the server broke off.
    """
    try:
        async for chunk in cast("AsyncIterable[bytes]", response.stream):
            yield chunk
    except tuple(_ERRORS) as error:
        raise _as_httpx(error) from error


def _as_httpx(error: BaseException) -> httpx.TransportError:
    """Returns httpx's error of the same name, whose cause is then the given one."""
    return next(_ERRORS[each] for each in type(error).__mro__ if each in _ERRORS)(str(error))


_ERRORS: dict[type[BaseException], type[httpx.TransportError]] = {
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadError: httpx.ReadError,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteError: httpx.WriteError,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
}
"""Every error of httpcore that a request without a proxy can have."""


class _PinnedBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, policy: EgressPolicy, resolver: Resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in await self._resolve_allowed(host, port):
            try:
                return _OneWrite(await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"the host name {host} has no address")

    async def _resolve_allowed(self, host: str, port: int) -> list[Address]:
        self._policy.check_host(host)
        literal = address_of(host)
        try:
            found = [literal] if literal is not None else await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the host name {host} could not be resolved ({error})") from error

        # A name that resolves to allowed and to refused addresses is called at the allowed ones.
        allowed: list[Address] = []
        refusal: EndpointRefused | None = None
        for address in dict.fromkeys(found):
            try:
                self._policy.check_address(host, address)
            except EndpointRefused as error:
                refusal = error
            else:
                allowed.append(address)
        if refusal is not None and not allowed:
            raise refusal
        return allowed


class _OneWrite(httpcore.AsyncNetworkStream):
    """A connection whose small writes go out together when an answer is awaited.

    httpcore writes a request's head, its body and its end one by one; a server would wake up for each.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._held: list[bytes] = []

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        # A server may refuse a request before it has read all of it: its answer says why, not our broken write.
        with suppress(httpcore.WriteError):
            await self._flush(timeout)
        try:
            return await self._stream.read(max_bytes, timeout)
        except ssl.SSLError as error:
            # The server's alert, for instance about a client certificate. httpcore lets it through as it is, unlike other errors.
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        self._held.append(buffer)
        if sum(map(len, self._held)) > _MOST_HELD_BYTES:
            await self._flush(timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        return _OneWrite(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's signature
        return self._stream.get_extra_info(info)

    async def _flush(self, timeout: float | None) -> None:  # noqa: ASYNC109 - as above
        if self._held:
            held, self._held = b"".join(self._held), []
            await self._stream.write(held, timeout)


@lru_cache(maxsize=64)
def _load_tls_context(tls: EndpointTls | None) -> ssl.SSLContext:
    # Reads SSL_CERT_FILE and SSL_CERT_DIR, by which operators trust their own authority; loading takes some 20 ms.
    context = httpx.create_ssl_context(trust_env=True)
    if tls is not None:
        add_certificates(context, tls)
    return context
