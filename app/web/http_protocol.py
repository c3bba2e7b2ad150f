"""The server's HTTP protocol, with bounds that apply before any key is read.

The parser (httptools) buffers a head of any size, and the server gives it unlimited time. So both are
counted here. Uses attributes of uvicorn's protocol that are not documented:
`tests/unit/cli/test_http_protocol.py` names them.
"""

import asyncio
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from ..base.errors import Unavailable
from ..base.values import frozen
from .http_bounds import MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED, Connections
from .problems import KINDS, ProblemKind, build_problem_response

_LINGER_SECONDS = 2.0
"""A refused client, closed at once, would see a broken connection and no answer."""

_MAX_PIECE_BYTES = MAX_HEAD_BYTES
"""Passed to the parser at once; bytes of a head are counted between the pieces."""


class _Phase(Enum):
    """IDLE: nothing has arrived since the last complete request."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()


@frozen
class _Refusal:
    kind: ProblemKind
    detail: str


class _GivenUp(Exception):
    """Stops the parser. Never kept in an attribute: its traceback holds the received data."""


_BAD = ProblemKind(400, "http-400", "This is not a request of HTTP")
_SLOW = ProblemKind(408, "http-408", "The request came too slowly")
_LARGE_HEAD = _Refusal(
    ProblemKind(431, "http-431", "The request's head is too large"),
    f"Address and headers may have {MAX_HEAD_BYTES:,} bytes together, and there may be {MAX_HEADERS} "
    "headers.",
)
_BUSY = KINDS[Unavailable]


class BoundedProtocol(HttpToolsProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._settings = connections.settings
        self._host: str | None = None
        self._phase = _Phase.HEAD
        self._phase_began = self.loop.time()
        self._unread = 0  # bytes given to the parser that completed no part of a request yet
        self._body_bytes = 0
        self._pending_refusal: _Refusal | None = None
        self._is_refused = False
        self._ends_at: float | None = None
        self._is_write_paused = False
        self._unsent_bytes: int | None = None
        self._unsent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        if self._connections.enter(self, host):
            self._host = host
            return
        self._is_refused = True
        self._write(_Refusal(_BUSY, "Too many connections are open. Try again in a moment."))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._is_refused = True
        if self._host is not None:
            self._connections.leave(self, self._host)
            self._host = None

    def data_received(self, data: bytes) -> None:
        if self._phase is _Phase.IDLE:
            self._enter_phase(_Phase.HEAD)
        for start in range(0, len(data), _MAX_PIECE_BYTES):
            if self._is_refused or self.transport.is_closing():
                return
            piece = data if len(data) <= _MAX_PIECE_BYTES else data[start : start + _MAX_PIECE_BYTES]
            self._unread += len(piece)
            super().data_received(piece)
            if self._unread > MAX_HEAD_BYTES:
                self._refuse(_LARGE_HEAD)

    def send_400_response(self, msg: str) -> None:
        """Called where the parser failed, by itself or in one of the callbacks below."""
        self._refuse(self._pending_refusal or _Refusal(_BAD, msg))

    def on_message_begin(self) -> None:
        if self._phase is _Phase.IDLE:
            self._enter_phase(_Phase.HEAD)
        # The rest of that piece is not counted, and still the connection is not silent.
        self._unread = self._unread or 1
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser, for trailers of a chunked body too: those are dropped."""
        if self._phase is not _Phase.HEAD:
            return
        if len(self.headers) >= MAX_HEADERS:
            self._give_up(_LARGE_HEAD)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unread = 0
        if (
            len(self.url) + sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)
            > MAX_HEAD_BYTES
        ):
            self._give_up(_LARGE_HEAD)
        if sum(name == b"host" for name, _ in self.headers) > 1:
            self._give_up(_Refusal(_BAD, "The header Host may be sent once."))
        if self.parser.should_upgrade() and any(
            name in {b"content-length", b"transfer-encoding"} for name, _ in self.headers
        ):
            # The parser leaves such a body out, and an answer to the rest would look like one to the whole.
            self._give_up(
                _Refusal(
                    _BAD,
                    "A request with the header Upgrade may have no body: send it without, or over HTTPS.",
                )
            )
        if len(self.pipeline) >= MAX_PIPELINED:
            self._give_up(
                _Refusal(
                    _BUSY,
                    f"More than {MAX_PIPELINED} requests wait on this connection. Wait for answers before "
                    "you send more.",
                )
            )
        super().on_headers_complete()
        self._enter_phase(_Phase.BODY)

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        self._phase = _Phase.IDLE
        super().on_message_complete()
        if self.cycle.response_complete and not self.pipeline and not self.transport.is_closing():
            # It was answered before its body was complete, which has ended the server's own wait.
            self._cancel_keep_alive()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def pause_writing(self) -> None:
        super().pause_writing()
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """Called when most of an answer is sent: the next pause is of another part, with its own time."""
        super().resume_writing()
        self._is_write_paused = False
        self._unsent_bytes = None

    def end_if_late(self, now: float) -> None:
        self._abort_slow_reader(now)
        if self._ends_at is not None:
            if now >= self._ends_at:
                self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._is_refused:
            if self._pending_refusal is not None and self.cycle.response_complete:
                self._answer(self._pending_refusal)
        elif self._phase is not _Phase.IDLE:
            self._refuse_slow_request(now)

    def _abort_slow_reader(self, now: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if not unsent or not (self._is_write_paused or self.transport.is_closing()):
            return
        if self._unsent_bytes is None:
            self._unsent_bytes, self._unsent_since = unsent, now
        if now < self._unsent_since + self._settings.request_body_seconds:
            return
        if self._unsent_bytes - unsent < max(1, self._min_bytes):
            self.transport.abort()
        self._unsent_bytes, self._unsent_since = unsent, now

    def _refuse_slow_request(self, now: float) -> None:
        # The server itself does not read: the client cannot be late.
        if self.flow.read_paused:
            self._enter_phase(self._phase)
        elif self._phase is _Phase.HEAD:
            if now < self._phase_began + self._settings.request_head_seconds:
                return
            if not self._unread:
                self.transport.close()
                return
            self._refuse(
                _Refusal(
                    _SLOW,
                    f"The request's head was not complete after {self._settings.request_head_seconds:g} "
                    "seconds.",
                )
            )
        elif now >= self._phase_began + self._settings.request_body_seconds:
            if self._body_bytes >= self._min_bytes:
                self._enter_phase(_Phase.BODY)
                return
            rate = (
                f"{self._settings.request_body_bytes_per_second:,} bytes a second for "
                f"{self._settings.request_body_seconds:g} seconds"
            )
            self._refuse(_Refusal(_SLOW, f"The request's body came more slowly than {rate}."))

    @property
    def _min_bytes(self) -> float:
        return self._settings.request_body_bytes_per_second * self._settings.request_body_seconds

    def _enter_phase(self, phase: _Phase) -> None:
        self._phase = phase
        self._phase_began = self.loop.time()
        self._body_bytes = 0

    def _give_up(self, refusal: _Refusal) -> None:
        self._pending_refusal = refusal
        raise _GivenUp

    def _refuse(self, refusal: _Refusal) -> None:
        if self._is_refused:
            return
        self._is_refused = True
        self.parser = None  # type: ignore[assignment]  # nothing is read any more, so this frees the buffered head
        if self._phase is _Phase.HEAD and self.headers is not None:
            self.headers.clear()
        if self._phase is _Phase.BODY:
            # An answer now would be taken for that of another request.
            if self.pipeline or self.cycle.response_started:
                self.transport.close()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif self.cycle is not None and not self.cycle.response_complete:
            self._pending_refusal = refusal
            return
        self._answer(refusal)

    def _answer(self, refusal: _Refusal) -> None:
        if self.transport.is_closing():
            return
        self._cancel_keep_alive()
        self._write(refusal)
        self.transport.write_eof()
        self.flow.resume_reading()
        self._ends_at = self.loop.time() + _LINGER_SECONDS

    def _write(self, refusal: _Refusal) -> None:
        status = HTTPStatus(refusal.kind.status)
        response = build_problem_response(refusal.kind, refusal.detail, None)
        headers = [
            (b"date", formatdate(usegmt=True).encode()),
            *response.raw_headers,
            (b"connection", b"close"),
        ]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(
            b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (status, status.phrase.encode(), lines, bytes(response.body))
        )

    def _cancel_keep_alive(self) -> None:
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
