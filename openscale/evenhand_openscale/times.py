"""Times as SDKs send them: with or without an offset, with a blank where ISO 8601 has a T."""

from datetime import UTC, datetime

from ..errors import InvalidInput


def read_time(field: str, sent: str | None) -> datetime | None:
    """Returns the moment; one without an offset is taken for UTC. None where none was sent.

    Raises:
        InvalidInput: it is no time, or one at the edge of the calendar.
    """
    if not sent:
        return None
    try:
        # In a query `+` may have become a blank.
        found = datetime.fromisoformat(sent.strip().replace(" 00:00", "+00:00"))
        # Naive local time of a client whose zone is not known: UTC is the least wrong.
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput.of(field, f"must be a time such as 2026-03-01T09:00:00Z, found {sent!r:.60}") from error
