"""Moments in the query of an address."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query

from ..errors import InvalidInput
from .texts import Timestamp

Moment = Annotated[Timestamp | None, Query(description="ISO 8601 with an offset.", examples=["2026-11-20T00:00:00Z"])]


def in_utc(field: str, moment: datetime | None) -> datetime | None:
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput.of(field, "lies outside the years 1 to 9999 in UTC") from error
