"""Parameters that many routes take: ids, texts and moments."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AwareDatetime, BeforeValidator, Field

from ..base.errors import InvalidInput

ID_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"
"""Pattern of a deployment's id."""

UUID_PATTERN = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

FilterText = Annotated[str | None, Query(max_length=1000, pattern=r"^[^\x00]*$")]

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _require_timestamp(sent: object) -> object:
    """Pydantic would also take numbers, as seconds since 1970."""
    if not isinstance(sent, str) or not _TIMESTAMP.fullmatch(sent):
        raise ValueError("must be a timestamp with its time zone, such as 2026-03-01T09:00:00Z")
    return sent


Timestamp = Annotated[
    AwareDatetime, Field(strict=False, examples=["2026-03-01T09:00:00Z"]), BeforeValidator(_require_timestamp)
]


def uuid_path(description: str, example: str) -> Any:  # noqa: ANN401 - as `Path` itself
    """Part of an address that is a UUID."""
    return Path(description=description, pattern=UUID_PATTERN, examples=[example])


OptionalMoment = Annotated[
    Timestamp | None, Query(description="ISO 8601 with an offset.", examples=["2026-11-20T00:00:00Z"])
]


def in_utc(field: str, moment: datetime | None) -> datetime | None:
    """The moment in UTC.

    Raises:
        InvalidInput: it is outside the years that a datetime holds.
    """
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(field, "lies outside the years 1 to 9999 in UTC") from error
