"""Columns of files in the form in which Evenhand stores values; and equal rows merged."""

from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...base.errors import InvalidInput
from ...base.values import Scalar, canonical, normalised
from ...domain.deployment import Column, FieldKind, FieldType
from ...statistics.group_labels import IntArray
from ..arrays.favourable_scores import format_value, is_number_type, is_text_type, spell_each

ARROW_TYPES = {
    FieldType.STRING: "string",
    FieldType.INTEGER: "int64",
    FieldType.NUMBER: "float64",
    FieldType.BOOLEAN: "bool",
}


def cast_column(values: pa.ChunkedArray, column: Column) -> pa.Array:
    """NaN becomes a missing value. Raises InvalidInput of other types."""
    array = _decode_dictionary(values)
    source = array.type
    # Arrow would turn "12" into a number and 12 into a text; ingestion accepts neither.
    fits = {
        FieldType.STRING: is_text_type(source),
        FieldType.INTEGER: is_number_type(source),
        FieldType.NUMBER: is_number_type(source) or pa.types.is_decimal(source),
        FieldType.BOOLEAN: pa.types.is_boolean(source),
    }[column.type]
    fits = fits or (column.type is FieldType.BOOLEAN and _is_zero_or_one(array))
    if not fits and not pa.types.is_null(source):
        raise InvalidInput(
            "payload", f"column {column.name} must hold {column.type.value} values, found {source}"
        )
    try:
        return _drop_nan(array).cast(ARROW_TYPES[column.type])
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            "payload", f"column {column.name} must hold {column.type.value} values: {error}"
        ) from error


def _is_zero_or_one(array: pa.Array) -> bool:
    if not pa.types.is_integer(array.type):
        return False
    bounds = pc.min_max(array).as_py()
    return bounds["min"] is None or (bounds["min"] >= 0 and bounds["max"] <= 1)


def stored_values(values: pa.ChunkedArray, column: Column, *, coded: bool = False) -> pa.Array:
    if coded:
        codes = as_array(values)
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        texts = stored_values(pa.chunked_array([codes.dictionary]), column)
        return pa.DictionaryArray.from_arrays(codes.indices, texts)
    typed = cast_column(values, column)
    if column.kind is FieldKind.NUMERIC:
        return typed
    return spell_each(typed, canonical) if pa.types.is_floating(typed.type) else typed.cast("string")


def json_texts(values: pa.ChunkedArray) -> pa.Array:
    """Null where a value is missing or NaN."""
    return json_codes(values).dictionary_decode()


def json_codes(values: pa.ChunkedArray) -> pa.DictionaryArray:
    array = as_array(values)
    codes = array if pa.types.is_dictionary(array.type) else _drop_nan(array).dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, _write_json(codes.dictionary))


def text_codes(values: pa.ChunkedArray, absent: str) -> pa.DictionaryArray:
    codes = as_array(values)
    if pa.types.is_dictionary(codes.type) and not codes.null_count:
        return pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast("string"))
    return pc.coalesce(
        _decode_dictionary(values).cast("string"), pa.scalar(absent, "string")
    ).dictionary_encode()


def _write_json(array: pa.Array) -> pa.Array:
    array = _drop_nan(array)
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
        return array.cast("string")
    if pa.types.is_decimal(kind):
        return _write_json(array.cast("float64"))
    if pa.types.is_floating(kind) or is_text_type(kind):
        return pa.array(
            [None if value is None else format_value(value) for value in array.to_pylist()], "string"
        )
    raise InvalidInput("payload", f"predictions and labels must be text, numbers or booleans, found {kind}")


def probability_texts(values: pa.ChunkedArray) -> pa.Array:
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.array(
            [
                None if probability is None else f"[{', '.join(map(repr, probability))}]"
                for probability in values.to_pylist()
            ],
            "string",
        )
    if not is_number_type(kind):
        raise InvalidInput("payload", f"probabilities must be numbers or lists of numbers, found {kind}")
    return spell_each(_drop_nan(_decode_dictionary(values)).cast("float64"), repr)


MAX_ROW_KINDS = 2**20


def merge_equal_rows(rows: pa.Table) -> tuple[pa.Table, IntArray]:
    """Returns also the records of each [rows]. Does not merge where there could be more than `MAX_ROW_KINDS`."""
    coded = [as_array(column) for column in rows.columns]
    sizes = [len(column.dictionary) + 1 for column in coded]
    if prod(sizes) > MAX_ROW_KINDS:
        decoded = [column.dictionary_decode() for column in coded]
        return pa.table(decoded, rows.column_names), np.ones(rows.num_rows, np.int64)
    # A missing value has the last place.
    codes = [
        column.indices.fill_null(size - 1).to_numpy(zero_copy_only=False)
        for column, size in zip(coded, sizes, strict=True)
    ]
    counts = np.bincount(np.ravel_multi_index(codes, sizes))
    kinds = np.flatnonzero(counts)
    decoded = [
        column.dictionary.take(pa.array(code, mask=code == size - 1))
        for column, size, code in zip(coded, sizes, np.unravel_index(kinds, sizes), strict=True)
    ]
    return pa.table(decoded, rows.column_names), counts[kinds].astype(np.int64)


def read_cells(values: pa.ChunkedArray, column: Column) -> list[Scalar | None]:
    return [None if value is None else normalised(value) for value in cast_column(values, column).to_pylist()]


def as_array(values: pa.ChunkedArray) -> pa.Array:
    array = values.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def _decode_dictionary(values: pa.ChunkedArray) -> pa.Array:
    array = as_array(values)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _drop_nan(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(array.type) else array
