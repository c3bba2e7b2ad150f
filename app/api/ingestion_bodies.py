"""Reads the bodies of ingestion requests, within bounds: of one body, and of all that are in memory together."""

from starlette.types import Message, Receive

from app.errors import Unavailable
from app.ingest.bodies import too_large
from app.ingest.limits import MAX_BODY_BYTES

BYTES_AT_ONCE = 8 * MAX_BODY_BYTES
"""Of bodies that are being received or worked on; more are turned away."""


class ClientGone(Exception):
    """The client closed the connection before its body was complete; there is nobody to answer."""


class Bodies:
    """Counts what is in memory."""

    def __init__(self, bytes_at_once: int = BYTES_AT_ONCE) -> None:
        self._room = bytes_at_once

    async def read(self, receive: Receive, announced: bytes) -> bytes:
        """The whole body, still compressed if it was sent so; it counts until it is given to `done`. `announced` is its Content-Length.

        Raises:
            TooLarge: it is larger than a body may be.
            Unavailable: too much is in memory already.
            ClientGone: it never became complete.
        """
        if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
            raise too_large()
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            body: bytes = message.get("body", b"")
            self._room -= len(body)
            return body
        return await self._read_on(receive, message)

    def done(self, body: bytes) -> None:
        """The body is of no more use."""
        self._room += len(body)

    async def _read_on(self, receive: Receive, message: Message) -> bytes:
        parts: list[bytes] = []
        size, more = 0, True
        try:
            while more:
                part = message.get("body", b"")
                parts.append(part)
                size += len(part)
                self._room -= len(part)
                self._require_room(message, size)
                more = message.get("more_body", False)
                if more:
                    message = await receive()
        except BaseException:
            self._room += size
            raise
        return b"".join(parts)

    def _require_room(self, message: Message, size: int) -> None:
        if message["type"] == "http.disconnect":
            raise ClientGone
        if size > MAX_BODY_BYTES:
            raise too_large()
        if self._room < 0:
            raise Unavailable("Too much is being received already. Send the records again in a moment.")
