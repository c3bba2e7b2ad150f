"""Training data as a file that is read piece by piece, as often as needed."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from ..domain.encodings import decode_parts
from ..errors import InvalidInput, TooLarge
from .columns import is_text
from .limits import BATCH_ROWS, MAX_LINE_BYTES, MAX_ROW_GROUP_BYTES

HEADER = 1

READ_BYTES = 2**20
"""Bytes of a Parquet file's column that are read at a time."""

_BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)


class TrainingFile(Protocol):
    names: list[str]
    types: Mapping[str, pa.DataType]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of these columns, from the first one on."""


class CsvFile:
    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file, self._encoding = file, encoding
        self.types: Mapping[str, pa.DataType] = {}
        file.seek(0)
        texts = decode_parts(iter(partial(file.read, MAX_LINE_BYTES), b""), encoding, "body")
        head = next(texts)
        for _ in texts:
            pass  # a byte of another encoding is refused before anything is counted
        if not head.strip():
            raise InvalidInput.of("body", "is empty")
        try:
            header = next((names for names in csv.reader(io.StringIO(head, newline="")) if names), [])
        except csv.Error as error:
            raise InvalidInput.of("body", f"has a header that is not CSV ({error})") from error
        self.names = _require_unique(header)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        ragged: list[arrow_csv.InvalidRow] = []

        def note(row: arrow_csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        self._file.seek(0)
        try:
            # Arrow would take `NA` and `null` for missing, and guess types.
            reader = arrow_csv.open_csv(
                _Unclosed(self._file),
                # One thread: only then are lines numbered.
                arrow_csv.ReadOptions(use_threads=False, block_size=MAX_LINE_BYTES, encoding=self._encoding),
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
            if ragged:
                row = ragged[0]
                reason = f"row {row.number - HEADER} has {row.actual_columns} values, but the header names {row.expected_columns} columns"
            elif "straddling" in str(error):
                reason = f"has a line of more than {MAX_LINE_BYTES // 2**20} MiB"
            else:
                reason = "is not CSV with a header"
            raise InvalidInput.of("body", reason) from error


class ParquetFile:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            opened = self._open()
            schema = opened.schema_arrow
        except _BROKEN as error:
            raise InvalidInput.of("body", "is not a Parquet file") from error
        self.rows = opened.metadata.num_rows
        self.names = _require_unique(schema.names)
        self.types: Mapping[str, pa.DataType] = {field.name: field.type for field in schema}
        self.metadata: Mapping[bytes, bytes] = schema.metadata or {}
        self._texts = [field.name for field in schema if is_text(field.type)]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Texts stay positions in a dictionary, as in the file: each by itself they could take many times its size.
        texts = [name for name in self._texts if name in columns]
        try:
            file = self._open(read_dictionary=texts)
            # Of a row group only, not of its columns: asking a damaged file for these ends the process (pyarrow 26).
            for group in range(file.metadata.num_row_groups):
                if file.metadata.row_group(group).total_byte_size > MAX_ROW_GROUP_BYTES:
                    size = f"{MAX_ROW_GROUP_BYTES // 2**30} GiB"
                    raise TooLarge(f"Row group {group + 1} unpacks to more than {size}. Write smaller row groups.")
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
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _require_unique(names: Sequence[str]) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InvalidInput.of("body", f"names the column {twice[0]!r:.100} twice")
    return list(names)
