"""Databricks' inference tables: a request and its answer a row."""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from ...base.strict_json import JsonObject
from ...base.values import is_number
from .import_row import ImportRow, RowRefused, quoted
from .import_subject import ImportSubject, read_time
from .input_file import InputFile
from .logged_calls import LoggedCallReader, read_bytes, read_rows

_OK = 200


def read_databricks(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Yields the records of answered calls, under the client's ids where there are."""
    reader = LoggedCallReader(subject)
    for file in files:
        for row in read_rows(file, file.rows(), partial(_read_row, reader, file, subject)):
            yield row if row.record is None else replace(row, fraction=row.record.get("sample_rate", 1.0))


def _read_row(
    reader: LoggedCallReader, file: InputFile, subject: ImportSubject, row: JsonObject, _: int
) -> list[JsonObject]:
    fraction = 1.0 if row.get("sampling_fraction") is None else row["sampling_fraction"]
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise RowRefused("sampling_fraction", f"must lie within (0, 1], found {quoted(fraction)}")
    status = row.get("status_code")
    if status not in (None, _OK):
        raise RowRefused(
            "status_code", f"must be 200, or the model gave no prediction, found {quoted(status)}"
        )
    call = row.get("client_request_id") or row.get("databricks_request_id")
    if not isinstance(call, str):
        raise RowRefused("databricks_request_id", "is missing")
    for name in ("request", "response"):
        if row.get(name) is None:
            raise RowRefused(name, f"was not logged ({quoted(row.get('logging_error_codes'))})")
    name = "timestamp_ms" if row.get("request_time") is None else "request_time"
    time = read_time(row.get(name), name, file, subject)
    bodies = {name: read_bytes(row[name], name, encoding="TEXT") for name in ("request", "response")}
    records = reader.records(call, time, **bodies)
    return records if fraction == 1 else [{**record, "sample_rate": fraction} for record in records]
