"""One file of an import: its lines or rows, and the choices it is read by."""

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from msgspec import Struct

from ...base.encodings import UTF_8, decode_parts
from ...base.errors import InvalidInput, TooLarge
from ...base.strict_json import JsonObject
from ...base.values import frozen_by_name, printable
from ...deployments.training.typed_column import ParquetFile
from ...domain.deployment import Endpoint, OutputFields, RecordSchema
from ...domain.record_times import ImpossibleTime, LogKind, TimeRule, TimeTally
from ..logging.decode_body import decode_json, require_decodable
from ..logging.ingest_plan import RecordRefused

MAX_QUOTED_CHARACTERS = 60


class ImportRow(Struct, frozen=True, kw_only=True):
    """One row of a file: a native record, or the reason for none.

    `line` is the number of the line of text, or of the row of Parquet, from 1. `fraction` is the share of the
    traffic that the log holds.
    """

    file: str
    line: int
    record: Mapping[str, Any] | None = None
    field: str = ""
    reason: str = ""
    fraction: float = 1.0


class RowRefused(RecordRefused):
    """Raised for a row that cannot be read as a record; the others are imported."""

    def build_row(self, file: str, line: int) -> ImportRow:
        return ImportRow(file=file, line=line, field=self.field, reason=self.reason)


def quote_value(value: object) -> str:
    text = printable(str(value))
    return f"'{text}'" if len(text) <= MAX_QUOTED_CHARACTERS else f"'{text[:MAX_QUOTED_CHARACTERS]}…'"


NumberedRows = Iterator[tuple[int, JsonObject | RowRefused]]

MAX_LINE_BYTES = 8 * 2**20
"""Max bytes of one line: memory must not depend on a file without line ends."""

PARQUET_START = b"PAR1"

_HASH_CHUNK_BYTES = 2**20
_PATH_HOUR = re.compile(r"(?<!\d)\d{4}/\d{2}/\d{2}/\d{2}(?!\d)")
_SLICE_ROWS = 256
_READ_ERRORS = (pa.ArrowException, ValueError, OverflowError)


class InputFile:
    """A file to import. `digest` identifies the content of the file, `bytes_read` shows the progress of the
    newest reader. Raises InvalidInput if text is not in the encoding.
    """

    def __init__(
        self,
        name: str,
        open_file: Callable[[], AbstractContextManager[BinaryIO]],
        size: int,
        encoding: str = UTF_8,
    ) -> None:
        self.name = name
        self.size = size
        self.bytes_read = 0
        self._open = open_file
        self._encoding = encoding
        with open_file() as file:
            self.is_parquet = file.read(len(PARQUET_START)) == PARQUET_START
            file.seek(0)
            chunks = iter(partial(file.read, _HASH_CHUNK_BYTES), b"")
            digest = hashlib.sha256()
            for chunk in chunks if self.is_parquet else map(str.encode, decode_parts(chunks, encoding, name)):
                digest.update(chunk)
        self.digest = digest.hexdigest()

    @classmethod
    def at(cls, path: Path, encoding: str = UTF_8) -> "InputFile":
        try:
            return cls(str(path), lambda: path.open("rb"), path.stat().st_size, encoding)
        except OSError as error:
            raise InvalidInput(str(path), f"cannot be read ({error.strerror})") from error

    @property
    def hour_of_path(self) -> datetime | None:
        """Hour that the path states as yyyy/mm/dd/hh, as vendors' stores name it."""
        matches = _PATH_HOUR.findall(self.name.replace("\\", "/"))
        if matches:
            with suppress(ValueError):
                return datetime.strptime(matches[-1], "%Y/%m/%d/%H").replace(tzinfo=UTC)
        return None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        self.bytes_read = 0
        with self._open() as file:
            text = io.TextIOWrapper(
                file, "utf-8-sig" if self._encoding == UTF_8 else self._encoding, newline="\n"
            )
            number = 0
            try:
                while line := text.readline(MAX_LINE_BYTES + 1).encode():
                    number += 1
                    self.bytes_read += len(line)
                    if len(line) > MAX_LINE_BYTES:
                        raise InvalidInput(
                            f"{self.name} line {number}", f"is longer than {MAX_LINE_BYTES // 2**20} MiB"
                        )
                    yield number, line
            finally:
                # If the caller stops early, the file may be closed already.
                with suppress(ValueError):
                    text.detach()

    def json_lines(self, *, takes_arrays: bool = False) -> NumberedRows:
        """Yields the object of each line that is not blank; with `takes_arrays`, also those of an array."""
        for number, line in self.lines():
            if not line.strip():
                continue
            try:
                require_decodable(line)
                decoded = decode_json(line)
            except InvalidInput as error:
                problem = error.problems[0]
                where = "line" if problem.field == "body" else problem.field[:MAX_QUOTED_CHARACTERS]
                decoded = RowRefused(where, problem.message)
            except TooLarge as error:
                decoded = RowRefused("line", str(error))
            for document in decoded if takes_arrays and isinstance(decoded, list) else [decoded]:
                is_row = isinstance(document, dict | RowRefused)
                yield number, document if is_row else RowRefused("line", "must be a JSON object")

    def parquet_rows(self) -> NumberedRows:
        self.bytes_read = 0
        with self._open_parquet() as table:
            number = 0
            total = max(table.rows, 1)
            for batch in table.batches(table.names):
                # A few rows at a time: Python objects take many times a batch's size.
                for start in range(0, batch.num_rows, _SLICE_ROWS):
                    for row in _read_rows(batch.slice(start, _SLICE_ROWS)):
                        number += 1
                        yield number, row
                    self.bytes_read = self.size * number // total

    def count_stated_rows(self) -> int:
        if not self.is_parquet:
            return 0
        with self._open_parquet() as table:
            return int(table.rows)

    def parquet_metadata(self) -> Mapping[bytes, bytes]:
        if not self.is_parquet:
            return {}
        with self._open_parquet() as table:
            return table.metadata

    @contextmanager
    def _open_parquet(self) -> Iterator[ParquetFile]:
        with self._open() as file:
            try:
                yield ParquetFile(file)
            except InvalidInput as error:
                if error.problems[0].field != "body":
                    raise
                raise InvalidInput(self.name, error.problems[0].message) from error

    def rows(self, *, takes_arrays: bool = False) -> NumberedRows:
        return self.parquet_rows() if self.is_parquet else self.json_lines(takes_arrays=takes_arrays)


def reopen(file: BinaryIO) -> nullcontext[BinaryIO]:
    file.seek(0)
    return nullcontext(file)


def _read_rows(batch: pa.RecordBatch) -> list[JsonObject | RowRefused]:
    """Reads a batch; row by row if the whole cannot be read: text that is no UTF-8, or a time beyond any
    calendar, costs one row.
    """
    try:
        return list(batch.to_pylist())
    except _READ_ERRORS:
        rows: list[JsonObject | RowRefused] = []
    for position in range(batch.num_rows):
        row: JsonObject = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                row[name] = column[position].as_py()
            except _READ_ERRORS as error:
                rows.append(
                    RowRefused(
                        printable(name)[:MAX_QUOTED_CHARACTERS],
                        f"cannot be read ({printable(str(error))[:MAX_QUOTED_CHARACTERS]})",
                    )
                )
                break
        else:
            rows.append(row)
    return rows


@frozen_by_name
class ColumnNames:
    """Columns that are not features; None means the usual names."""

    id: str | None = None
    time: str | None = None
    prediction: str | None = None
    probability: str | None = None
    label: str | None = None


@frozen_by_name
class ImportSubject:
    """A deployment as an import sees it, and the importer's choices. `lists_texts`: the outcomes of its
    monitor are texts.

    `default_time` is that of records without a time. Times without an offset are refused, unless `times` has
    a zone. `tally` counts the times read. Bodies are tried in the format of the `endpoint` first. With a
    `score_threshold`, a prediction between 0 and 1 is a score.
    """

    kind: LogKind
    schema: RecordSchema
    outputs: OutputFields
    lists_texts: bool = False
    columns: ColumnNames = field(default_factory=ColumnNames)
    times: TimeRule
    tally: TimeTally = field(default_factory=TimeTally)
    default_time: datetime | None = None
    endpoint: Endpoint | None = None
    score_threshold: float | None = None

    @property
    def feature_names(self) -> list[str]:
        return [column.name for column in self.schema.features]

    @property
    def time_name(self) -> str:
        return "labelled_at" if self.kind is LogKind.FEEDBACK else "scored_at"


def read_time(value: Any, where: str, file: InputFile, subject: ImportSubject) -> str | None:  # noqa: ANN401 - any cell
    """Time as ISO 8601 in UTC; of an empty cell the default time, else the hour of the file's path. Raises
    RowRefused.
    """
    default_time = subject.default_time or file.hour_of_path
    if value in (None, "") and default_time is not None:
        return default_time.isoformat()
    text = "" if value is None else str(value)
    if isinstance(value, float) and value.is_integer():
        # Columns of whole numbers become floats where one is missing.
        text = str(int(value))
    reading = subject.times.read(text)
    is_day = reading.is_date and subject.times.form is None
    reason = ImpossibleTime.NO_HOUR if is_day else reading.reason
    subject.tally.add(reason, text)
    if reason is ImpossibleTime.NO_TIME:
        return None
    if reason is not None:
        raise RowRefused(
            where,
            f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {quote_value(value)}, {reason}",
        )
    if not reading.is_placed:
        raise RowRefused(
            where,
            f"must state its offset from UTC, found {quote_value(value)}; "
            "or import with the offset of such times",
        )
    return reading.at.isoformat()
