"""Connects to the address of a name that the policy allows.

A name is resolved once per connection, so a name server that changes its answer gains nothing. Every call is
marked, so that one that comes back to this installation ends there.
"""

import asyncio
import hashlib
import os
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

import httpcore
import httpx
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from ..base.errors import EndpointRefused, FieldProblem, ScoringFailed
from ..base.values import frozen
from ..domain.deployment import EndpointTls
from .egress_policy import Address, EgressPolicy, parse_address

MAX_PEM_BYTES = 100_000
"""A certificate takes about 2,000."""

_TLS_FIELD = "endpoint.tls"


@frozen
class CertificateFacts:
    """Public facts of certificates; `expires_at` is the end of the first that ends."""

    subjects: tuple[str, ...]
    expires_at: datetime


def find_tls_problems(tls: EndpointTls, url: str) -> list[FieldProblem]:
    problems = []
    if not url.lower().startswith("https://"):
        problems.append(
            FieldProblem(
                _TLS_FIELD,
                "is for endpoints whose URL begins with https://; leave it out, or change endpoint.url",
            )
        )
    if not tls.authority and not tls.certificate and not tls.key:
        problems.append(
            FieldProblem(
                _TLS_FIELD,
                "must have an authority, or a certificate with its key; leave it out if there is neither",
            )
        )
    _, problem = _read_certificates(tls.authority)
    if problem:
        problems.append(FieldProblem(f"{_TLS_FIELD}.authority", problem))
    certificates, problem = _read_certificates(tls.certificate)
    if problem or (tls.key and not tls.certificate):
        problems.append(
            FieldProblem(
                f"{_TLS_FIELD}.certificate", problem or "is missing: a key is used with its certificate only"
            )
        )
    key, problem = _read_key(tls.key)
    if problem or (tls.certificate and not tls.key):
        problems.append(
            FieldProblem(
                f"{_TLS_FIELD}.key", problem or "is missing: a certificate is used with its private key only"
            )
        )
    if (
        certificates
        and key is not None
        and _encode_public_key(certificates[0].public_key()) != _encode_public_key(key.public_key())
    ):
        problems.append(
            FieldProblem(
                f"{_TLS_FIELD}.key",
                "does not belong to the certificate, which must come first in endpoint.tls.certificate",
            )
        )
    return problems


def describe_certificates(text: str) -> CertificateFacts | None:
    certificates, _ = _read_certificates(text)
    if not certificates:
        return None
    subjects = tuple(certificate.subject.rfc4514_string() for certificate in certificates)
    return CertificateFacts(subjects, min(certificate.not_valid_after_utc for certificate in certificates))


def add_certificates(context: ssl.SSLContext, tls: EndpointTls) -> None:
    """Raises ScoringFailed, for instance of a key too short for this machine."""
    try:
        if tls.authority:
            context.load_verify_locations(cadata=tls.authority)
            # An authority between the root and the server is enough, as in newer versions of Python.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            # From 3.13 on, Python refuses authorities without a key identifier, as many of companies are.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if tls.certificate:
            with _open_as_file(f"{tls.certificate}\n{tls.key}\n") as path:
                # Without a password OpenSSL would ask for one on the terminal.
                context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise ScoringFailed(
            f"The certificates of the deployment's endpoint cannot be used ({reason}); set endpoint.tls "
            "again."
        ) from error


@contextmanager
def _open_as_file(text: str) -> Iterator[str]:
    # Python's ssl reads a certificate from a file only; in memory, where possible, the key never touches a
    # disk.
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("endpoint-certificate", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:  # made with mode 0600
            file.write(text)
            file.flush()
            yield file.name


def _read_certificates(text: str) -> tuple[Sequence[x509.Certificate], str | None]:
    if not text:
        return [], None
    if problem := _find_size_problem(text):
        return [], problem
    if "PRIVATE KEY" in text:
        return [], "must hold certificates only; send the private key as endpoint.tls.key"
    try:
        return x509.load_pem_x509_certificates(text.encode()), None
    except ValueError:
        return [], "must be certificates in PEM: -----BEGIN CERTIFICATE----- and so on"


def _read_key(text: str) -> tuple[PrivateKeyTypes | None, str | None]:
    if not text:
        return None, None
    if problem := _find_size_problem(text):
        return None, problem
    try:
        return load_pem_private_key(text.encode(), password=None), None
    except TypeError:
        return None, "is protected by a passphrase; send it without one: it is stored encrypted"
    except (ValueError, UnsupportedAlgorithm):
        return None, "must be a private key in PEM: -----BEGIN PRIVATE KEY----- and so on"


def _find_size_problem(text: str) -> str | None:
    if len(text) > MAX_PEM_BYTES:
        return f"must have at most {MAX_PEM_BYTES:,} characters, found {len(text):,}"
    return None if text.isascii() and "\0" not in text else "must be PEM, which is plain ASCII"


def _encode_public_key(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


Resolver = Callable[[str, int], Awaitable[list[Address]]]

MAX_IDLE_SECONDS = 30.0

_MAX_STATUS = 599
_ANSWER_BEGINNING = b"HTTP/"
_IS_ANSWERED = "is_answered"
_IS_READABLE = "is_readable"


async def resolve(host: str, port: int) -> list[Address]:
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(entry[4][0])) for entry in entries]


class PinnedTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1, without a proxy, to addresses that `policy` allows. Raises ScoringFailed of PEM texts in
    `tls`.
    """

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        connections: int,
        tls: EndpointTls | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=load_tls_context(tls),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=MAX_IDLE_SECONDS,
            network_backend=_PinnedBackend(policy, resolver),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Close the answer in any case. Raises httpx.TransportError and EndpointRefused."""
        url = request.url
        hops = filter(None, (_received_hops.get(), read_own_id().encode()))
        with _translate_errors():
            answer = await self._pool.handle_async_request(
                httpcore.Request(
                    request.method,
                    httpcore.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=[*request.headers.raw, (LOOP_HEADER, b",".join(hops))],
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        if not answer.extensions["network_stream"].get_extra_info(_IS_ANSWERED):
            problem = "the server sent more than its answer to the request before"
        elif answer.status > _MAX_STATUS:
            problem = f"the answer has the status {answer.status}, which HTTP does not have"
        else:
            return httpx.Response(
                answer.status, headers=answer.headers, stream=_Body(answer), extensions=answer.extensions
            )
        await answer.aclose()  # unread, so its connection is closed as well
        raise httpx.RemoteProtocolError(problem)

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translate_errors():
            async for chunk in self._answer.aiter_stream():
                yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        # The server's alert, which httpcore does not wrap.
        raise httpx.ReadError(str(error)) from error
    except (
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.TimeoutException,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error


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
        self._policy.check_host(host)
        literal = parse_address(host)
        try:
            addresses = [literal] if literal is not None else await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the host name {host} could not be resolved ({error})") from error
        refusal: EndpointRefused | None = None
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in dict.fromkeys(addresses):
            try:
                self._policy.check_address(host, address)
                return _WatchedStream(
                    await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
                )
            except EndpointRefused as error:
                refusal = error
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or refusal or httpcore.ConnectError(f"the host name {host} has no address")


class _WatchedStream(httpcore.AsyncNetworkStream):
    """Stream that notices bytes before a request: a server may send a second answer right after the first,
    which httpcore would give to the next request.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._is_asked = self._is_answered = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        data = await self._stream.read(max_bytes, timeout)
        if self._is_asked:
            self._is_asked, self._is_answered = (
                False,
                _ANSWER_BEGINNING.startswith(data[: len(_ANSWER_BEGINNING)]),
            )
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        self._is_asked, self._is_answered = True, False
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's signature
        if info == _IS_ANSWERED:
            return self._is_answered
        value = self._stream.get_extra_info(info)
        if (
            info == _IS_READABLE
            and not value
            and (tls := self._stream.get_extra_info("ssl_object")) is not None
        ):
            # Whether TLS holds more bytes than were read; takes one of them.
            try:
                return bool(tls.read(1))
            except ssl.SSLWantReadError:
                return False
            except ssl.SSLError:  # the end
                return True
        return value


@lru_cache(maxsize=64)
def load_tls_context(tls: EndpointTls | None) -> ssl.SSLContext:
    """Raises ScoringFailed of unusable PEM texts."""
    # Reads SSL_CERT_FILE and SSL_CERT_DIR; takes some 20 ms.
    context = httpx.create_ssl_context(trust_env=True)
    if tls:
        add_certificates(context, tls)
    return context


LOOP_HEADER = b"evenhand-hops"
"""Header with the ids of the installations that a call came through."""

MAX_HOPS = 4

_own_id = [os.urandom(8).hex()]
_received_hops: ContextVar[bytes] = ContextVar("passed", default=b"")


def identify_installation(database: str | None) -> None:
    """All processes of one database get the same id; before, each has one of its own."""
    if database is not None:
        _own_id[0] = hashlib.sha256(database.encode()).hexdigest()[:16]


def read_own_id() -> str:
    return _own_id[0]


def enter_call(hops: bytes) -> bool:
    """False for a loop, or too many hops."""
    _received_hops.set(hops)
    ids = [hop.strip() for hop in hops.split(b",")]
    return len(ids) < MAX_HOPS and read_own_id().encode() not in ids
