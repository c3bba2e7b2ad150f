"""CSV as model servers take it: text in quotes, so that "1" and 1 stay apart."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from ..base.errors import InvalidInput, ScoringFailed
from .wire import RowList

_encoder = msgspec.json.Encoder()
_NUMBER_PATTERN = re.compile(r"-?[0-9]+|-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]+)?")
_CELL_PATTERN = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')
_LINE_END = re.compile(r"\r\n|\n|\r|\Z")
_BARE_WORDS = {"": None, "true": True, "false": False}
_MAX_NUMBER_CHARACTERS = 400
_MAX_FAST_NUMBER = 1e17


class CsvUnclear(ValueError):
    """Text that is no CSV, in its `line` (from 1); the message continues a sentence about it."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def write_csv(rows: Iterable[Sequence[Any]]) -> bytes:
    """Null is empty, an array is JSON in quotes. Raises ScoringFailed."""
    row_list = list(rows)
    try:
        body = _encoder.encode_lines(row_list)
        if not _is_foreign(body, len(row_list)):
            # Line breaks in texts are escaped.
            return body[1:-2].replace(b"]\n[", b"\n") + b"\n" if row_list else b""
        written = [
            ",".join(map(_write_cell, row)).encode() if _is_foreign(line, 1) else line[1:-1]
            for row, line in zip(row_list, body.splitlines(), strict=True)
        ]
        return b"".join([line + b"\n" for line in written])
    except UnicodeEncodeError as error:
        raise ScoringFailed(
            "A row to be scored holds text that cannot be written as UTF-8; nothing was sent to the model."
        ) from error


def _is_foreign(lines: bytes, rows: int) -> bool:
    """Whether lines of JSON have cells that CSV writes in another way."""
    # A null may be a number that is not finite.
    return b"\\" in lines or b"null" in lines or b"{" in lines or lines.count(b"[") != rows


def read_csv(text: str) -> Iterator[list[Any]]:
    """Bare numbers and booleans become values, a bare nothing null, a quoted cell text. Raises CsvUnclear."""
    number_rows = _read_numbers(text)
    if number_rows is not None:
        yield from number_rows
        return
    position, line = 0, 1
    while position < len(text):
        row = []
        while True:
            match = _CELL_PATTERN.match(text, position)
            if match is None:  # never: the second alternative matches nothing, too
                raise CsvUnclear(line, "cannot be read")
            row.append(match[1].replace('""', '"') if match[1] is not None else _read_bare(match[2]))
            position = match.end()
            if text[position : position + 1] != ",":
                break
            position += 1
        ending = _LINE_END.match(text, position)
        if ending is None:
            raise CsvUnclear(line, "has a quote where none can be")
        position = ending.end()
        yield row
        line += 1


def _read_numbers(text: str) -> RowList | None:
    """Reads text of nothing but numbers at once, as JSON; None for other text."""
    lines = text.removesuffix("\n")
    # An empty line is a row with a null here.
    if not lines.isascii() or lines.encode().translate(None, b"0123456789.eE+-,\n") or "\n\n" in text:
        return None
    try:
        rows: RowList = msgspec.json.decode("[[" + lines.replace("\n", "],[") + "]]")
    except msgspec.DecodeError:
        return None
    if not all(rows):
        return None
    numbers = list(chain.from_iterable(rows))
    return rows if min(numbers) > -_MAX_FAST_NUMBER and max(numbers) < _MAX_FAST_NUMBER else None


def read_csv_request(body: bytes) -> RowList:
    """Raises InvalidInput."""
    try:
        return list(read_csv(body.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise InvalidInput("body", f"must be text in UTF-8 ({error.reason} at byte {error.start})") from error
    except CsvUnclear as error:
        raise InvalidInput(f"body[{error.line - 1}]", str(error)) from error


def _write_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        if not math.isfinite(cell):
            raise ScoringFailed(
                f"A row to be scored holds {cell}, which CSV cannot carry as a number; nothing was sent to "
                "the model."
            )
        return _encoder.encode(cell).decode()
    if isinstance(cell, int):
        return json.dumps(cell)
    text = cell if isinstance(cell, str) else json.dumps(cell)
    return '"' + text.replace('"', '""') + '"'


def _read_bare(cell: str) -> Any:  # noqa: ANN401 - any scalar
    bare = cell.strip()
    if len(bare) > _MAX_NUMBER_CHARACTERS or not _NUMBER_PATTERN.fullmatch(bare):
        return _BARE_WORDS.get(bare.lower(), bare)
    if bare.removeprefix("-").isdigit():
        return int(bare)
    number = float(bare)
    return number if math.isfinite(number) else bare
