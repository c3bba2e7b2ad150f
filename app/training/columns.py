"""A column of one piece of a file, read as its type."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..domain.deployments import Column, FieldKind, FieldType
from ..domain.values import EXACT, JSON_NUMBER, NUMBER, Scalar, canonical, parse_boolean, show, tidy
from ..errors import FieldProblem, InvalidInput
from ..records.cells import MISSING, Coded, Codes
from .limits import LONGEST_VALUE

Numbers: TypeAlias = npt.NDArray[np.float64]

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


class ValueRefused(ValueError):
    """A value that is not of its column's type; the message says what was expected and found."""


def find_type_problem(name: str, kind: FieldType | None, found: pa.DataType) -> FieldProblem | None:
    """Returns the problem of a typed file's column for a column of the schema (None: for class labels)."""
    held = found.value_type if pa.types.is_dictionary(found) else found
    fits = {
        FieldType.STRING: is_text(held),
        FieldType.BOOLEAN: pa.types.is_boolean(held),
        FieldType.NUMBER: pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held),
    }
    fits[FieldType.INTEGER] = fits[FieldType.NUMBER]
    if pa.types.is_null(held) or (any(fits.values()) if kind is None else fits[kind]):
        return None
    wanted = f"of the type {kind.value} as in the deployment's schema" if kind else "of class labels: text, numbers or true and false"
    return FieldProblem(f"columns.{name}", f"must be {wanted}, found {found}")


def read_categories(name: str, kind: FieldType, array: pa.Array, before: int) -> Coded:
    """Returns a column of text or booleans. `before` rows of the file precede this piece."""
    return _read_coded(name, array, before, _check_text if kind is FieldType.STRING else _read_boolean)


def read_classes(name: str, array: pa.Array, before: int, *, is_typed: bool) -> Coded:
    """Returns a column of class labels; in a file without types, text that is a JSON number is a number."""
    return _read_coded(name, array, before, _read_typed_class if is_typed else _read_class)


def read_numbers(name: str, kind: FieldType, array: pa.Array, before: int) -> pa.Array:
    """Returns a column of numbers: int64 for whole ones, else float64."""
    target = pa.int64() if kind is FieldType.INTEGER else pa.float64()
    plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    try:
        numbers = (pc.utf8_trim_whitespace(plain) if is_text(plain.type) else plain).cast(target)
    except pa.ArrowInvalid:
        # One by one: the error names a faulty value, and `+1` or `3.0` are not faulty.
        return pa.array(_read_all(name, plain, before, _read_whole if kind is FieldType.INTEGER else _read_number), target)
    # The cast lets infinity and NaN through.
    if kind is FieldType.NUMBER and not pc.all(pc.is_finite(numbers)).as_py():
        _read_all(name, plain, before, _read_number)
    return numbers


def as_whole(numbers: pa.Array) -> Codes:
    """Returns whole numbers as int64, exactly; 0 where one is missing."""
    return np.asarray(numbers.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def is_numeric(column: Column) -> bool:
    """Returns whether the column holds numbers, whether or not they are treated as a quantity."""
    return column.type in (FieldType.INTEGER, FieldType.NUMBER)


def is_quantity(column: Column) -> bool:
    return is_numeric(column) and column.kind is FieldKind.NUMERIC


def _read_coded(name: str, array: pa.Array, before: int, check: Callable[[Any], Scalar]) -> Coded:
    """Returns the distinct values as `check` returns them; those of one canonical text are one."""
    plain = array.cast(pa.string()) if pa.types.is_null(array.type) else array
    encoded = plain if pa.types.is_dictionary(plain.type) else plain.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False), dtype=np.int64)
    used = np.unique(codes[codes != MISSING])
    of_code = np.full(len(encoded.dictionary) + 1, MISSING, dtype=np.int64)
    places: dict[str, int] = {}
    values: list[Scalar] = []
    faults: list[tuple[int, str]] = []
    for code, found in zip(used.tolist(), _list_cells(name, encoded.dictionary.take(pa.array(used))), strict=True):
        try:
            value = None if found is None else check(found)
        except ValueRefused as refused:
            faults.append((int(np.argmax(codes == code)), str(refused)))
            continue
        if value is not None:
            of_code[code] = places.setdefault(canonical(value), len(places))
            values += [value] if len(places) > len(values) else []
    if faults:
        # The first row, not the first value of the dictionary.
        row, reason = min(faults)
        raise _build_fault(name, before + row, reason)
    return Coded(values, of_code[codes])


def _list_cells(name: str, array: pa.Array) -> list[Any]:
    try:
        found: list[Any] = array.to_pylist()
    except UnicodeDecodeError as error:
        raise InvalidInput.of(f"columns.{name}", "holds text that is not UTF-8") from error
    return found


def _read_all(name: str, array: pa.Array, before: int, check: Callable[[Any], Scalar]) -> list[Scalar | None]:
    found: list[Scalar | None] = []
    for row, value in enumerate(_list_cells(name, array)):
        try:
            found.append(None if value is None else check(value))
        except ValueRefused as refused:
            raise _build_fault(name, before + row, str(refused)) from refused
    return found


def _build_fault(name: str, row: int, reason: str) -> InvalidInput:
    return InvalidInput.of(f"columns.{name}", f"row {row + 1}: {reason}")


def _check_text(value: str) -> str:
    if "\0" in value:
        raise ValueRefused("must not contain the NUL character")
    return value


def _read_boolean(value: Any) -> bool:  # noqa: ANN401 - text of a text file, or a boolean
    found = parse_boolean(value) if isinstance(value, str) else value
    if found is None:
        raise ValueRefused(f"must be true or false, found {show(value)}")
    return bool(found)


def _read_class(value: str | float | Decimal) -> Scalar:
    return tidy(_read_number(value)) if isinstance(value, str) and JSON_NUMBER.fullmatch(value) else _read_typed_class(value)


def _read_typed_class(value: str | float | Decimal) -> Scalar:
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE:
            raise ValueRefused(f"a class label must have at most {LONGEST_VALUE} characters, found {len(value):,}")
        return _check_text(value)
    return value if isinstance(value, bool) else tidy(_read_number(value))


def _read_whole(value: str | float | Decimal) -> int:
    text = str(value).strip()
    # Not by way of float, which loses digits from 2**53 on.
    number = int(text) if _WHOLE.fullmatch(text) else _read_number(value)
    if isinstance(number, float) and not (number.is_integer() and abs(number) < EXACT):
        raise ValueRefused(f"must be a whole number, found {show(value)}")
    if not -(2**63) <= number < 2**63:
        raise ValueRefused("must be a whole number of at most 64 bits")
    return int(number)


def _read_number(value: str | float | Decimal) -> float:
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        raise ValueRefused(f"must be a number, found {show(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueRefused(f"must be a finite number, found {show(value)}")
    return number


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
