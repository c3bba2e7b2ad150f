"""JSON to and from bytes, strict both ways: what JSON cannot carry is refused, never bent. Knows no payload format."""

import math
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import msgspec

from app.domain.values import Scalar
from app.errors import ScoringFailed

Rows: TypeAlias = Sequence[Sequence[Scalar | None]]
"""Records of one page, each in the order of the columns; plain Python values, None for a missing cell."""

_BOM = b"\xef\xbb\xbf"

_T = TypeVar("_T")


def encode_rows(document: object, rows: Rows) -> bytes:
    """The bytes of `document`, which holds `rows`.

    Raises:
        ScoringFailed: a cell is not finite, or text that UTF-8 cannot carry.
    """
    try:
        body = msgspec.json.encode(document)
    except UnicodeEncodeError as error:
        raise ScoringFailed("A row to be scored holds text that cannot be written as UTF-8; nothing was sent to the model.") from error
    # msgspec writes NaN and the infinities as null, which would ask the model about a missing cell instead.
    if b"null" in body:
        _refuse_non_finite(rows)
    return body


def decode_answer(body: bytes, shape: type[_T], *, expected: str) -> _T:
    """The model's answer as `shape`; `expected` says in words what should have come. A leading byte order mark is passed over.

    Raises:
        ScoringFailed: not JSON, not of that shape, or a number that is not finite.
    """
    try:
        return msgspec.json.decode(body.removeprefix(_BOM), type=shape)
    except msgspec.ValidationError as error:
        raise ScoringFailed(f"The model's endpoint did not answer {expected}: {_plain(error)}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScoringFailed(_not_json(body, str(error))) from error
    except RecursionError as error:
        raise ScoringFailed("The model's endpoint answered JSON that is nested too deeply to read.") from error


def _refuse_non_finite(rows: Rows) -> None:
    for index, row in enumerate(rows):
        for cell in row:
            if isinstance(cell, float) and not math.isfinite(cell):
                raise ScoringFailed(f"Row {index + 1} of a page holds {cell}, which JSON cannot carry; nothing was sent to the model.")


def _plain(error: msgspec.ValidationError) -> str:
    return str(error).replace("`", "").replace("$", "the answer")


def _not_json(body: bytes, reason: str) -> str:
    if not body:
        return "The model's endpoint answered without a body where JSON was expected."
    if body.lstrip()[:1] in {b"{", b"["} and any(word in body for word in (b"NaN", b"Infinity")):
        return "The model's endpoint answered NaN or Infinity, which is neither JSON nor a usable prediction."
    return f"The model's endpoint did not answer JSON ({reason})."
