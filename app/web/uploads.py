"""Bodies too large for memory, in temporary files."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import Message
from email.utils import collapse_rfc2231_value
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ..base.apart import Apart
from ..base.encodings import UTF_8, find_encoding
from ..base.errors import InvalidInput, TooLarge, Unavailable, UnsupportedMediaType
from ..base.turns import Room
from ..base.values import frozen
from .strict_requests import is_json

FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"


READING_SECONDS = 600

SILENCE_SECONDS = 30
"""A client that sends nothing for longer loses its place."""


@frozen
class SentType:
    media_type: str
    encoding: str


def sent_type(request: Request) -> SentType:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType(
            f"Send the body without a Content-Encoding; found {encoding!r:.50}. Parquet is compressed by "
            "itself."
        )
    return parse_content_type(request.headers.get("content-type", ""))


def parse_content_type(content_type: str) -> SentType:
    """Raises UnsupportedMediaType: JSON is not UTF-8, or its text is in an unknown encoding."""
    sent = Message()
    sent["Content-Type"] = content_type
    (media_type, _), *parameters = sent.get_params([("", "")])
    media_type = media_type.strip().lower()
    charsets = [
        collapse_rfc2231_value(value).strip() for name, value in parameters if name.lower() == "charset"
    ]
    encodings = {find_encoding(charset) for charset in charsets} or {UTF_8}
    encoding = encodings.pop()
    if encoding is None or encodings or (is_json(media_type) and encoding != UTF_8):
        raise UnsupportedMediaType(
            "Send JSON in UTF-8, and CSV in one known encoding; found the charset "
            f"{' and '.join(charsets)!r:.50}."
        )
    return SentType(media_type, encoding)


@asynccontextmanager
async def spooled(request: Request, *, room: Room, actor: str, max_bytes: int) -> AsyncIterator[BinaryIO]:
    """Yields it from its beginning. Raises TooLarge, InvalidInput (never complete), Unavailable."""
    # Chunked bodies are counted as they arrive.
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    with room.place(actor), TemporaryFile() as file:
        received, stream = 0, request.stream()
        try:
            while True:
                # The limit is on silence, not on the whole: a slow line may take an hour.
                async with asyncio.timeout(SILENCE_SECONDS):
                    chunk = await anext(stream, None)
                if chunk is None:
                    break
                received += len(chunk)
                if received > max_bytes:
                    raise _too_large(max_bytes)
                await run_in_threadpool(file.write, chunk)
        except TimeoutError as error:
            raise InvalidInput(
                "body", f"did not arrive: nothing came for {SILENCE_SECONDS} seconds"
            ) from error
        except ClientDisconnect as error:
            raise InvalidInput("body", "did not arrive completely") from error
        except OSError as error:
            raise Unavailable("There is no room on the disk for the upload. Nothing was changed.") from error
        await run_in_threadpool(file.seek, 0)
        yield file


async def read_apart(request: Request, child: Apart) -> Any:  # noqa: ANN401 - of its call
    late = asyncio.get_running_loop().call_later(READING_SECONDS, child.end)
    departure = asyncio.ensure_future(_await_end(request))
    departure.add_done_callback(lambda _: child.end())
    try:
        return await run_in_threadpool(child.result)
    finally:
        late.cancel()
        departure.cancel()


async def _await_end(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"The body is larger than {max_bytes // 2**20} MiB.")
