"""A column of one piece of a file, read as its type: its values, or the row that holds another."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from app.domain.deployments import Column, FieldKind, FieldType
from app.domain.values import Scalar, canonical
from app.errors import FieldProblem, InvalidInput
from app.training.labels import boolean_of
from app.training.limits import LONGEST_VALUE

Codes: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.float64]

MISSING = -1
"""The code of a record without a value."""

EXACT = 2**53
"""From here on double precision no longer holds every whole number."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SHOWN = 60


class Refused(ValueError):
    """A value that is not of its column's type; the message says what was expected and found."""


@dataclass(frozen=True, slots=True)
class Coded:
    """The distinct values of a piece, and per row the position of its value or MISSING."""

    values: Sequence[Scalar]
    codes: Codes


def type_problem(name: str, kind: FieldType | None, found: pa.DataType) -> FieldProblem | None:
    """What is wrong with a typed file's column for a column of the schema (None: for class labels); None if nothing."""
    held = found.value_type if pa.types.is_dictionary(found) else found
    fitting = {FieldType.STRING: _is_text, FieldType.BOOLEAN: pa.types.is_boolean, None: _is_class}.get(kind, _is_number)
    if fitting(held) or pa.types.is_null(held):
        return None
    wanted = f"of the type {kind.value} as in the deployment's schema" if kind else "of class labels: text, numbers or true and false"
    return FieldProblem(f"columns.{name}", f"must be {wanted}, found {found}")


def read_categories(name: str, kind: FieldType, array: pa.Array, before: int) -> Coded:
    """A column of text or booleans. `before` rows of the file stand above this piece.

    Raises:
        InvalidInput: a value is of another type; names the first such row.
    """
    return _checked(name, array, before, _text if kind is FieldType.STRING else _boolean)


def read_classes(name: str, array: pa.Array, before: int, *, is_typed: bool) -> Coded:
    """A column of class labels: text, numbers or booleans; in a file without types, text that spells a number as JSON does is one.

    Raises:
        InvalidInput: a value is too long or no finite number; names the first such row.
    """
    return _checked(name, array, before, _typed_class if is_typed else _class)


def read_numbers(name: str, kind: FieldType, array: pa.Array, before: int) -> pa.Array:
    """A column of numbers: int64 for whole ones, else float64.

    Raises:
        InvalidInput: a value is no finite number, or not whole; names the first such row.
    """
    target = pa.int64() if kind is FieldType.INTEGER else pa.float64()
    plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    try:
        numbers = (pc.utf8_trim_whitespace(plain) if _is_text(plain.type) else plain).cast(target)
    except pa.ArrowInvalid:
        # One by one: a fault is to be named, and `+1` or `3.0` are none.
        return pa.array(_read_all(name, plain, before, _whole if kind is FieldType.INTEGER else _number), target)
    if kind is FieldType.NUMBER and not pc.all(pc.is_finite(numbers)).as_py():
        _read_all(name, plain, before, _number)
    return numbers


def coded_numbers(numbers: pa.Array) -> Coded:
    """The distinct numbers of a piece."""
    encoded = numbers.dictionary_encode()
    codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
    return Coded(encoded.dictionary.to_pylist(), np.asarray(codes, dtype=np.int64))


def as_floats(numbers: pa.Array) -> Numbers:
    """The numbers as float64, NaN where one is missing."""
    return np.asarray(numbers.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(zero_copy_only=False), dtype=np.float64)


def as_whole(numbers: pa.Array) -> Codes:
    """Whole numbers as int64, exactly; 0 where one is missing."""
    return np.asarray(numbers.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def is_numeric(column: Column) -> bool:
    """Whether the column holds numbers, whether or not they are treated as a quantity."""
    return column.type in (FieldType.INTEGER, FieldType.NUMBER)


def is_quantity(column: Column) -> bool:
    """Whether the column may be divided into intervals."""
    return is_numeric(column) and column.kind is FieldKind.NUMERIC


def _checked(name: str, array: pa.Array, before: int, check: Callable[[Any], Scalar]) -> Coded:
    """The distinct values as `check` gives them; those of one canonical text are one."""
    plain = array.cast(pa.string()) if pa.types.is_null(array.type) else array
    encoded = plain if pa.types.is_dictionary(plain.type) else plain.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False), dtype=np.int64)
    # A file's dictionary may hold what none of its rows has.
    used = np.unique(codes[codes != MISSING])
    of_code = np.full(len(encoded.dictionary) + 1, MISSING, dtype=np.int64)
    places: dict[str, int] = {}
    values: list[Scalar] = []
    faults: list[tuple[int, str]] = []
    for code, found in zip(used.tolist(), _listed(name, encoded.dictionary.take(pa.array(used))), strict=True):
        try:
            value = None if found is None else check(found)
        except Refused as refused:
            faults.append((int(np.argmax(codes == code)), str(refused)))
            continue
        if value is not None:
            of_code[code] = places.setdefault(canonical(value), len(places))
            values += [value] if len(places) > len(values) else []
    if faults:
        row, reason = min(faults)
        raise _fault(name, before + row, reason)
    return Coded(values, of_code[codes])


def _listed(name: str, array: pa.Array) -> list[Any]:
    try:
        found: list[Any] = array.to_pylist()
    except UnicodeDecodeError as error:
        raise InvalidInput.of(f"columns.{name}", "holds text that is not UTF-8") from error
    return found


def _read_all(name: str, array: pa.Array, before: int, check: Callable[[Any], Scalar]) -> list[Scalar | None]:
    found: list[Scalar | None] = []
    for row, value in enumerate(_listed(name, array)):
        try:
            found.append(None if value is None else check(value))
        except Refused as refused:
            raise _fault(name, before + row, str(refused)) from refused
    return found


def _fault(name: str, row: int, reason: str) -> InvalidInput:
    return InvalidInput.of(f"columns.{name}", f"row {row + 1}: {reason}")


def _text(value: str) -> str:
    if "\0" in value:
        raise Refused("must not contain the NUL character")
    return value


def _boolean(value: Any) -> bool:  # noqa: ANN401 - text of a text file, or a boolean
    found = boolean_of(value) if isinstance(value, str) else value
    if found is None:
        raise Refused(f"must be true or false, found {_shown(value)}")
    return bool(found)


def _class(value: str | float | Decimal) -> Scalar:
    return _tidy(_number(value)) if isinstance(value, str) and _JSON_NUMBER.fullmatch(value) else _typed_class(value)


def _typed_class(value: str | float | Decimal) -> Scalar:
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE:
            raise Refused(f"a class label must have at most {LONGEST_VALUE} characters, found {len(value):,}")
        return _text(value)
    return value if isinstance(value, bool) else _tidy(_number(value))


def _whole(value: str | float | Decimal) -> int:
    text = str(value).strip()
    number = int(text) if _WHOLE.fullmatch(text) else _number(value)
    if isinstance(number, float) and not (number.is_integer() and abs(number) < EXACT):
        raise Refused(f"must be a whole number, found {_shown(value)}")
    if not -(2**63) <= number < 2**63:
        raise Refused("must be a whole number of at most 64 bits")
    return int(number)


def _number(value: str | float | Decimal) -> float:
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        raise Refused(f"must be a number, found {_shown(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise Refused(f"must be a finite number, found {_shown(value)}")
    return number


def _tidy(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) < EXACT else number


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_class(kind: pa.DataType) -> bool:
    return _is_text(kind) or _is_number(kind) or bool(pa.types.is_boolean(kind))
