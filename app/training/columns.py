"""A column of one piece of a file, read as its type."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..domain.cells import CHECKS, CellRefused, parse_label, parse_text, scalar
from ..domain.deployments import Column, FieldKind, FieldType
from ..domain.values import Scalar, canonical
from ..errors import FieldProblem, InvalidInput
from ..records.cells import MISSING, Coded, Codes
from .limits import LONGEST_VALUE

Numbers: TypeAlias = npt.NDArray[np.float64]


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
    return _read_coded(name, array, before, CHECKS[kind] if kind is FieldType.STRING else _read_as(kind))


def read_classes(name: str, array: pa.Array, before: int, *, is_typed: bool) -> Coded:
    """Returns a column of class labels; in a file without types, text that is a JSON number is a number."""

    def check(value: Any) -> Scalar:  # noqa: ANN401 - any cell
        found = scalar(parse_label(str(value), is_text=False) if isinstance(value, Decimal) or not is_typed else value)
        if isinstance(found, str) and len(found) > LONGEST_VALUE:
            raise CellRefused(f"must have at most {LONGEST_VALUE} characters as a class label, found {len(found):,}")
        return found

    return _read_coded(name, array, before, check)


def read_numbers(name: str, kind: FieldType, array: pa.Array, before: int) -> pa.Array:
    """Returns a column of numbers: int64 for whole ones, else float64."""
    target = pa.int64() if kind is FieldType.INTEGER else pa.float64()
    plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    try:
        numbers = (pc.utf8_trim_whitespace(plain) if is_text(plain.type) else plain).cast(target)
    except pa.ArrowInvalid:
        # One by one: the error names a faulty value, and `+1` or `3.0` are not faulty.
        return pa.array(_read_all(name, plain, before, _read_as(kind)), target)
    # The cast lets infinity and NaN through.
    if kind is FieldType.NUMBER and not pc.all(pc.is_finite(numbers)).as_py():
        _read_all(name, plain, before, _read_as(kind))
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
        except CellRefused as refused:
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
        except CellRefused as refused:
            raise _build_fault(name, before + row, str(refused)) from refused
    return found


def _build_fault(name: str, row: int, reason: str) -> InvalidInput:
    return InvalidInput.of(f"columns.{name}", f"row {row + 1}: {reason}")


def _read_as(kind: FieldType) -> Callable[[Any], Scalar]:
    """Returns the reader of values of a kind, or of their texts."""
    return lambda value: CHECKS[kind](parse_text(str(value), kind) if isinstance(value, str | Decimal) else value)


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
