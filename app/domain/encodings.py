"""Text files in UTF-8 or in an encoding that somebody named."""

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from ..errors import InvalidInput

UTF_8 = "utf-8"

_READ_BYTES = 2**16
# Not every codec: some are no encodings of files, and two take quadratic time.
_OF_FILES = re.compile(r"ascii|big5.*|cp\d+|euc_.*|gb.*|iso8859-\d+|koi8-.|mac-.*|shift_jis.*|utf-(8|16|32).*")
_UTF_16_STARTS = {b"\xff\xfe|\xfe\xff": "utf-16", b"[^\0]\0": "utf-16-le", b"\0[^\0]": "utf-16-be"}


def find_encoding(name: str) -> str | None:
    """Returns Python's name of an encoding of text files; None if it is unknown."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return UTF_8 if found == "utf-8-sig" else found if _OF_FILES.fullmatch(found) else None


def decode_parts(parts: Iterable[bytes], encoding: str, place: str) -> Iterator[str]:
    """Yields the text of each part of a file, without a byte order mark.

    Raises:
        InvalidInput: the bytes are of another encoding; `place` is the field.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == UTF_8 else encoding)()
    offset, line, guess = 0, 1, "latin-1" if encoding == UTF_8 else UTF_8

    def refuse(error: UnicodeDecodeError) -> InvalidInput:
        # The decoder may have kept bytes of the part before.
        where = locate_fault(error, offset + len(part) - len(error.object), line)
        hint = f"Name the encoding that it has: --encoding {guess}, for example, or at an upload charset={guess} in the content type"
        return InvalidInput.of(place, f"{where}, is not {encoding.upper()}. {hint}")

    for part in chain(parts, (b"",)):
        if offset == 0:
            guess = next((name for start, name in _UTF_16_STARTS.items() if re.match(start, part)), guess)
        try:
            text = decoder.decode(part, final=not part)
        except UnicodeDecodeError as error:
            raise refuse(error) from None
        except UnicodeError:  # UTF-16 without a byte order mark, which says how to read it
            raise refuse(UnicodeDecodeError(encoding, part, 0, len(part), "")) from None
        if offset == 0 and "\0" in text[:4]:
            # UTF-16 read as single bytes, or as UTF-8 without a byte order mark.
            raise refuse(UnicodeDecodeError(encoding, part, part.index(0), len(part), ""))
        offset += len(part)
        line += text.count("\n")
        yield text


def locate_fault(error: UnicodeDecodeError, offset: int = 0, line: int = 1) -> str:
    """Returns the byte that could not be decoded and its place; its text begins at that offset and line of the file."""
    line += error.object[: error.start].decode(error.encoding, "replace").count("\n")
    return f"byte {error.object[error.start]:02X} at offset {offset + error.start:,}, line {line:,}"


class Recoded(io.RawIOBase):
    """The text of a file in UTF-8, from its beginning; the file stays open. Reading raises as `decode_parts`."""

    def __init__(self, file: BinaryIO, encoding: str, place: str) -> None:
        super().__init__()
        file.seek(0)
        self._texts = decode_parts(iter(partial(file.read, _READ_BYTES), b""), encoding, place)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any buffer
        while not self._rest and (text := next(self._texts, None)) is not None:
            self._rest = memoryview(text.encode())
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def recode(file: BinaryIO, encoding: str, place: str) -> BinaryIO:
    """Returns the text of a file in UTF-8, to be read once."""
    return io.BufferedReader(Recoded(file, encoding, place))
