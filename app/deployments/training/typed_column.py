"""Training data as a file that is read piece by piece, and its typed columns."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from ...base.apart import build_too_large
from ...base.encodings import decode_parts
from ...base.errors import FieldProblem, InvalidInput
from ...base.values import Scalar, canonical
from ...domain.deployment import Column, FieldKind, FieldType
from ...domain.record import VALUE_READERS, CellRefused, parse_label, parse_text, read_scalar
from ...sources.arrays.favourable_scores import CodedCells, is_number_type, is_text_type, read_codes
from ...statistics.group_labels import MISSING
from .queries import BATCH_ROWS, MAX_LINE_BYTES, MAX_VALUE_CHARACTERS

Numbers = npt.NDArray[np.float64]

_HEADER_LINES = 1

READ_BYTES = 2**20

_READ_ERRORS = (pa.ArrowException, OSError, UnicodeDecodeError)


def find_type_problem(name: str, kind: FieldType | None, arrow_type: pa.DataType) -> FieldProblem | None:
    value_type = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    fits = {
        FieldType.STRING: is_text_type(value_type),
        FieldType.BOOLEAN: pa.types.is_boolean(value_type),
        FieldType.NUMBER: is_number_type(value_type) or pa.types.is_decimal(value_type),
    }
    fits[FieldType.INTEGER] = fits[FieldType.NUMBER]
    if pa.types.is_null(value_type) or (any(fits.values()) if kind is None else fits[kind]):
        return None
    expected = (
        f"of the type {kind.value} as in the deployment's schema"
        if kind
        else "of class labels: text, numbers or true and false"
    )
    return FieldProblem(f"columns.{name}", f"must be {expected}, found {arrow_type}")


def read_categories(name: str, kind: FieldType, array: pa.Array, rows_before: int) -> CodedCells:
    return _read_coded(
        name, array, rows_before, VALUE_READERS[kind] if kind is FieldType.STRING else _build_reader(kind)
    )


def read_classes(name: str, array: pa.Array, rows_before: int, *, is_typed: bool) -> CodedCells:
    """Reads text that is a JSON number as a number, in a file without types."""

    def check(value: Any) -> Scalar:  # noqa: ANN401 - any cell
        label = read_scalar(
            parse_label(str(value), is_text=False) if isinstance(value, Decimal) or not is_typed else value
        )
        if isinstance(label, str) and len(label) > MAX_VALUE_CHARACTERS:
            raise CellRefused(
                f"must have at most {MAX_VALUE_CHARACTERS} characters as a class label, found {len(label):,}"
            )
        return label

    return _read_coded(name, array, rows_before, check)


def read_numbers(name: str, kind: FieldType, array: pa.Array, rows_before: int) -> pa.Array:
    """int64 for whole ones, else float64. Raises InvalidInput with the first faulty row."""
    target = pa.int64() if kind is FieldType.INTEGER else pa.float64()
    plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    try:
        numbers = (pc.utf8_trim_whitespace(plain) if is_text_type(plain.type) else plain).cast(target)
    except pa.ArrowInvalid:
        # One by one: the error names a faulty value, and `+1` or `3.0` are not faulty.
        coded = _read_coded(name, plain, rows_before, _build_reader(kind))
        return pa.array(coded.values, target).take(pa.array(coded.codes, mask=coded.codes == MISSING))
    # The cast lets infinity and NaN through.
    if kind is FieldType.NUMBER and not pc.all(pc.is_finite(numbers)).as_py():
        _read_coded(name, plain, rows_before, _build_reader(kind))
    return numbers


def is_numeric(column: Column) -> bool:
    return column.type in (FieldType.INTEGER, FieldType.NUMBER)


def is_quantity(column: Column) -> bool:
    return is_numeric(column) and column.kind is FieldKind.NUMERIC


def _read_coded(name: str, array: pa.Array, rows_before: int, check: Callable[[Any], Scalar]) -> CodedCells:
    plain = array.cast(pa.string()) if pa.types.is_null(array.type) else array
    encoded = plain if pa.types.is_dictionary(plain.type) else plain.dictionary_encode()
    codes = read_codes(encoded)
    used = np.unique(codes[codes != MISSING])
    positions_by_code = np.full(len(encoded.dictionary) + 1, MISSING, dtype=np.int64)
    positions_by_text: dict[str, int] = {}
    values: list[Scalar] = []
    refusals = []
    try:
        cells = encoded.dictionary.take(pa.array(used)).to_pylist()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"columns.{name}", "holds text that is not UTF-8") from error
    for code, cell in zip(used.tolist(), cells, strict=True):
        try:
            value = None if cell is None else check(cell)
        except CellRefused as refused:
            refusals.append((int(np.argmax(codes == code)), str(refused)))
            continue
        if value is not None:
            positions_by_code[code] = positions_by_text.setdefault(canonical(value), len(positions_by_text))
            values += [value] if len(positions_by_text) > len(values) else []
    if refusals:
        # The first row, not the first value of the dictionary.
        row, reason = min(refusals)
        raise InvalidInput(f"columns.{name}", f"row {rows_before + row + 1}: {reason}")
    return CodedCells(values, positions_by_code[codes])


def _build_reader(kind: FieldType) -> Callable[[Any], Scalar]:
    return lambda value: VALUE_READERS[kind](
        parse_text(str(value), kind) if isinstance(value, str | Decimal) else value
    )


class CsvFile:
    """CSV with a header, without types. Raises InvalidInput of a file that is none."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._encoding = encoding
        self.types: Mapping[str, pa.DataType] = {}
        file.seek(0)
        texts = decode_parts(iter(partial(file.read, MAX_LINE_BYTES), b""), encoding, "body")
        head = next(texts)
        for _ in texts:
            pass  # a byte of another encoding is refused before anything is counted
        if not head.strip():
            raise InvalidInput("body", "is empty")
        try:
            header = next((names for names in csv.reader(io.StringIO(head, newline="")) if names), [])
        except csv.Error as error:
            raise InvalidInput("body", f"has a header that is not CSV ({error})") from error
        self.names = _require_unique(header)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        ragged = []

        def note_ragged(row: arrow_csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        self._file.seek(0)
        try:
            # Arrow would take `NA` and `null` for missing, and guess types.
            reader = arrow_csv.open_csv(
                pa.PythonFile(self._file, mode="r"),
                # One thread: only then are lines numbered.
                arrow_csv.ReadOptions(use_threads=False, block_size=MAX_LINE_BYTES, encoding=self._encoding),
                arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note_ragged),
                arrow_csv.ConvertOptions(
                    include_columns=list(columns),
                    column_types=dict.fromkeys(columns, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            yield from reader
        except pa.ArrowException as error:
            if ragged:
                row = ragged[0]
                reason = (
                    f"row {row.number - _HEADER_LINES} has {row.actual_columns} values, but the header names "
                    f"{row.expected_columns} columns"
                )
            elif "straddling" in str(error):
                reason = f"has a line of more than {MAX_LINE_BYTES // 2**20} MiB"
            else:
                reason = "is not CSV with a header"
            raise InvalidInput("body", reason) from error


class ParquetFile:
    """Parquet with types by column. Raises InvalidInput of a file that is none."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            opened = self._open()
            schema = opened.schema_arrow
        except _READ_ERRORS as error:
            raise InvalidInput("body", "is not a Parquet file") from error
        # Of row groups only, not of their columns: asking a damaged file for these ends the process (pyarrow
        # 26).
        groups = map(opened.metadata.row_group, range(opened.metadata.num_row_groups))
        self.rows = sum(group.num_rows for group in groups)
        self.names = _require_unique(schema.names)
        self.types: Mapping[str, pa.DataType] = {field.name: field.type for field in schema}
        self.metadata: Mapping[bytes, bytes] = schema.metadata or {}
        self._texts = [field.name for field in schema if is_text_type(field.type)]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Texts stay positions in a dictionary, as in the file: each by itself they could take many times its
        # size.
        text_columns = [name for name in self._texts if name in columns]
        try:
            file = self._open(read_dictionary=text_columns)
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns), use_threads=False)
        except MemoryError as error:
            raise build_too_large() from error
        except _READ_ERRORS as error:
            raise InvalidInput("body", "is a Parquet file that cannot be read to its end") from error

    def _open(self, **options: list[str]) -> arrow_parquet.ParquetFile:
        self._file.seek(0)
        return arrow_parquet.ParquetFile(
            pa.PythonFile(self._file, mode="r"), pre_buffer=False, buffer_size=READ_BYTES, **options
        )


TrainingFile = CsvFile | ParquetFile


def _require_unique(names: Sequence[str]) -> list[str]:
    repeated = (
        sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    )
    if repeated:
        raise InvalidInput("body", f"names the column {repeated[0]!r:.100} twice")
    return list(names)
