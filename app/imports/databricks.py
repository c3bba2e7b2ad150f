"""Databricks' inference tables: a request and its answer a row."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from .files import InputFile, shown
from .logged_calls import LoggedCall, LoggedCallReader, read_bytes
from .subject import ImportRow, ImportSubject, RowRefused
from .times import read_time

_OK: Final = 200


def read_databricks(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Yields the records of answered calls, under the client's ids where there are."""
    reader = LoggedCallReader(subject)
    for file in files:
        for number, row in file.rows():
            try:
                if isinstance(row, RowRefused):
                    raise row
                fraction = 1.0 if row.get("sampling_fraction") is None else row["sampling_fraction"]
                if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction <= 1:
                    raise RowRefused("sampling_fraction", f"must lie within (0, 1], found {shown(fraction)}")  # noqa: TRY301 - one place writes refusals
                records = _read_row(row, reader, file, subject)
            except RowRefused as refused:
                yield refused.row_at(file.name, number)
            else:
                for record in records:
                    sampled = record if fraction == 1 else {**record, "sample_rate": fraction}
                    yield ImportRow(file=file.name, line=number, record=sampled, fraction=fraction)


def _read_row(row: dict[str, Any], reader: LoggedCallReader, file: InputFile, subject: ImportSubject) -> list[dict[str, Any]]:
    status = row.get("status_code")
    if status not in (None, _OK):
        raise RowRefused("status_code", f"must be 200, or the model gave no prediction, found {shown(status)}")
    call = row.get("client_request_id") or row.get("databricks_request_id")
    if not isinstance(call, str):
        raise RowRefused("databricks_request_id", "is missing")
    name = "timestamp_ms" if row.get("request_time") is None else "request_time"
    time = read_time(row.get(name), name, file, subject)
    bodies = {name: read_bytes(row.get(name), name, encoding="TEXT") for name in ("request", "response")}
    return reader.records(LoggedCall(id=call, time=time, **bodies))
