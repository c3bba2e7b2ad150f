"""Strict JSON: anything that it cannot carry is refused, never altered."""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..base.errors import InvalidInput, ScoringFailed
from ..base.values import Scalar

Rows: TypeAlias = Sequence[Sequence[Scalar | None]]
"""Records of one page, in the order of the columns."""

BOM = b"\xef\xbb\xbf"

_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder()

_T = TypeVar("_T")


def encode_rows(document: object, rows: Rows, *, is_plain: bool = False) -> bytes:
    """Returns `document` with its `rows` as bytes; `is_plain`: only finite numbers. Raises ScoringFailed."""
    return _encode(_encoder.encode, document, () if is_plain else rows)


def encode_row_lines(documents: Sequence[object], rows: Rows) -> bytes:
    """Returns a line for each document of one row. Raises ScoringFailed."""
    return _encode(_encoder.encode_lines, documents, rows)


def _encode(encode: Callable[[Any], bytes], document: object, rows: Rows) -> bytes:
    try:
        body = encode(document)
    except UnicodeEncodeError as error:
        raise ScoringFailed("A row to be scored holds text that cannot be written as UTF-8; nothing was sent to the model.") from error
    # msgspec writes NaN as null, which would send a missing cell instead.
    if rows and b"null" in body:
        for index, row in enumerate(rows):
            for cell in row:
                if isinstance(cell, float) and not math.isfinite(cell):
                    raise ScoringFailed(f"Row {index + 1} of a page holds {cell}, which JSON cannot carry; nothing was sent to the model.")
    return body


def decode_answer(body: bytes, shape: type[_T], *, expected: str) -> _T:
    """Returns the answer as `shape`; `expected` names that in words. Raises ScoringFailed."""
    # Some servers send a byte order mark, which JSON forbids.
    text = body.removeprefix(BOM)
    try:
        return msgspec.convert(_decode_json(text), shape) if _holds_non_finite(text) else msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "").replace("$", "the answer")
        raise ScoringFailed(f"The model's endpoint did not answer {expected}: {reason}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScoringFailed(_describe_broken_json(body, str(error))) from error
    except RecursionError as error:
        raise ScoringFailed("The model's endpoint answered JSON that is nested too deeply to read.") from error


def decode_text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScoringFailed(f"The model's endpoint did not answer text in UTF-8 ({error.reason} at byte {error.start}).") from error


def decode_lines(body: bytes) -> list[Any]:
    """Returns the values of JSON lines; empty lines are ignored. Raises ScoringFailed."""
    text = body.removeprefix(BOM)
    try:
        values = _decoder.decode_lines(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        values = []
    # msgspec takes several values in one line, and one in several.
    if values and len(values) == text.count(b"\n") + (not text.endswith(b"\n")):
        return values
    return [decode_answer(line, object, expected="a line of JSON") for line in text.splitlines() if line.strip()]


def decode_request(body: bytes) -> Any:  # noqa: ANN401 - any value of JSON
    """Returns a request's JSON, or raises InvalidInput."""
    try:
        return _decode_json(body.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput.of("body", f"must be JSON ({error})") from error
    except RecursionError as error:
        raise InvalidInput.of("body", "is nested too deeply to read") from error


def _decode_json(text: bytes) -> Any:  # noqa: ANN401 - as above
    """Also reads NaN and infinities, which Python writes."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        if _holds_non_finite(text):
            with suppress(ValueError):
                return json.loads(text)
        raise


def _holds_non_finite(text: bytes) -> bool:
    return b"NaN" in text or b"Infinity" in text


def _describe_broken_json(body: bytes, reason: str) -> str:
    if not body:
        return "The model's endpoint answered without a body where JSON was expected."
    return f"The model's endpoint did not answer JSON ({reason})."
