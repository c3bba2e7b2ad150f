"""Strict JSON (what it cannot carry is refused, never altered), and tables of rows in it."""

import json
import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from ..base.errors import FieldProblem, InvalidInput, ScoringFailed, refuse
from ..base.strict_json import JsonObject
from ..base.values import frozen, printable

Names = Sequence[str]

Rows = Sequence[Sequence[Any]]

RowList = list[list[Any]]

BOM = b"\xef\xbb\xbf"

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

_T = TypeVar("_T")


def encode_rows(document: Any, rows: Rows, *, is_lines: bool = False) -> bytes:  # noqa: ANN401 - any value of JSON
    """With `is_lines`, one for each element. Raises ScoringFailed for a cell that JSON cannot carry."""
    try:
        body = _encoder.encode_lines(document) if is_lines else _encoder.encode(document)
    except UnicodeEncodeError as error:
        raise ScoringFailed(
            "A row to be scored holds text that cannot be written as UTF-8; nothing was sent to the model."
        ) from error
    # msgspec writes NaN as null, which would send a missing cell instead.
    if b"null" in body:
        for index, row in enumerate(rows):
            for cell in row:
                if isinstance(cell, float) and not math.isfinite(cell):
                    raise ScoringFailed(
                        f"Row {index + 1} of a page holds {cell}, which JSON cannot carry; nothing was sent "
                        "to the model."
                    )
    return body


def decode_answer(body: bytes, shape: type[_T], *, expected: str) -> _T:
    """`expected` names the shape in words. Raises ScoringFailed."""
    # Some servers send a byte order mark, which JSON forbids.
    text = body.removeprefix(BOM)
    try:
        return (
            msgspec.convert(_decode_json(text), shape)
            if _holds_non_finite(text)
            else msgspec.json.decode(text, type=shape)
        )
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "").replace("$", "the answer")
        raise ScoringFailed(f"The model's endpoint did not answer {expected}: {reason}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not body:
            raise ScoringFailed(
                "The model's endpoint answered without a body where JSON was expected."
            ) from error
        raise ScoringFailed(f"The model's endpoint did not answer JSON ({error}).") from error
    except RecursionError as error:
        raise ScoringFailed(
            "The model's endpoint answered JSON that is nested too deeply to read."
        ) from error


def decode_text(body: bytes) -> str:
    """Raises ScoringFailed."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScoringFailed(
            f"The model's endpoint did not answer text in UTF-8 ({error.reason} at byte {error.start})."
        ) from error


def decode_lines(body: bytes) -> list[Any]:
    """Empty lines are ignored. Raises ScoringFailed."""
    return [
        decode_answer(line, object, expected="a line of JSON")
        for line in body.removeprefix(BOM).splitlines()
        if line.strip()
    ]


def decode_request(body: bytes) -> Any:  # noqa: ANN401 - any value of JSON
    """Raises InvalidInput."""
    try:
        return _decode_json(body.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("body", f"must be JSON ({error})") from error
    except RecursionError as error:
        raise InvalidInput("body", "is nested too deeply to read") from error


def decode_object(body: bytes) -> JsonObject:
    return require_object(decode_request(body), "body")


def _decode_json(text: bytes) -> Any:  # noqa: ANN401 - as above
    """Decodes JSON, also with NaN and infinities, which Python writes."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        if _holds_non_finite(text):
            with suppress(ValueError):
                return json.loads(text)
        raise


def _holds_non_finite(text: bytes) -> bool:
    return b"NaN" in text or b"Infinity" in text


_MAX_PROBLEMS = 100


@frozen
class Table:
    """Rows and the names of their columns, with the places of both in the body."""

    fields_path: str
    values_path: str
    fields: list[str]
    values: RowList


def read_table(document: object, path: str, *, fields: str = "fields", values: str = "values") -> Table:
    """Raises InvalidInput."""
    table = read_repeating_table(document, path, fields=fields, values=values)
    if len(set(table.fields)) < len(table.fields):
        index = next(index for index, name in enumerate(table.fields) if name in table.fields[:index])
        raise InvalidInput(
            f"{table.fields_path}[{index}]", f"names the column '{table.fields[index]}' a second time"
        )
    return table


def read_repeating_table(
    document: object, path: str, *, fields: str = "fields", values: str = "values"
) -> Table:
    """Raises InvalidInput."""
    members = require_object(document, path)
    names = members.get(fields)
    rows = members.get(values)
    fields_path = join_path(path, fields)
    values_path = join_path(path, values)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(fields_path, f"must be an array of column names, found {name_kind(names)}")
    if not isinstance(rows, list):
        raise InvalidInput(values_path, f"must be an array of rows, found {name_kind(rows)}")
    width = len(names)
    problems = [
        FieldProblem(
            f"{values_path}[{index}]",
            f"has {len(row)} values for {width} fields"
            if isinstance(row, list)
            else f"must be an array, found {name_kind(row)}",
        )
        for index, row in enumerate(rows)
        if not isinstance(row, list) or len(row) != width
    ]
    refuse(problems[:_MAX_PROBLEMS])
    return Table(fields_path, values_path, names, rows)


def read_matrix(rows: object, path: str, columns: Names) -> Table:
    return read_repeating_table({"columns": list(columns), path: rows}, "", fields="columns", values=path)


def is_by_column(document: object) -> bool:
    """True of an object that has an array of cells for each column."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(cells, list) for cells in document.values())
    )


def read_by_column(document: object, path: str) -> Table:
    members = require_object(document, path)
    first: Any = next(iter(members.values()), [])
    for name, cells in members.items():
        cells_path = join_path(path, printable(name))
        if not isinstance(cells, list):
            raise InvalidInput(cells_path, f"must be an array of values, found {name_kind(cells)}")
        if len(cells) != len(first):
            raise InvalidInput(cells_path, f"has {len(cells)} values where the first column has {len(first)}")
    return Table(path, path, list(members), list(map(list, zip(*members.values(), strict=True))))


def require_length(table: Table, request: Table) -> None:
    if len(table.values) != len(request.values):
        raise InvalidInput(
            table.values_path,
            f"has {len(table.values)} rows where {request.values_path} has {len(request.values)}",
        )


def require_members(document: JsonObject, path: str, allowed: Collection[str], *, next_to: str) -> None:
    """Raises InvalidInput for an unknown member, as a misspelt `meta`; `next_to` is for the message."""
    unknown = sorted(document.keys() - set(allowed))
    if unknown:
        raise InvalidInput(
            join_path(path, printable(unknown[0])), f"is not a member that is known next to {next_to}"
        )


def require_object(document: object, path: str) -> JsonObject:
    if not isinstance(document, dict):
        raise InvalidInput(path, f"must be an object, found {name_kind(document)}")
    return document


def join_path(path: str, member: str) -> str:
    return f"{path}.{member}" if path else member


def name_kind(value: object) -> str:
    if value is None:
        return "nothing"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "text",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)
