"""Bounded reading of the bodies of ingestion requests."""

from starlette.types import Message, Receive

from ...base.turns import Room
from ..logging.decode_body import MAX_BODY_BYTES, too_large

BYTES_AT_ONCE = 8 * MAX_BODY_BYTES

BYTES_OF_KEY = 2 * MAX_BODY_BYTES
"""However slowly a key sends, the others have room."""


class ClientGone(Exception):
    pass


class Bodies:
    """Counts the bytes in memory, by the actor whose key sent them."""

    def __init__(self, bytes_at_once: int = BYTES_AT_ONCE, bytes_of_key: int = BYTES_OF_KEY) -> None:
        self._room = Room(
            bytes_at_once,
            each=bytes_of_key,
            busy="Too much is being received already. Send the records again in a moment.",
            busy_each=f"This key is sending more than {bytes_of_key // 2**20} MiB at once. Wait for "
            "answers, then send the records again.",
        )

    async def read(self, receive: Receive, announced: bytes, actor: str) -> bytes:
        """Body as sent, which counts until `done`; `announced` is its Content-Length.

        Raises:
            TooLarge: it is larger than a body may be.
            Unavailable: too much is in memory already.
            ClientGone: it never became complete.
        """
        if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
            raise too_large()
        # Nearly every body comes in one message, and is not copied then.
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            body: bytes = message.get("body", b"")
            self._room.take(actor, len(body))
            return body

        chunks: list[bytes] = []
        size, has_more = 0, True
        try:
            while has_more:
                chunk = message.get("body", b"")
                chunks.append(chunk)
                size += len(chunk)
                self._room.take(actor, len(chunk))
                self._require_room(message, size, actor)
                has_more = message.get("more_body", False)
                if has_more:
                    message = await receive()
        # Cancellation as well: else the key would be shut out until a restart.
        except BaseException:
            self._room.give_back(actor, size)
            raise
        return b"".join(chunks)

    def done(self, body: bytes, actor: str) -> None:
        self._room.give_back(actor, len(body))

    def _require_room(self, message: Message, size: int, actor: str) -> None:
        if message["type"] == "http.disconnect":
            raise ClientGone
        if size > MAX_BODY_BYTES:
            raise too_large()
        self._room.require(actor)
