"""Tables with a column for each field (CSV, Parquet, JSON lines, BentoML's), and all layouts of imports."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from enum import StrEnum
from functools import partial
from typing import Any, Self

from ...base.errors import InvalidInput
from ...base.spreadsheets import find_separator
from ...base.strict_json import JsonObject, parse_json
from ...base.values import frozen, plain_cell, quote_names
from ...domain.deployment import Column
from ...domain.record import parse_label, parse_probability, parse_text
from ...domain.record_times import LogKind
from .input_file import (
    MAX_LINE_BYTES,
    ImportRow,
    ImportSubject,
    InputFile,
    NumberedRows,
    RowRefused,
    read_time,
)
from .logged_calls import read_azure, read_databricks, read_kserve, read_rows, read_sagemaker
from .month_files import read_export, read_head

_ID_COLUMNS = ("id", "record_id")
_FEEDBACK_MEMBERS = {"id", "labelled_at", "features", "meta", "label"}

CellReader = Callable[[Any, Column], Any]


class FlatTable:
    """Reads rows of a table with columns `names` as records; `read_cell` reads a cell of a column of the
    schema, `read_output` one of an output.

    Raises InvalidInput if a needed column is missing.
    """

    def __init__(
        self,
        names: Sequence[str],
        subject: ImportSubject,
        file: InputFile,
        read_cell: CellReader,
        read_output: Callable[[Any], Any],
    ) -> None:
        self._subject = subject
        self._file = file
        self._read_cell = read_cell
        self._read_output = read_output
        schema = subject.schema
        outputs = subject.outputs
        column_names = subject.columns
        columns = {column.name for column in schema.columns}
        self._names = frozenset(names)
        self._features = [column for column in schema.features if column.name in self._names]
        self._meta = [column for column in schema.meta if column.name in self._names]
        # A column of the schema may have a usual name: it is used for something else only if it was given.
        free_names = [name for name in names if name not in columns]
        self._id = self._find_column(column_names.id, _ID_COLUMNS, free_names)
        self._time = self._find_column(column_names.time, (subject.time_name, "timestamp"), free_names)
        if subject.kind is LogKind.FEEDBACK:
            self.label = self._find_column(column_names.label, ("label",), free_names)
            self._require_column("label", self.label)
        else:
            self._prediction = self._find_column(
                column_names.prediction, (outputs.prediction, "prediction"), free_names
            )
            self._probability = self._find_column(
                column_names.probability, (outputs.probability or "probability", "probability"), free_names
            )
            self.label = self._find_column(
                column_names.label, () if outputs.label is None else (outputs.label,), free_names
            )
            self._require_column("prediction", self._prediction)
            missing = [column.name for column in schema.features if column.name not in self._names]
            if missing:
                raise InvalidInput(
                    file.name,
                    f"has no column {missing[0]!r:.200}, which is a feature; it has {quote_names(names)}",
                )

    def read_records(self, row: JsonObject, _: int) -> list[JsonObject]:
        features = {column.name: self._read_cell(row[column.name], column) for column in self._features}
        record: JsonObject = {"features": features or None}
        if self._meta:
            record["meta"] = {column.name: self._read_cell(row[column.name], column) for column in self._meta}
        if self._id is not None:
            value = plain_cell(row[self._id])
            is_integer = isinstance(value, int) and not isinstance(value, bool)
            record["id"] = str(value) if is_integer else value or None
        name = self._subject.time_name
        record[name] = read_time(
            None if self._time is None else row[self._time], self._time or name, self._file, self._subject
        )
        if self.label is not None:
            record["label"] = self._read_output(row[self.label])
        if self._subject.kind is LogKind.PAYLOAD and self._prediction is not None:
            record["prediction"] = self._read_output(row[self._prediction])
            if self._probability is not None:
                record["probability"] = _read_probability(row[self._probability])
        return [record]

    def _find_column(
        self, given_name: str | None, usual_names: Sequence[str], free_names: Sequence[str]
    ) -> str | None:
        if given_name is not None:
            if given_name not in self._names:
                raise InvalidInput(
                    self._file.name,
                    f"has no column {given_name!r:.200}; it has {quote_names(sorted(self._names))}",
                )
            return given_name
        return next((name for name in usual_names if name in free_names), None)

    def _require_column(self, output: str, column: str | None) -> None:
        if column is None:
            columns = quote_names(sorted(self._names))
            raise InvalidInput(
                self._file.name,
                f"has no column of the {output}; name it with --{output}-column. It has {columns}",
            )


def _read_probability(value: Any) -> Any:  # noqa: ANN401 - any cell
    if isinstance(value, str):
        return parse_probability(value)
    return list(map(plain_cell, value)) if isinstance(value, list) else plain_cell(value)


def read_csv(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    columns = (
        [subject.columns.label or "label"] if subject.kind is LogKind.FEEDBACK else subject.feature_names
    )
    read_label = partial(parse_label, is_text=subject.lists_texts)
    for file in files:
        reader = _NumberedLines(file)
        lines = csv.reader(
            reader, delimiter=find_separator(partial(_NumberedLines, file), columns), strict=True
        )
        try:
            header = next(lines, [])
            if len(set(header)) < len(header):
                raise InvalidInput(file.name, "names a column twice in its header")
            table = FlatTable(
                header, subject, file, lambda text, column: parse_text(text, column.sent), read_label
            )
            yield from read_rows(file, _read_lines(reader, lines, header), table.read_records)
        except csv.Error as error:
            raise InvalidInput(f"{file.name} line {reader.number}", f"is not CSV ({error})") from error


def _read_lines(reader: "_NumberedLines", lines: Iterable[list[str]], header: list[str]) -> NumberedRows:
    for cells in lines:
        reader.record_bytes = 0
        if len(cells) == len(header):
            yield reader.number, dict(zip(header, cells, strict=True))
        elif cells:
            yield reader.number, RowRefused("line", f"has {len(cells)} values under {len(header)} columns")


def read_parquet(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    for file in files:
        table = None
        for number, row in file.parquet_rows():
            if isinstance(row, RowRefused):
                yield row.build_row(file.name, number)
                continue
            table = table or FlatTable(
                list(row), subject, file, lambda value, _: plain_cell(value), plain_cell
            )
            yield from read_rows(file, iter([(number, row)]), table.read_records)


def read_json_lines(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    for file in files:
        yield from read_rows(file, file.json_lines(), partial(_convert_row, subject, file))


def _convert_row(subject: ImportSubject, file: InputFile, row: JsonObject, number: int) -> list[JsonObject]:
    if isinstance(row.get("features"), dict) or (
        subject.kind is LogKind.FEEDBACK and row.keys() <= _FEEDBACK_MEMBERS
    ):
        name = subject.time_name
        # The service refuses unknown members by name.
        return [{**row, name: read_time(row.get(name), name, file, subject)}]
    try:
        table = FlatTable(list(row), subject, file, lambda value, _: value, lambda value: value)
    except InvalidInput as error:
        raise RowRefused("line", error.problems[0].message) from error
    return table.read_records(row, number)


class _NumberedLines:
    """Lines of a file as text for the CSV reader. `number` is that of the last line; `record_bytes` counts
    the bytes since it was set to 0.
    """

    def __init__(self, file: InputFile) -> None:
        self._file = file.name
        self._lines = file.lines()
        self.number = self.record_bytes = 0

    def __iter__(self) -> "_NumberedLines":
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        self.record_bytes += len(line)
        if self.record_bytes > MAX_LINE_BYTES:
            reason = (
                f"is in a record of more than {MAX_LINE_BYTES // 2**20} MiB. Is a quote missing before it?"
            )
            raise InvalidInput(f"{self._file} line {self.number}", reason)
        return line.decode()


_COLUMN_TYPES = {"numerical": "number", "categorical": "string"}
_ABSENT_IDS = (None, "", "None", "0")


@frozen
class BentoSchema:
    bento: str
    version: str
    features: tuple[tuple[str, str], ...]
    prediction: str
    target: str | None

    def registration(self, deployment_id: str, problem_type: str) -> JsonObject:
        return {
            "id": deployment_id,
            "name": self.bento or deployment_id,
            "problem_type": problem_type,
            "features": [{"name": name, "type": kind} for name, kind in self.features],
            "outputs": {"prediction": self.prediction},
            "model_revision": self.version or "1",
        }


def read_bento_schema(file: InputFile) -> BentoSchema:
    lines = [line for _, line in file.json_lines() if not isinstance(line, RowRefused)]
    columns = lines[-1].get("columns") if lines else None
    if not isinstance(columns, list) or not all(
        isinstance(column, dict) and isinstance(column.get("name"), str) for column in columns
    ):
        raise InvalidInput(file.name, "is not a schema file of BentoML's monitor: it has no columns")
    features, predictions, targets = (
        [column for column in columns if column.get("role") == role]
        for role in ("feature", "prediction", "target")
    )
    if len(predictions) != 1:
        raise InvalidInput(
            file.name, f"must have one column of the role prediction, found {len(predictions)}"
        )
    for column in (*features, *predictions):
        if column.get("type") not in _COLUMN_TYPES:
            raise InvalidInput(
                f"{file.name} {column['name']:.50}",
                f"must be {' or '.join(_COLUMN_TYPES)}, found {column.get('type')!r:.50}",
            )
    metadata = lines[-1].get("meta_data")
    metadata = metadata if isinstance(metadata, dict) else {}
    return BentoSchema(
        bento=str(metadata.get("bento_name") or ""),
        version=str(metadata.get("bento_version") or ""),
        features=tuple((column["name"], _COLUMN_TYPES[column["type"]]) for column in features),
        prediction=predictions[0]["name"],
        target=targets[0]["name"] if targets else None,
    )


def read_bentoml(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Reads data files of BentoML's monitor. The rows of a request follow each other, and are numbered from
    the second on. Times without an offset are UTC, unless the importer gave another zone.
    """
    subject = replace(subject, times=replace(subject.times, zone=subject.times.zone or UTC))
    last_request = ""
    rows_of_request = 0

    def read(file: InputFile, row: JsonObject, line: int) -> list[JsonObject]:
        nonlocal last_request, rows_of_request
        request = row.get("request_id")
        rows_of_request = rows_of_request + 1 if request == last_request and line > 1 else 1
        last_request = str(request)
        call = None
        if request not in _ABSENT_IDS:
            call = last_request if rows_of_request == 1 else f"{last_request}-{rows_of_request}"
        time = read_time(row.get("timestamp"), "timestamp", file, subject)
        if subject.kind is LogKind.FEEDBACK:
            return [{"id": call, "label": row.get(subject.columns.label or "label"), "labelled_at": time}]
        features = {column.name: row[column.name] for column in subject.schema.features if column.name in row}
        prediction = row.get(subject.outputs.prediction)
        return [{"id": call, "scored_at": time, "features": features, "prediction": prediction}]

    for file in files:
        yield from read_rows(file, file.json_lines(), partial(read, file))


def is_bento_schema(file: InputFile) -> bool:
    for _, line in file.lines():
        document = parse_json(line, None)
        return isinstance(document, dict) and "columns" in document and "meta_data" in document
    return False


Reader = Callable[[Sequence[InputFile], ImportSubject], Iterator[ImportRow]]


class ImportLayout(StrEnum):
    """The layout of a file."""

    CSV = "csv", read_csv, "CSV with a header"
    PARQUET = "parquet", read_parquet, "Parquet with a column for each field"
    JSON_LINES = "json_lines", read_json_lines, "JSON lines: native records, or an object of columns"
    EVENHAND = "evenhand", read_export, "a file of `evenhand export`"
    SAGEMAKER = "sagemaker", read_sagemaker, "SageMaker's data capture, or its ground truth"
    AZURE = "azure", read_azure, "blobs of Azure's model data collector"
    DATABRICKS = "databricks", read_databricks, "Databricks' inference tables"
    KSERVE = "kserve", read_kserve, "files of KServe's logger"
    BENTOML = "bentoml", read_bentoml, "data files of BentoML's monitor"

    read: Reader
    description: str

    def __new__(cls, name: str, read: Reader, description: str) -> Self:
        layout = str.__new__(cls, name)
        layout._value_ = name
        layout.read = read
        layout.description = description
        return layout


_LAYOUT_BY_MEMBER: Mapping[str, ImportLayout] = {
    "captureData": ImportLayout.SAGEMAKER,
    "groundTruthData": ImportLayout.SAGEMAKER,
    "specversion": ImportLayout.AZURE,
    "databricks_request_id": ImportLayout.DATABRICKS,
    "ReqType": ImportLayout.KSERVE,
    "reqType": ImportLayout.KSERVE,
    "req_type": ImportLayout.KSERVE,
    "trace_id": ImportLayout.BENTOML,
}
_LAYOUTS_WITHOUT_LABELS = (ImportLayout.AZURE, ImportLayout.DATABRICKS, ImportLayout.KSERVE)


def find_layout(files: Sequence[InputFile], stated: ImportLayout | None, kind: LogKind) -> ImportLayout:
    if not files:
        raise InvalidInput("files", "must be at least one")
    layout = stated or _detect_layout(files[0])
    for file in files[1:] if stated is None else ():
        other_layout = _detect_layout(file)
        if other_layout is not layout:
            raise InvalidInput(
                file.name,
                f"is {other_layout.description}, unlike {files[0].name}, which is {layout.description}; "
                "import them apart",
            )
    if kind is LogKind.FEEDBACK and layout in _LAYOUTS_WITHOUT_LABELS:
        raise InvalidInput("layout", f"{layout.value} holds no labels; import it as payload")
    return layout


def _detect_layout(file: InputFile) -> ImportLayout:
    if read_head(file) is not None:
        return ImportLayout.EVENHAND
    first = _read_first_row(file)
    if first is None:
        return ImportLayout.CSV
    usual = ImportLayout.PARQUET if file.is_parquet else ImportLayout.JSON_LINES
    return next((layout for member, layout in _LAYOUT_BY_MEMBER.items() if member in first), usual)


def _read_first_row(file: InputFile) -> Mapping[str, Any] | None:
    if file.is_parquet:
        return next((row for _, row in file.parquet_rows() if isinstance(row, dict)), {})
    for _, line in file.lines():
        if line.strip():
            # A broken line of JSON must be refused as a line, not as a header.
            if line.lstrip()[:1] not in (b"{", b"["):
                return None
            document = parse_json(line, None)
            first = document[0] if isinstance(document, list) and document else document
            return first if isinstance(first, dict) else {}
    return None
