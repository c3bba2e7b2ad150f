"""Times of records in the service's form."""

from datetime import UTC, datetime
from typing import Any

from .files import InputFile, shown
from .subject import ImportSubject, RowRefused


def write_time(value: Any, where: str, subject: ImportSubject) -> str | None:  # noqa: ANN401 - any cell
    """Returns a stated time as ISO 8601 with its offset; None for an empty cell."""
    if value is None or value == "":
        return None
    found = value
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise RowRefused(where, f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {shown(value)}") from error
    if not isinstance(found, datetime):
        raise RowRefused(where, f"must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found {shown(value)}")
    if found.tzinfo is None:
        if subject.zone is None:
            raise RowRefused(where, f"must state its offset from UTC, found {shown(value)}; or import with the offset of such times")
        found = found.replace(tzinfo=subject.zone)
    return found.astimezone(UTC).isoformat()


def time_from_milliseconds(value: Any, where: str) -> str:  # noqa: ANN401 - any cell
    """Returns milliseconds since 1970 as ISO 8601, or raises RowRefused."""
    try:
        return datetime.fromtimestamp(float(value) / 1000, UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise RowRefused(where, f"must be milliseconds since 1970, found {shown(value)}") from error


def usual_time(file: InputFile, subject: ImportSubject) -> str | None:
    """Returns the given time, else the hour of the file's path."""
    found = subject.at or file.hour_of_path
    return None if found is None else found.isoformat()
