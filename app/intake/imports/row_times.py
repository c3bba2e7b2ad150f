"""Times of records in the service's form."""

from typing import Any

from ...domain.record_times import Impossible
from .import_subject import ImportSubject, RowRefused
from .input_file import InputFile, shown


def read_time(value: Any, where: str, file: InputFile, subject: ImportSubject) -> str | None:  # noqa: ANN401 - any cell
    """Returns a stated time as ISO 8601 in UTC; of an empty cell the given time, else the hour of the file's path."""
    usual = subject.at or file.hour_of_path
    if value in (None, "") and usual is not None:
        return usual.isoformat()
    # Columns of whole numbers become floats where one is missing.
    text = "" if value is None else str(int(value) if isinstance(value, float) and value.is_integer() else value)
    reading = subject.times.read(text)
    is_day = reading.is_date and subject.times.form is None
    reason = Impossible.NO_HOUR if is_day else reading.reason
    subject.tally.add(reason, text)
    if reason is Impossible.NO_TIME:
        return None
    if reason is not None:
        raise RowRefused(where, f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {shown(value)}, {reason}")
    if not reading.is_placed:
        raise RowRefused(where, f"must state its offset from UTC, found {shown(value)}; or import with the offset of such times")
    return reading.at.isoformat()
