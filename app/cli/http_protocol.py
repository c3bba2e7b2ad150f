"""The server's HTTP protocol, but with the head and the body of an answer in one write: a call to the system is dear."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class JoinedWrites:
    """A transport that holds a write back until the next one, or until the event loop comes round.

    It never holds more than one, so the transport's own back-pressure still works.
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

    def close(self) -> None:
        """Sends what is held, then closes."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def _flush(self) -> None:
        if self._held is not None:
            data, self._held = self._held, None
            if not self._transport.is_closing():
                self._transport.write(data)


class HttpProtocol(HttpToolsProtocol):
    """The server's own, over such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Called by the event loop."""
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", JoinedWrites(transport, self.loop))
