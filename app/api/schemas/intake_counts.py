"""Counts of calls as bodies."""

from datetime import datetime

from ...domain.intake import IntakeCount, IntakeOutcome
from .base import Out, example


class IntakeCountOut(Out):
    """One outcome of one source in one hour."""

    source: str
    """`gateway` or `events`."""

    outcome: IntakeOutcome
    """`stored`, `duplicate` and `rejected` count records (a call that cannot be read is one),
    `rounded_probability` those stored whose probability lay within 0.000001 of [0, 1] and is 0 or 1 now.
    `unpaired_request`, `unpaired_response` and `ignored` count events: those whose other half did not
    come, and those that are no half of a call."""

    count: int
    reason: str | None
    """Why the last one was rejected, ignored or is unpaired."""


class IntakeHourOut(Out):
    """Counts of one hour, in which the calls were received."""

    hour: datetime
    counts: list[IntakeCountOut]

    @classmethod
    def of(cls, hour: datetime, counts: list[IntakeCount]) -> "IntakeHourOut":
        return cls(hour=hour, counts=[IntakeCountOut.from_object(one) for one in counts])


class IntakeHoursPage(Out):
    """Hours in which calls came."""

    model_config = example(
        {
            "hours": [
                {
                    "hour": "2026-03-01T09:00:00Z",
                    "counts": [
                        {"source": "events", "outcome": "stored", "count": 4411, "reason": None},
                        {
                            "source": "events",
                            "outcome": "unpaired_response",
                            "count": 2,
                            "reason": "the request of this answer did not come in time",
                        },
                        {"source": "gateway", "outcome": "rejected", "count": 1, "reason": "Age: must be a whole number, found 'young'"},
                    ],
                }
            ],
            "next_cursor": None,
        }
    )

    hours: list[IntakeHourOut]
    """Newest first; hours without calls are left out."""

    next_cursor: str | None
