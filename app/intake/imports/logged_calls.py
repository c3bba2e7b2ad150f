"""Logged requests and answers in a model's format, as records: KServe, Azure, Databricks and SageMaker."""

import base64
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from ...base.errors import InvalidInput, ScoringFailed, TooLarge
from ...base.strict_json import JsonObject, parse_json
from ...base.values import frozen, is_number
from ...domain.record_times import LogKind
from ...payloads.codec import Codec
from ...payloads.read_call import CallColumns, read_call
from ...payloads.registry import TRIED_FORMATS, bind_codec, get_codec
from ..logging.model_call import list_call_ids, require_bounded
from .input_file import ImportRow, ImportSubject, InputFile, NumberedRows, RowRefused, quote_value, read_time

_CSV = "text/csv"


class LoggedCallReader:
    def __init__(self, subject: ImportSubject) -> None:
        self._subject = subject
        own_codecs = [] if subject.endpoint is None else [bind_codec(subject.endpoint)]
        self._codecs: list[Codec] = [*own_codecs, *map(get_codec, TRIED_FORMATS)]
        self._columns = CallColumns(
            subject.schema.features, subject.schema.meta, subject.outputs, may_lack_outputs=True
        )

    def read_records(self, call: str, time: str | None, request: bytes, response: bytes) -> list[JsonObject]:
        """One record has the id of the call, several have `{call}-{n}`.

        `time` is when it was answered (ISO 8601). Raises RowRefused.
        """
        subject = self._subject
        # Any text would be CSV of one column.
        is_json = request.lstrip()[:1] in (b"{", b"[")
        candidates = [codec for codec in self._codecs if not (is_json and codec.content_type == _CSV)]
        for where, body in (("request", request), ("response", response)):
            try:
                require_bounded(body)
            except TooLarge as error:
                raise RowRefused(where, str(error)) from error
        try:
            decoded = read_call(request, response, candidates, self._columns)
        except InvalidInput as error:
            problem = error.problems[0]
            raise RowRefused("request", f"{problem.field} {problem.message}") from error
        except ScoringFailed as error:
            raise RowRefused("response", str(error)) from error
        self._codecs.remove(decoded.codec)
        self._codecs.insert(0, decoded.codec)

        table = decoded.table
        records = []
        for position, (record_id, cells) in enumerate(
            zip(list_call_ids(call, len(table)), table.rows, strict=True)
        ):
            row = dict(zip(table.fields, cells, strict=True))
            record = {
                "id": record_id,
                "scored_at": time,
                "features": {name: row[name] for name in subject.feature_names},
                "prediction": table.predictions[position],
                "probability": None if table.probabilities is None else table.probabilities[position],
                "label": None if table.labels is None else table.labels[position],
            }
            meta = {column.name: row[column.name] for column in subject.schema.meta if column.name in row}
            records.append(record | {"meta": meta} if meta else record)
        return records


def read_bytes(value: Any, where: str, *, encoding: str) -> bytes:  # noqa: ANN401 - any member
    """Bytes of a logged body; `encoding` is `BASE64`, or any word for text. Raises RowRefused
    for neither.
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RowRefused(where, "must be text")
    if encoding != "BASE64":
        return value.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError as error:
        raise RowRefused(where, "must be base64") from error


def read_labels(body: bytes, where: str) -> list[Any]:
    """Labels of ground truth: one a line of CSV, or JSON. Raises RowRefused without any."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise RowRefused(where, "is empty")
    labels = []
    for line in text.splitlines():
        value = parse_json(line, line.strip())
        labels += value if isinstance(value, list) else [value]
    return labels


def read_rows(
    file: InputFile, rows: NumberedRows, read: Callable[[JsonObject, int], Iterable[JsonObject]]
) -> Iterator[ImportRow]:
    """Yields the records that `read` finds in each row, and each refused row with its reason.

    `read` takes a row and its number, and may raise RowRefused.
    """
    for number, row in rows:
        try:
            if isinstance(row, RowRefused):
                raise row
            records = read(row, number)
        except RowRefused as refused:
            yield refused.build_row(file.name, number)
        else:
            for record in records:
                yield ImportRow(file=file.name, line=number, record=record)


@frozen
class LoggedHalf:
    call: str
    is_request: bool
    body: bytes
    file: str
    line: int
    time: str | None


class HalfStore:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE halves (call TEXT, is_request INTEGER, body BLOB, file TEXT, line INTEGER, time "
            "TEXT, no INTEGER PRIMARY KEY AUTOINCREMENT, UNIQUE (call, is_request))"
        )

    def match(self, half: LoggedHalf) -> LoggedHalf | None:
        """None if this half has to wait. A repeated half is dropped."""
        key = (half.call, not half.is_request)
        row = self._database.execute(
            "SELECT call, is_request, body, file, line, time FROM halves WHERE call = ? AND is_request = ?",
            key,
        ).fetchone()
        if row is not None:
            self._database.execute("DELETE FROM halves WHERE call = ? AND is_request = ?", key)
            return LoggedHalf(*row)
        self._database.execute(
            "INSERT OR IGNORE INTO halves (call, is_request, body, file, line, time) VALUES (?, ?, ?, ?, ?, "
            "?)",
            astuple(half),
        )
        return None

    def list_orphans(self) -> Iterator[ImportRow]:
        for is_request, file, line in self._database.execute(
            "SELECT is_request, file, line FROM halves ORDER BY no"
        ):
            present, missing = ("request", "answer") if is_request else ("answer", "request")
            yield ImportRow(
                file=file,
                line=line,
                field="id",
                reason=f"is of a {present} whose {missing} is in none of the files",
            )


@contextmanager
def open_half_store() -> Iterator[HalfStore]:
    with (
        TemporaryDirectory(prefix="evenhand-import-") as folder,
        closing(sqlite3.connect(f"{folder}/halves", isolation_level=None)) as connection,
    ):
        yield HalfStore(connection)


def join_halves(
    files: Sequence[InputFile],
    subject: ImportSubject,
    read_file_rows: Callable[[InputFile], NumberedRows],
    read_half: Callable[[JsonObject, InputFile, int, ImportSubject], LoggedHalf],
) -> Iterator[ImportRow]:
    """Reads records from files whose rows are halves of calls, in any order; halves without the other one are
    refused at the end.
    """
    reader = LoggedCallReader(subject)
    with open_half_store() as halves:

        def read(file: InputFile, row: JsonObject, line: int) -> list[JsonObject]:
            half = read_half(row, file, line, subject)
            other_half = halves.match(half)
            if other_half is None:
                return []
            request, answer = (half, other_half) if half.is_request else (other_half, half)
            return reader.read_records(half.call, request.time or answer.time, request.body, answer.body)

        for file in files:
            yield from read_rows(file, read_file_rows(file), partial(read, file))
        yield from halves.list_orphans()


def read_kserve(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    return join_halves(files, subject, partial(InputFile.rows, takes_arrays=True), _read_kserve_row)


def _read_kserve_row(row: dict[str, Any], file: InputFile, line: int, subject: ImportSubject) -> LoggedHalf:
    # In JSON `ReqType` and base64, in Parquet `reqType` and base64, or `req_type` and bytes.
    row = {name.replace("_", "").lower(): value for name, value in row.items()}
    kind = str(row.get("reqtype") or "").rpartition(".")[2]
    if kind not in ("request", "response"):
        raise RowRefused("reqType", "must end in .request or .response")
    call = row.get("id")
    if not isinstance(call, str) or not call:
        raise RowRefused("id", "is missing")
    is_request = kind == "request"
    time = read_time(None, "time", file, subject)
    return LoggedHalf(
        call=call,
        is_request=is_request,
        body=read_bytes(row.get("bytes"), "bytes", encoding="BASE64"),
        file=file.name,
        line=line,
        time=time if is_request else None,
    )


_INPUTS = ("model_inputs", "inputs", "request")
_OUTPUTS = ("model_outputs", "outputs", "response")


def read_azure(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    return join_halves(files, subject, InputFile.json_lines, _read_event)


def _read_event(event: dict[str, Any], file: InputFile, line: int, subject: ImportSubject) -> LoggedHalf:
    kind = str(event.get("type") or "").rpartition(".")[2]
    if kind not in (*_INPUTS, *_OUTPUTS):
        raise RowRefused(
            "type", f"must end in {', '.join((*_INPUTS, *_OUTPUTS))}, found {quote_value(event.get('type'))}"
        )
    rows = event.get("data")
    if not isinstance(rows, list | dict):
        # Large and binary bodies are stored elsewhere.
        raise RowRefused("data", "is missing, or is a pointer to data that was stored elsewhere")
    call = event.get("correlationid") or event.get("xrequestid")
    if not isinstance(call, str):
        raise RowRefused("correlationid", "is missing")
    is_request = kind in _INPUTS
    if isinstance(rows, list) and not is_request:
        # An output of one column is the prediction.
        name = subject.outputs.prediction
        rows = [
            {name: next(iter(row.values()))} if isinstance(row, dict) and len(row) == 1 else row
            for row in rows
        ]
    return LoggedHalf(
        call=call,
        is_request=is_request,
        body=json.dumps(rows).encode(),
        file=file.name,
        line=line,
        time=read_time(event.get("time"), "time", file, subject),
    )


_OK_STATUS = 200


def read_databricks(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    reader = LoggedCallReader(subject)
    for file in files:
        for row in read_rows(file, file.rows(), partial(_read_databricks_row, reader, file, subject)):
            yield row if row.record is None else replace(row, fraction=row.record.get("sample_rate", 1.0))


def _read_databricks_row(
    reader: LoggedCallReader, file: InputFile, subject: ImportSubject, row: JsonObject, _: int
) -> list[JsonObject]:
    fraction = 1.0 if row.get("sampling_fraction") is None else row["sampling_fraction"]
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise RowRefused("sampling_fraction", f"must lie within (0, 1], found {quote_value(fraction)}")
    status = row.get("status_code")
    if status not in (None, _OK_STATUS):
        raise RowRefused(
            "status_code", f"must be 200, or the model gave no prediction, found {quote_value(status)}"
        )
    call = row.get("client_request_id") or row.get("databricks_request_id")
    if not isinstance(call, str):
        raise RowRefused("databricks_request_id", "is missing")
    for name in ("request", "response"):
        if row.get(name) is None:
            raise RowRefused(name, f"was not logged ({quote_value(row.get('logging_error_codes'))})")
    name = "timestamp_ms" if row.get("request_time") is None else "request_time"
    time = read_time(row.get(name), name, file, subject)
    bodies = {name: read_bytes(row[name], name, encoding="TEXT") for name in ("request", "response")}
    records = reader.read_records(call, time, **bodies)
    return records if fraction == 1 else [{**record, "sample_rate": fraction} for record in records]


_CAPTURE = "captureData"
_TRUTH = "groundTruthData"


def read_sagemaker(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    reader = LoggedCallReader(subject)
    for file in files:
        read = partial(_read_truth, file, subject)
        if subject.kind is LogKind.PAYLOAD:
            read = partial(_read_capture, reader, file, subject)
        yield from read_rows(file, file.json_lines(), read)


def _read_capture(
    reader: LoggedCallReader, file: InputFile, subject: ImportSubject, line: JsonObject, _: int
) -> list[JsonObject]:
    capture = _require_member(line, _CAPTURE, "")
    path = f"{_CAPTURE}."
    call = _read_id(line)
    time = _require_member(line, "eventMetadata", "").get("inferenceTime")
    return reader.read_records(
        call,
        read_time(time, "eventMetadata.inferenceTime", file, subject),
        _read_body(capture, "endpointInput", path),
        _read_body(capture, "endpointOutput", path),
    )


def _read_truth(file: InputFile, subject: ImportSubject, line: JsonObject, _: int) -> list[JsonObject]:
    labels = read_labels(_read_body(line, _TRUTH, ""), f"{_TRUTH}.data")
    call = _read_id(line)
    time = read_time(None, "labelled_at", file, subject)
    return [
        {"id": record_id, "label": label, "labelled_at": time}
        for record_id, label in zip(list_call_ids(call, len(labels)), labels, strict=True)
    ]


def _read_id(line: JsonObject) -> str:
    metadata = _require_member(line, "eventMetadata", "")
    inference_id = metadata.get("inferenceId") or metadata.get("eventId")
    if not isinstance(inference_id, str):
        raise RowRefused("eventMetadata.eventId", "is missing")
    return inference_id


def _read_body(capture: JsonObject, name: str, path: str) -> bytes:
    side = _require_member(capture, name, path)
    return read_bytes(side.get("data"), f"{path}{name}.data", encoding=str(side.get("encoding", "")).upper())


def _require_member(document: JsonObject, name: str, path: str) -> JsonObject:
    member = document.get(name)
    if member is None:
        raise RowRefused(path + name, "is missing")
    if not isinstance(member, dict):
        raise RowRefused(path + name, "must be an object")
    return member
