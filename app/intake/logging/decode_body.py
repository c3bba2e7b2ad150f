"""Decoding of a request's bytes as JSON."""

import json
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ...base.apart import Apart
from ...base.errors import InvalidInput, TooLarge, UnsupportedMediaType
from ...base.strict_json import require_strict
from .ingest_plan import MAX_BODY_BYTES, MAX_COMMAS, MAX_CONTAINERS
from .strict_body import require_strict_body

_GZIP = zlib.MAX_WBITS | 16
_MOST_MEMBERS = 16
"""Unpacking thousands of empty members of gzip would cost unbounded time."""

INLINE_BYTES = 2 * 1024 * 1024
"""Larger bodies are read in a child process."""

_DECODER = msgspec.json.Decoder()

_T = TypeVar("_T")


def too_large() -> TooLarge:
    return TooLarge(
        f"The body is larger than {MAX_BODY_BYTES // 2**20} MiB (after decompression). Send fewer records "
        "at once."
    )


def read_bounded(read: Callable[[int], _T]) -> _T:
    """Returns what `read` makes of a body that may have so many bytes. A large one is read in a child
    process.
    """
    try:
        return read(INLINE_BYTES)
    except TooLarge as error:
        if error.args != too_large().args:
            raise
        result: _T = Apart(read, MAX_BODY_BYTES).result()
        return result


def decompressed(body: bytes, encoding: str, most_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Body without its Content-Encoding; never unpacks more than `most_bytes`.

    Raises:
        UnsupportedMediaType: an encoding other than gzip.
        InvalidInput: it is not gzip, or ends too soon.
        TooLarge: it holds more.
    """
    if encoding in ("", "identity"):
        if len(body) > most_bytes:
            raise too_large()
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise UnsupportedMediaType("The body may be compressed with gzip only.")
    unpacked: list[bytes] = []
    room = most_bytes + 1
    while body and room > 0:
        if len(unpacked) == _MOST_MEMBERS:
            raise InvalidInput.of("body", f"is gzip of more than {_MOST_MEMBERS} members")
        member = zlib.decompressobj(_GZIP)
        try:
            chunk = member.decompress(body, room)
        except zlib.error as error:
            raise InvalidInput.of("body", "is not gzip, though Content-Encoding says so") from error
        room -= len(chunk)
        unpacked.append(chunk)
        if not member.eof and room > 0:
            raise InvalidInput.of("body", "is gzip that ends too soon")
        body = member.unused_data
    if room <= 0:
        raise too_large()
    return b"".join(unpacked)


def require_decodable(body: bytes) -> None:
    """Refuses JSON that would decode into far more memory than honest records."""
    if body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        raise TooLarge(
            f"The body holds more than {MAX_CONTAINERS:,} arrays and objects (`[` and `{{`). Send fewer "
            "records at once."
        )
    if body.count(b",") > MAX_COMMAS:
        raise TooLarge(
            f"The body holds more than {MAX_COMMAS:,} values (commas). Send fewer records at once."
        )


def decoded_json(body: bytes) -> Any:  # noqa: ANN401 - any value of JSON
    """`NaN`, `Infinity` and lone surrogates are let through, to be refused record by record."""
    try:
        value = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        require_strict(body)
    else:
        require_strict_body(body, value)
        return value

    # Also reads what Python's writers add: NaN, lone surrogates, a byte order mark.
    try:
        return json.loads(body.decode("utf-8-sig"))
    except RecursionError as error:
        raise InvalidInput.of("body", "is nested too deeply") from error
    except ValueError as error:
        raise InvalidInput.of("body", f"is not JSON ({error})") from error
