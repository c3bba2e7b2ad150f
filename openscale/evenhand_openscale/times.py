"""Times as SDKs send them: with or without an offset, with a blank where ISO 8601 has a T."""

from datetime import UTC, datetime

from .refused import invalid

Time = datetime | str


def read_time(field: str, sent: str | None) -> datetime | None:
    """Returns the moment; one without an offset is taken for UTC. Raises Refused at the edge of the calendar, too."""
    if not sent:
        return None
    try:
        # In a query `+` may have become a blank.
        read = datetime.fromisoformat(sent.strip().replace(" 00:00", "+00:00"))
        # Naive local time of a client whose zone is not known: UTC is the least wrong.
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise invalid(field, f"must be a time such as 2026-03-01T09:00:00Z, found {sent!r:.60}") from error


def moment(time: Time) -> str:
    read = datetime.fromisoformat(time) if isinstance(time, str) else time
    return read.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
