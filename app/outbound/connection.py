"""One connection of HTTP/1.1 to a model. Parsed by httptools, which the server uses as well.

httpx and httpcore take ten times more processor time for a small request than the exchange of its bytes. So the gateway and checks write
requests and read answers here; tokens and alerts go through `PinnedTransport`. Both find their address by the same policy.
"""

import asyncio
import re
import select
import ssl
from collections import deque
from collections.abc import AsyncIterator
from typing import TypeAlias, cast

import httptools
import httpx

from ..domain.deployments import EndpointTls
from .egress import EgressPolicy
from .transport import KEPT_ALIVE_SECONDS, Resolver, load_tls_context, resolve, resolve_allowed

Headers: TypeAlias = list[tuple[bytes, bytes]]

MAX_ANSWER_HEAD_BYTES = 256 * 1024
"""Max bytes of an answer before its body."""

MAX_WAITING_BYTES = 512 * 1024
"""Bytes of an answer's body after which the server has to wait until they are read."""

_MOST_JOINED_BYTES = 64 * 1024

_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(rb"(?:[\x21-\xff](?:[\x21-\xff \t]*[\x21-\xff])?)?")
"""Tokens and values of RFC 9110. A line break in one would begin a header, or a request, of its own."""

_INFORMATIONAL, _FINAL = range(100, 200), range(200, 600)
_WITHOUT_BODY = frozenset({204, 304})


class PinnedConnection:
    """A connection to an address that `policy` has allowed; one that the server closed is made again. One request at a time.

    Raises:
        ScoringFailed: the PEM texts of `tls` cannot be used.
    """

    def __init__(self, url: httpx.URL, policy: EgressPolicy, *, tls: EndpointTls | None = None, resolver: Resolver = resolve) -> None:
        self._host = url.raw_host.decode("ascii")
        self._context = load_tls_context(tls) if url.scheme == "https" else None
        self._port = url.port or (443 if self._context is not None else 80)
        self._line = b"POST %b HTTP/1.1\r\n" % url.raw_path
        self._policy = policy
        self._resolver = resolver
        self._wire: _Wire | None = None

    async def post(self, headers: Headers, body: bytes) -> "WireAnswer":
        """Returns the answer to a request with these headers, all that it has. It must be closed, whether its body was read or not.

        Raises:
            httpx.TransportError: there is no answer.
            EndpointRefused: the policy allows no address of the host.
        """
        for name, value in headers:
            if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
                raise httpx.LocalProtocolError(f"the header {name!a} cannot be sent")
        wire = self._wire
        if wire is None or not wire.is_usable():
            await self.aclose()
            wire = self._wire = await self._open()
        try:
            wire.send(b"%b%b\r\n" % (self._line, b"".join([b"%b: %b\r\n" % header for header in headers])), body)
            await wire.await_head()
        except BaseException:  # cancelled as well: what comes now would be taken for the answer to the next request
            wire.abort()
            raise
        return WireAnswer(wire)

    async def aclose(self) -> None:
        """Closes it; the next request makes another one."""
        if self._wire is not None:
            self._wire.abort()
            self._wire = None

    async def _open(self) -> "_Wire":
        loop = asyncio.get_running_loop()
        try:
            addresses = await resolve_allowed(self._policy, self._resolver, self._host, self._port)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        failure: Exception = OSError(f"the host name {self._host} has no address")
        name = None if self._context is None else self._host
        for address in addresses:
            try:
                _, wire = await loop.create_connection(_Wire, str(address), self._port, ssl=self._context, server_hostname=name)
            except (OSError, ssl.SSLError) as error:
                failure = error
            else:
                return wire
        raise httpx.ConnectError(str(failure)) from failure


class WireAnswer:
    """An answer whose head was read. `headers` are as the server sent them."""

    def __init__(self, wire: "_Wire") -> None:
        self._wire = wire
        self.status = wire.status
        self.headers = wire.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it comes.

        Raises:
            httpx.TransportError: the server broke off.
        """
        while chunk := await self._wire.read():
            yield chunk

    async def aclose(self) -> None:
        """Ends the exchange. The connection is kept if all of the answer was read."""
        self._wire.end()


class _Wire(asyncio.Protocol):
    """A connection as the event loop and the parser see it; their callbacks are public."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Headers = []
        self._transport = cast("asyncio.Transport", None)
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._parts: deque[bytes] = deque()
        self._waiting_bytes = self._head_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: httpx.TransportError | None = None
        self._is_asked = self._has_head = self._is_complete = self._is_paused = False
        self._ends_with_connection = False
        self._is_kept = True
        self._used_at = 0.0

    def is_usable(self) -> bool:
        """Returns whether another request may be sent. Asks the socket: the event loop may not have seen its end yet."""
        if not self._is_kept or self._transport.is_closing() or self._loop.time() > self._used_at + KEPT_ALIVE_SECONDS:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def send(self, head: bytes, body: bytes) -> None:
        """Writes a request."""
        self.headers = []
        self._head_bytes = 0
        self._has_head = self._is_complete = False
        self._is_asked = True
        if len(body) <= _MOST_JOINED_BYTES:
            self._transport.write(head + body)  # in one packet: a server would wake up for each
        else:
            self._transport.write(head)
            self._transport.write(body)

    async def await_head(self) -> None:
        """Returns when status and headers are known."""
        while not self._has_head:
            await self._await_more()

    async def read(self) -> bytes:
        """Returns what has come of the body; empty at its end."""
        while not self._parts:
            if self._is_complete:
                return b""
            await self._await_more()
        data = self._parts.popleft() if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._waiting_bytes = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def end(self) -> None:
        """Ends the exchange; a connection with bytes on the way, in either direction, is closed."""
        self._is_asked = False
        self._used_at = self._loop.time()
        if not (self._is_complete and self._is_kept) or self._parts or self._transport.get_write_buffer_size():
            self.abort()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._is_kept = self._is_asked = False
        self._transport.abort()

    async def _await_more(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: httpx.TransportError, cause: BaseException | None) -> None:
        self._is_kept = False
        error.__cause__ = cause
        self._error = error
        self._wake()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast("asyncio.Transport", transport)
        self._used_at = self._loop.time()

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        if not self._is_asked or self._is_complete:
            self.abort()  # an answer to no request, which the next one must not get
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(httpx.RemoteProtocolError(f"the answer is not one of HTTP/1.1: {error}"), error)
            self._transport.abort()
            return
        if not self._has_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_ANSWER_HEAD_BYTES:
                self._fail(httpx.RemoteProtocolError(f"the answer has more than {MAX_ANSWER_HEAD_BYTES:,} bytes before its body"), None)
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        self._is_kept = False
        if self._is_complete or self._error is not None:
            return
        if exc is not None:
            self._fail(httpx.ReadError(str(exc)), exc)
        elif self._has_head and self._ends_with_connection:
            self._is_complete = True
            self._wake()
        elif self._has_head:
            self._fail(httpx.RemoteProtocolError("the server closed the connection before the answer was complete"), None)
        else:
            self._fail(httpx.RemoteProtocolError("the server closed the connection without an answer"), None)

    def on_message_begin(self) -> None:
        """Called by the parser."""
        if self._is_complete:
            self._is_kept = False  # more than one answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser; for trailers, too, which are dropped."""
        if not self._has_head:
            self.headers.append((name, value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        if self._is_complete or self._error is not None:
            return
        if status in _INFORMATIONAL:
            self.headers = []
            return
        if status not in _FINAL:
            self._fail(httpx.RemoteProtocolError(f"the answer has the status {status}, which HTTP does not have"), None)
            self._transport.abort()
            return
        self.status = status
        names = {name.lower() for name, _ in self.headers}
        self._ends_with_connection = status not in _WITHOUT_BODY and not names & {b"content-length", b"transfer-encoding"}
        self._has_head = True
        self._wake()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        if self._is_complete:
            return
        self._parts.append(body)
        self._waiting_bytes += len(body)
        if self._waiting_bytes > MAX_WAITING_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        """Called by the parser."""
        if not self._has_head:
            return  # 100 Continue and the like: the answer is still to come
        if not self._is_complete:
            self._is_complete = True
            self._is_kept = self._is_kept and self._parser.should_keep_alive()
            self._wake()
