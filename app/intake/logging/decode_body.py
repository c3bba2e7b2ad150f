"""Decoding of a request's bytes as JSON.

Decoders keep the last of two members of one name, and read 1e-400 as 0, so a text that is not strict has more
members than the value.
"""

import json
import re
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ...base.apart import ChildWork
from ...base.errors import InvalidInput, TooLarge, UnsupportedMediaType
from ...base.strict_json import require_strict

MAX_BODY_BYTES = 64 * 1024 * 1024

MAX_CONTAINERS = 1_000_000
"""Max arrays and objects of a body, counted before they are made, as each takes much memory."""

MAX_COMMAS = 10_000_000
"""Max commas of a body, and so about as many values."""

_GZIP = zlib.MAX_WBITS | 16
_MAX_GZIP_MEMBERS = 16
"""Unpacking thousands of empty members of gzip would cost unbounded time."""

INLINE_BYTES = 2 * 1024 * 1024
"""A larger body is read in a thread, and in another process if it unpacks to more."""

_WHITESPACE = b" \t\n\r"
_ZEROS = b"0" * 200
"""A number with fewer zeros in a row and an exponent above -100 is not read as 0."""

_TINY_EXPONENTS = {
    b"e": re.compile(rb"e-0*[1-9][0-9]{2,}[\s,\]}]"),
    b"E": re.compile(rb"E-0*[1-9][0-9]{2,}[\s,\]}]"),
}
"""End of a number that may be read as 0, by letter of the exponent. A UUID may hold `e-412`, too, but not
before what follows a number.

The search for an expression that begins with fixed characters is eight times as fast.
"""

_DECODER = msgspec.json.Decoder()

_T = TypeVar("_T")


def build_size_error() -> TooLarge:
    return TooLarge(
        f"The body is larger than {MAX_BODY_BYTES // 2**20} MiB (after decompression). Send fewer records "
        "at once."
    )


def read_bounded(read: Callable[[int], _T]) -> _T:
    """Calls `read` with the number of bytes that it may unpack: INLINE_BYTES here, and if these are too few,
    MAX_BODY_BYTES in another process.
    """
    try:
        return read(INLINE_BYTES)
    except TooLarge as error:
        if error.args != build_size_error().args:
            raise
        result: _T = ChildWork(read, MAX_BODY_BYTES).result()
        return result


def decompress_body(body: bytes, encoding: str, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """`encoding` is the Content-Encoding, `max_bytes` bounds what is unpacked.

    Raises UnsupportedMediaType, InvalidInput for broken gzip, TooLarge.
    """
    if encoding in ("", "identity"):
        if len(body) > max_bytes:
            raise build_size_error()
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise UnsupportedMediaType("The body may be compressed with gzip only.")
    unpacked: list[bytes] = []
    room = max_bytes + 1
    while body and room > 0:
        if len(unpacked) == _MAX_GZIP_MEMBERS:
            raise InvalidInput("body", f"is gzip of more than {_MAX_GZIP_MEMBERS} members")
        member = zlib.decompressobj(_GZIP)
        try:
            chunk = member.decompress(body, room)
        except zlib.error as error:
            raise InvalidInput("body", "is not gzip, though Content-Encoding says so") from error
        room -= len(chunk)
        unpacked.append(chunk)
        if not member.eof and room > 0:
            raise InvalidInput("body", "is gzip that ends too soon")
        body = member.unused_data
    if room <= 0:
        raise build_size_error()
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


def decode_json(body: bytes) -> Any:  # noqa: ANN401 - any value of JSON
    """Decodes strict JSON; `NaN`, `Infinity` and lone surrogates are let through, to be refused by record.

    Raises InvalidInput.
    """
    try:
        value = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        require_strict(body)
    else:
        limit = _count_quoted_names(body)
        if limit is None or _count_members(value, limit) < limit:
            require_strict(body)
        return value

    # Also reads what Python's writers add: NaN, lone surrogates, a byte order mark.
    try:
        return json.loads(body.decode("utf-8-sig"))
    except RecursionError as error:
        raise InvalidInput("body", "is nested too deeply") from error
    except ValueError as error:
        raise InvalidInput("body", f"is not JSON ({error})") from error


def is_evidently_strict(body: bytes, members: int, times: int) -> bool:
    """Whether a quick look shows that no member was named twice and no number was read as 0.

    `members` were decoded; `times` of their values have two colons or more.
    """
    # A count of one byte takes a third of the time of a count of two. Escapes could hide colons of a time
    # (`12\u003a00`).
    if b"\\" not in body and body.count(b":") == members + 2 * times:
        return not _may_hold_tiny_number(body)
    return _count_quoted_names(body) == members


def _count_quoted_names(body: bytes) -> int | None:
    """Quotes before a colon: members, and lookalikes in texts. None if a number may have been read as 0."""
    return None if _may_hold_tiny_number(body) else body.translate(None, _WHITESPACE).count(b'":')


def _may_hold_tiny_number(body: bytes) -> bool:
    return _ZEROS in body or any(
        letter in body and pattern.search(body) is not None for letter, pattern in _TINY_EXPONENTS.items()
    )


def _count_members(decoded: Any, limit: int) -> int:  # noqa: ANN401 - as above
    """Counts the members of all objects within a value, layer by layer, until there are `limit`."""
    count = 0
    layer = [decoded]
    while layer and count < limit:
        deeper: list[Any] = []
        for node in layer:
            if isinstance(node, dict):
                count += len(node)
                deeper += node.values()
            elif isinstance(node, list):
                deeper += node
        layer = [node for node in deeper if type(node) in (dict, list)]
    return count
