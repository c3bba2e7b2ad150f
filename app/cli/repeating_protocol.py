"""The server's HTTP protocol for many requests of one head: the next goes to its route directly, without parser, scope and task.

`app/web/repeats.py` says how a route asks for it. Whatever is not exactly one request of a known head is parsed as ever.
"""

from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from ..web.repeats import REPEATABLE, Repeatable
from .http_protocol import HttpProtocol, JoinedWrites


class RepeatingProtocol(HttpProtocol):
    """One connection. It is also the `WaitingClient` of the request that a route took, of which there is one at a time."""

    def __init__(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401 - those of the class above
        super().__init__(*arguments, **more)
        self._heads = self._all.heads
        self._known_head = b""
        self._taken: bytes | None = None
        self._late = b""
        self._begun = 0  # requests that began in the data that is being parsed
        self._ended = 0
        self._candidate: tuple[RequestResponseCycle, bytes, int] | None = None
        self._closes_after_answer = False
        self._answered_at = 0.0

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        if self._taken is not None:
            # Later requests wait for the answer, as those of a pipeline do.
            self._late += data
            self.flow.pause_reading()
            return
        if self._known_head:
            # Many clients send head and body apart.
            data, self._known_head = self._known_head + data, b""
        if not self.is_between_requests:
            super().data_received(data)
        elif not self._take(data):
            before, self._begun, self._ended = self.cycle, 0, 0
            super().data_received(data)
            is_one = (self._begun, self._ended) == (1, 1) and self.cycle is not before
            if is_one and not self.cycle.response_complete:
                self._candidate = (self.cycle, data, self._body_bytes)

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self._begun += 1
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._ended += 1
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Called when an answer was passed to the transport."""
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            cycle, data, body_bytes = candidate
            route = cycle.scope.get(REPEATABLE)
            if route is not None and cycle is self.cycle and cycle.keep_alive:
                self._heads.remember(data, body_bytes, cast("Repeatable", route))
        super().on_response_complete()

    def head_of_answers(self) -> bytes:
        """Returns the header lines that every answer has."""
        return b"".join([b"%b: %b\r\n" % header for header in self.server_state.default_headers])

    def answer(self, content: bytes) -> None:
        """Sends the answer to the request that a route took."""
        self._taken = None
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        transport = cast("JoinedWrites", self.transport)
        if self._closes_after_answer or (self.is_leaving and not self._late):
            transport.write_whole(content.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
            transport.close()
            self._watch_reader()
            return
        transport.write_whole(content)
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        self._go_on()

    def hand_back(self) -> None:
        """Parses the request that a route took, as if it had just arrived."""
        data, self._taken = self._taken, None
        if data is None or self.transport.is_closing():
            return
        super().data_received(data)
        if self._closes_after_answer:
            super().shutdown()
        self._go_on()

    def shutdown(self) -> None:
        """Called by the server when it ends: a request under way is answered first."""
        self._parse_known_head()
        if self._taken is not None:
            self._closes_after_answer = True
        else:
            super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        """Called when no request has come for a while, or when those that came went to their routes directly."""
        rest = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if self._taken is None and rest <= 0:
            super().timeout_keep_alive_handler()
            return
        # Set once for many requests: setting it again for each would cost more than parsing one.
        delay = rest if rest > 0 else self.timeout_keep_alive
        self.timeout_keep_alive_task = self.loop.call_later(delay, self.timeout_keep_alive_handler)

    def _take(self, data: bytes) -> bool:
        """Gives the data to its route, if it is exactly one request whose head is known; returns whether nothing is left to do."""
        found = self._heads.find(data)
        if found is None or self.transport.is_closing():
            return False
        route, body = found
        if body is None:
            self.begin_head()
            self._known_head = data
            return True
        self._taken = data
        if not route.take(body, self):
            self._taken = None
            return False
        self.end_request()
        return True

    def _go_on(self) -> None:
        """Takes the data that came while a route answered."""
        if self._late:
            late, self._late = self._late, b""
            self.flow.resume_reading()
            self.data_received(late)

    def _parse_known_head(self) -> None:
        """Goes on in the ordinary way with a request of which only the head has come."""
        if self._known_head:
            data, self._known_head = self._known_head, b""
            super().data_received(data)

    def _look(self) -> None:
        if self._known_head:
            # The time for the head is over: from here on the body is timed.
            self._timer = None
            self._parse_known_head()
            return
        super()._look()
