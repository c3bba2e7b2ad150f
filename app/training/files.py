"""Training data as a file: its column names, and its rows piece by piece, as often as they are asked for."""

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from app.errors import InvalidInput, TooLarge
from app.training.limits import BATCH_ROWS, MAX_LINE_BYTES, MAX_ROW_GROUP_BYTES

HEADER = 1
"""Lines above the first row of a CSV file."""


READ_BYTES = 2**20
"""Of a Parquet file's column, at a time."""

_BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises of a file that is none of its kind, or damaged."""


class TrainingFile(Protocol):
    """What is asked of a file."""

    names: list[str]
    types: Mapping[str, pa.DataType]
    """Of the columns, where the file says them."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns, from the first one on.

        Raises:
            InvalidInput: it is not a file of its kind.
        """


class CsvFile:
    """CSV in UTF-8 with a header. Every value is text; an empty one is missing.

    Raises:
        InvalidInput: it is empty, not text in UTF-8, or its header cannot be read.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.names = _unique(_header(file))
        self.types: Mapping[str, pa.DataType] = {}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns, from the first one on.

        Raises:
            InvalidInput: a line has another number of values than the header, or is not text in UTF-8.
        """
        ragged: list[arrow_csv.InvalidRow] = []

        def note(row: arrow_csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        self._file.seek(0)
        try:
            reader = arrow_csv.open_csv(
                _Unclosed(self._file),
                # One thread: only then are lines numbered.
                arrow_csv.ReadOptions(use_threads=False, block_size=MAX_LINE_BYTES),
                arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
                arrow_csv.ConvertOptions(
                    include_columns=list(columns),
                    column_types=dict.fromkeys(columns, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            yield from reader
        except pa.ArrowException as error:
            raise _csv_fault(error, ragged) from error


class ParquetFile:
    """Apache Parquet.

    Raises:
        InvalidInput: it is not Parquet.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            schema = self._open().schema_arrow
        except _BROKEN as error:
            raise InvalidInput.of("body", "is not a Parquet file") from error
        self.names = _unique(schema.names)
        self.types: Mapping[str, pa.DataType] = {field.name: field.type for field in schema}
        self._texts = [field.name for field in schema if _is_text(field.type)]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns, from the first one on.

        Raises:
            InvalidInput: the file is damaged.
            TooLarge: a row group unpacks to more than is read at once.
        """
        # Texts stay what they are in the file, positions in a dictionary: each by itself they could be any number of times its size.
        texts = [name for name in self._texts if name in columns]
        try:
            file = self._open(read_dictionary=texts)
            _require_room(file.metadata)
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns), use_threads=False)
        except _BROKEN as error:
            raise InvalidInput.of("body", "is a Parquet file that cannot be read to its end") from error

    def _open(self, **options: list[str]) -> arrow_parquet.ParquetFile:
        self._file.seek(0)
        return arrow_parquet.ParquetFile(_Unclosed(self._file), pre_buffer=False, buffer_size=READ_BYTES, **options)


class _Unclosed(io.RawIOBase):
    """The file for a reader that closes what it has read, though it is to be read again."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._behind = file

    def read(self, size: int = -1) -> bytes:
        return self._behind.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._behind.seek(offset, whence)
        return self._behind.tell()

    def tell(self) -> int:
        return self._behind.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _header(file: BinaryIO) -> list[str]:
    file.seek(0)
    head = file.read(MAX_LINE_BYTES)
    if not head.strip():
        raise InvalidInput.of("body", "is empty")
    try:
        # Not the last characters, which may be cut through.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
        return next((names for names in csv.reader(io.StringIO(text, newline="")) if names), [])
    except UnicodeDecodeError as error:
        raise InvalidInput.of("body", "is not text in UTF-8") from error
    except csv.Error as error:
        raise InvalidInput.of("body", f"has a header that is not CSV ({error})") from error


def _unique(names: Sequence[str]) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InvalidInput.of("body", f"names the column {twice[0]!r:.100} twice")
    return list(names)


def _csv_fault(error: pa.ArrowException, ragged: Sequence[arrow_csv.InvalidRow]) -> InvalidInput:
    if ragged:
        row = ragged[0]
        return InvalidInput.of(
            "body", f"row {row.number - HEADER} has {row.actual_columns} values, but the header names {row.expected_columns} columns"
        )
    if "UTF8" in str(error):
        return InvalidInput.of("body", "is not text in UTF-8")
    if "straddling" in str(error):
        return InvalidInput.of("body", f"has a line of more than {MAX_LINE_BYTES // 2**20} MiB")
    return InvalidInput.of("body", "is not CSV with a header")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _require_room(metadata: arrow_parquet.FileMetaData) -> None:
    # Of a row group only, not of its columns: asking a damaged file for these ends the process (pyarrow 26).
    for group in range(metadata.num_row_groups):
        if metadata.row_group(group).total_byte_size > MAX_ROW_GROUP_BYTES:
            raise TooLarge(f"Row group {group + 1} unpacks to more than {MAX_ROW_GROUP_BYTES // 2**30} GiB. Write smaller row groups.")
