"""Missing records as bodies."""

from datetime import datetime

from pydantic import Field

from ...web.texts import Timestamp
from .base import In, Out, example

MAX_HOURS = 1000
"""Max hours in one message."""

_MAX_COUNT = 10**15


class MissingHourIn(In):
    """Running totals of the sender for one hour."""

    hour: Timestamp
    """The beginning of the hour (UTC) in which the records were logged, by the clock of the sender."""

    not_received: int = Field(ge=0, le=_MAX_COUNT)
    """Records that the sender dropped, so that Evenhand will never get them."""

    left_out: int = Field(default=0, ge=0, le=_MAX_COUNT)
    """Records that are not in its sample."""


class MissingRecordsIn(In):
    """Totals of records that one sender could not, or did not, send."""

    model_config = example({"sample_rate": 0.1, "hours": [{"hour": "2026-03-01T09:00:00Z", "not_received": 12, "left_out": 4500}]})

    sample_rate: float = Field(default=1.0, ge=0, le=1)
    """The share of records that the sender logs."""

    hours: list[MissingHourIn] = Field(min_length=1, max_length=MAX_HOURS)


class MissingHourOut(Out):
    """Missing records of one hour, of all senders together."""

    hour: datetime
    not_received: int
    """Records that were dropped before they reached Evenhand."""

    left_out: int
    """Records that are not in a sample."""

    lowest_rate: float | None
    """The lowest sample rate of the senders that left records out; null where none did."""

    highest_rate: float | None
    senders: int
    """Processes that counted them."""


class MissingHoursPage(Out):
    """Hours in which records are missing."""

    model_config = example(
        {
            "hours": [
                {
                    "hour": "2026-03-01T09:00:00Z",
                    "not_received": 12,
                    "left_out": 4500,
                    "lowest_rate": 0.1,
                    "highest_rate": 0.1,
                    "senders": 4,
                }
            ],
            "next_cursor": None,
        }
    )

    hours: list[MissingHourOut]
    """Newest first; hours in which nothing is missing are left out."""

    next_cursor: str | None
