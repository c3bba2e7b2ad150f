"""Times of records as files state them, in the form that the service takes."""

from datetime import UTC, datetime
from typing import Any

from .files import InputFile, shown
from .subject import ImportSubject, RowRefused


def write_time(value: Any, where: str, subject: ImportSubject) -> str | None:  # noqa: ANN401 - any cell
    """Returns a stated time as ISO 8601 with its offset; None if the cell is empty.

    Raises:
        RowRefused: it is no time, or has no offset and the import does not say which one is meant.
    """
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
    """Returns milliseconds since 1970 as ISO 8601.

    Raises:
        RowRefused: it is no such number.
    """
    try:
        return datetime.fromtimestamp(float(value) / 1000, UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise RowRefused(where, f"must be milliseconds since 1970, found {shown(value)}") from error


def usual_time(file: InputFile, subject: ImportSubject) -> str | None:
    """Returns the time of records of a file that state none: the one that was given, else the hour that the file's path states."""
    found = subject.at or file.hour_of_path
    return None if found is None else found.isoformat()
