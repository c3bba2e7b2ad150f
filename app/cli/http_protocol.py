"""The server's HTTP protocol, with bounds that apply before any key is read, and a single write for a short answer.

The parser (httptools) buffers a head of any size until it ends, and the server gives it unlimited time. So both are counted here, as
the bytes arrive. A request that exceeds a bound gets an answer where that is possible, and the connection is closed.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from ..errors import Unavailable
from ..web.problems import KINDS, ProblemKind, response_of
from .http_bounds import MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED, Connections

_LINGER_SECONDS = 2.0
"""Seconds for which a refused client may keep sending: if closed at once, it would see a broken connection and no answer."""

_GRACE_SECONDS = 0.05
"""Seconds between a deadline and the end of the request."""

_PIECE = MAX_HEAD_BYTES
"""Max bytes passed to the parser at once; they are counted between the pieces."""


class JoinedWrites:
    """A transport that delays a write until the next one, or until the next pass of the event loop.

    It never delays more than one, so the transport's own back-pressure still works.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: bytes | None = None

    def write(self, data: bytes) -> None:
        """Sends the data soon, in order."""
        if self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            data = self._held + data
            self._held = None
            self._transport.write(data)

    def write_eof(self) -> None:
        """Sends the delayed data, then signals the end."""
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Sends the delayed data, then closes."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def _flush(self) -> None:
        if self._held is not None:
            data, self._held = self._held, None
            if not self._transport.is_closing():
                self._transport.write(data)


class _CountedFlow(FlowControl):
    """Counts how often reading was paused: a client is not slow while the server does not read."""

    pauses = 0

    def pause_reading(self) -> None:
        self.pauses += 1
        super().pause_reading()


class _Phase(Enum):
    """The part of a request that a connection's next bytes belong to. IDLE: nothing has arrived since the last complete request."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The answer to a request that is not read to its end."""

    kind: ProblemKind
    detail: str


class _GivenUp(Exception):
    """Stops the parser. It is not kept: its traceback holds the received data."""


_BAD = ProblemKind(400, "http-400", "This is not a request of HTTP")
_SLOW = ProblemKind(408, "http-408", "The request came too slowly")
_LARGE_HEAD = ProblemKind(431, "http-431", "The request's head is too large")
_BUSY = KINDS[Unavailable]


def _large_head() -> _Refusal:
    return _Refusal(_LARGE_HEAD, f"Address and headers may have {MAX_HEAD_BYTES:,} bytes together, and there may be {MAX_HEADERS} headers.")


class HttpProtocol(HttpToolsProtocol):
    """The server's own protocol, with bounds. A connection that `is_leaving` ends with its next answer, unless another request has come."""

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
        self._all = connections
        self._bounds = connections.bounds
        self._host: str | None = None
        self._phase = _Phase.IDLE
        self._since = 0.0
        self._unread = 0
        self._head_bytes = 0
        self._body_bytes = 0
        self._pauses = 0
        self._timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._is_write_paused = False
        self._found: _Refusal | None = None
        self._is_overdue = False
        self._is_refused = False
        self.is_leaving = False
        self._last: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Called by the event loop."""
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", JoinedWrites(transport, self.loop))
        self.flow = _CountedFlow(transport)
        host = self.client[0] if self.client else ""
        if self._all.enter(host):
            self._host = host
            self._begin(_Phase.HEAD)
            return
        self._is_refused = True
        self._write(_Refusal(_BUSY, "Too many connections are open. Try again in a moment."))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        super().connection_lost(exc)
        self._is_refused = True
        self._stop_timer()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        if self._host is not None:
            self._all.leave(self._host)
            self._host = None

    def data_received(self, data: bytes) -> None:
        """Called by the event loop. Data after a refusal is ignored."""
        if self._phase is _Phase.IDLE and not self._is_refused:
            self._begin(_Phase.HEAD)
        for start in range(0, len(data), _PIECE):
            if self._is_refused or self.transport.is_closing():
                return
            piece = data if len(data) <= _PIECE else data[start : start + _PIECE]
            self._unread += len(piece)
            super().data_received(piece)
            if self._unread > MAX_HEAD_BYTES:
                self._refuse(_large_head())

    def send_400_response(self, msg: str) -> None:
        """Called where the parser failed, by itself or in one of the callbacks below."""
        self._refuse(self._found or _Refusal(_BAD, msg))

    def on_message_begin(self) -> None:
        """Called by the parser."""
        if self._phase is _Phase.IDLE:  # the next of several requests in one piece
            self._begin(_Phase.HEAD)
        self._head_bytes = 0
        if self._last is not None and not self._last.response_started:
            self._last.keep_alive = True  # another request has come
        self._last = None
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Called by the parser."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser, for trailers of a chunked body too: those are dropped."""
        if self._phase is not _Phase.HEAD:
            return
        self._count_head(len(name) + len(value) + len(b": \r\n"))
        if len(self.headers) >= MAX_HEADERS:
            self._give_up(_large_head())
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self._unread = 0
        if sum(name == b"host" for name, _ in self.headers) > 1:
            self._give_up(_Refusal(_BAD, "The header Host may be sent once."))
        if self.parser.should_upgrade() and any(name in {b"content-length", b"transfer-encoding"} for name, _ in self.headers):
            # The parser leaves such a body out, and an answer to the rest would look like one to the whole.
            self._give_up(_Refusal(_BAD, "A request with the header Upgrade may have no body: send it without, or over HTTPS."))
        if len(self.pipeline) >= MAX_PIPELINED:
            self._give_up(
                _Refusal(_BUSY, f"More than {MAX_PIPELINED} requests wait on this connection. Wait for answers before you send more.")
            )
        super().on_headers_complete()
        self._begin(_Phase.BODY)

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._unread = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._unread = 0
        self._phase = _Phase.IDLE
        super().on_message_complete()
        if self.cycle.response_complete and not self.pipeline and not self.transport.is_closing():
            # It was answered before its body was complete, and the rest of the body has ended the server's own wait.
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        elif self.is_leaving and self.cycle.keep_alive and not self.cycle.response_started and not self.pipeline:
            self.cycle.keep_alive = False
            self._last = self.cycle

    def shutdown(self) -> None:
        """Called by the server when it ends."""
        self._last = None
        super().shutdown()

    def pause_writing(self) -> None:
        """Called by the transport when much of an answer is not sent yet."""
        super().pause_writing()
        self._is_write_paused = True
        self._watch_reader()

    def resume_writing(self) -> None:
        """Called by the transport when most of an answer is sent."""
        super().resume_writing()
        self._is_write_paused = False

    def timeout_keep_alive_handler(self) -> None:
        """Called when no request has come for a while."""
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def on_response_complete(self) -> None:
        """Called when an answer was passed to the transport."""
        is_last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()
        if self._found is not None and is_last and not self.transport.is_closing():
            self._answer(self._found)

    def _count_head(self, count: int) -> None:
        self._head_bytes += count
        if self._head_bytes > MAX_HEAD_BYTES:
            self._give_up(_large_head())

    def _give_up(self, refusal: _Refusal) -> None:
        self._found = refusal
        raise _GivenUp

    def _begin(self, phase: _Phase) -> None:
        self._phase = phase
        self._restart()
        if self._timer is None:
            self._timer = self.loop.call_later(self._seconds, self._look)

    def _restart(self) -> None:
        self._since = self.loop.time()
        self._body_bytes = 0
        self._is_overdue = False
        self._pauses = cast("_CountedFlow", self.flow).pauses

    @property
    def _seconds(self) -> float:
        return self._bounds.head_seconds if self._phase is _Phase.HEAD else self._bounds.body_seconds

    def _look(self) -> None:
        """Ends a request that is too slow. One timer serves a connection's requests in turn, so it often fires early and is set again."""
        self._timer = None
        if self._is_refused or self._phase is _Phase.IDLE or self.transport.is_closing():
            return
        flow = cast("_CountedFlow", self.flow)
        awaits_100 = self._phase is _Phase.BODY and self.cycle.waiting_for_100_continue
        if flow.read_paused or flow.pauses != self._pauses or awaits_100:  # this side has kept the client from sending
            self._restart()
        elif self.loop.time() >= self._since + self._seconds and not self._is_overdue:
            # After a pause of this process, timers fire before data that arrived long ago is read. So that is read first.
            self._is_overdue = True
            self._timer = self.loop.call_later(_GRACE_SECONDS, self._look)
            return
        elif self._is_overdue:
            if self._phase is _Phase.HEAD and not self._unread:
                self.transport.close()  # there is no request, so there is no answer
                return
            if self._phase is _Phase.HEAD:
                self._refuse(_Refusal(_SLOW, f"The request's head was not complete after {self._bounds.head_seconds:g} seconds."))
                return
            if self._body_bytes < self._bounds.body_bytes_per_second * self._bounds.body_seconds:
                rate = f"{self._bounds.body_bytes_per_second:,} bytes a second for {self._bounds.body_seconds:g} seconds"
                self._refuse(_Refusal(_SLOW, f"The request's body came more slowly than {rate}."))
                return
            self._restart()
        self._timer = self.loop.call_at(self._since + self._seconds, self._look)

    def _watch_reader(self) -> None:
        """Starts to watch whether the client reads its answer: a connection is closed only after all of it was sent."""
        if self._reader_timer is None:
            self._unsent = self.transport.get_write_buffer_size()
            self._reader_timer = self.loop.call_later(self._bounds.body_seconds, self._look_at_reader)

    def _look_at_reader(self) -> None:
        self._reader_timer = None
        unsent = self.transport.get_write_buffer_size()
        if not (self._is_write_paused or self.transport.is_closing()):
            return
        least = max(1, self._bounds.body_bytes_per_second * self._bounds.body_seconds)
        if unsent and self._unsent - unsent < least:
            self.transport.abort()
            return
        self._watch_reader()

    def _refuse(self, refusal: _Refusal) -> None:
        if self._is_refused:
            return
        self._is_refused = True
        self._found = refusal
        self._stop_timer()
        self.parser = None  # type: ignore[assignment]  # nothing is read any more, so this frees the buffered head
        if self._phase is _Phase.HEAD and self.headers is not None:
            self.headers.clear()
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self._phase is _Phase.BODY:
            if self.pipeline or self.cycle.response_started:  # an answer now would be taken for that of another request
                self.transport.close()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif is_answering:
            return  # the answers to earlier requests come first
        self._answer(refusal)

    def _answer(self, refusal: _Refusal) -> None:
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._write(refusal)
        self.transport.write_eof()
        self.flow.resume_reading()
        self._timer = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _write(self, refusal: _Refusal) -> None:
        response = response_of(refusal.kind, refusal.detail, None)
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[refusal.kind.status], lines, bytes(response.body)))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
