"""Connects to models and receivers of alerts: resolves a name, checks its address by the policy, and connects to the same address.

A name is resolved once per connection and never again without the policy, so a name server that changes its answer gains
nothing. TLS still names and verifies the host.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, TypeAlias

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


async def resolve_allowed(policy: EgressPolicy, resolver: Resolver, host: str, port: int) -> list[Address]:
    """Returns the addresses of a host that the policy allows; a name with allowed and refused addresses is called at the allowed ones.

    Raises:
        EndpointRefused: the policy allows none of them.
        OSError: the name could not be resolved.
    """
    policy.check_host(host)
    literal = address_of(host)
    try:
        found = [literal] if literal is not None else await resolver(host, port)
    except (OSError, UnicodeError) as error:
        raise OSError(f"the host name {host} could not be resolved ({error})") from error

    allowed: list[Address] = []
    refusal: EndpointRefused | None = None
    for address in dict.fromkeys(found):
        try:
            policy.check_address(host, address)
        except EndpointRefused as error:
            refusal = error
        else:
            allowed.append(address)
    if refusal is not None and not allowed:
        raise refusal
    return allowed


class PinnedTransport(httpx.AsyncHTTPTransport):
    """httpx's transport with keep-alive, but every connection goes to an address that `policy` has allowed.

    No proxy is used. `connections` bounds the connections open at once. `tls` is an endpoint's own authority and certificate.

    Raises:
        ScoringFailed: its PEM texts cannot be used.
    """

    def __init__(self, policy: EgressPolicy, *, connections: int, tls: EndpointTls | None = None, resolver: Resolver = resolve) -> None:
        context = load_tls_context(tls)
        super().__init__(verify=context, trust_env=False)
        # httpx offers no way to pass its pool a network backend, so the pool is built here with the same class.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=KEPT_ALIVE_SECONDS,
            network_backend=_PinnedBackend(policy, resolver),
        )


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
        try:
            addresses = await resolve_allowed(self._policy, self._resolver, host, port)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for address in addresses:
            try:
                return _OneWrite(await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"the host name {host} has no address")


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
def load_tls_context(tls: EndpointTls | None) -> ssl.SSLContext:
    """Returns the context of an endpoint's connections, the same one for the same PEM texts.

    Raises:
        ScoringFailed: they cannot be used.
    """
    # Reads SSL_CERT_FILE and SSL_CERT_DIR, by which operators trust their own authority; loading takes some 20 ms.
    context = httpx.create_ssl_context(trust_env=True)
    if tls is not None:
        add_certificates(context, tls)
    return context
