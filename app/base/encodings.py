"""Text files in UTF-8 or in an encoding that somebody named."""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from .errors import InvalidInput

UTF_8 = "utf-8"

# Not every codec: some are no encodings of files, and two take quadratic time.
_FILE_CODECS = re.compile(
    r"ascii|big5.*|cp\d+|euc_.*|gb.*|iso8859-\d+|koi8-.|mac-.*|shift_jis.*|utf-(8|16|32).*"
)


def find_encoding(name: str) -> str | None:
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if codec == "utf-8-sig":
        return UTF_8
    return codec if _FILE_CODECS.fullmatch(codec) else None


def decode_parts(chunks: Iterable[bytes], encoding: str, field: str) -> Iterator[str]:
    """Drops the byte order mark. Raises InvalidInput of `field` for bytes of another encoding."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == UTF_8 else encoding)()
    offset, line, guess = 0, 1, "latin-1"
    for chunk in chain(chunks, (b"",)):
        if offset == 0 and (chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in chunk[:2]):
            guess = "utf-16-le" if b"\0" in chunk[:2] else "utf-16"
        try:
            text = _decode(decoder, chunk, is_first=offset == 0)
        except UnicodeError as error:
            place = "the beginning"
            if isinstance(error, UnicodeDecodeError):
                # The decoder may have kept bytes of the part before.
                place = locate_fault(error, offset + len(chunk) - len(error.object), line)
            raise InvalidInput(
                field,
                f"{place} is not {encoding.upper()}. Name the encoding that it has: --encoding {guess}, for "
                f"example, or at an upload charset={guess} in the content type",
            ) from None
        offset += len(chunk)
        line += text.count("\n")
        yield text


def locate_fault(error: UnicodeDecodeError, offset: int = 0, line: int = 1) -> str:
    line += error.object[: error.start].decode(error.encoding, "replace").count("\n")
    return f"byte {error.object[error.start]:02X} at offset {offset + error.start:,} (line {line:,})"


def _decode(decoder: codecs.IncrementalDecoder, chunk: bytes, *, is_first: bool) -> str:
    text = decoder.decode(chunk, final=not chunk)
    if is_first and "\0" in text[:4]:
        # UTF-16 read as single bytes, or as UTF-8 without a byte order mark.
        raise UnicodeDecodeError("latin-1", chunk, chunk.index(0), len(chunk), "NUL")
    return text
