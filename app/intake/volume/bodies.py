"""Records and calls as they come in by hour, and records that Evenhand did not get, as bodies."""

from datetime import datetime

from pydantic import Field

from ...domain.record_times import LogKind, RecordSource, RejectionReason
from ...web.body import In, Out, example, read_from
from ...web.route_declarations import Timestamp
from ..gateway.call_events import IntakeOutcome
from .hourly_view import IngestionHour, IngestionView, describe_rejection, find_remedy

MAX_HOURS = 1000

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

    model_config = example(
        {
            "sample_rate": 0.1,
            "hours": [{"hour": "2026-03-01T09:00:00Z", "not_received": 12, "left_out": 4500}],
        }
    )

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
    """The highest one; null where none did."""

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


class ArrivedOut(Out):
    """Records that were stored."""

    source: RecordSource
    kind: LogKind
    records: int


class IngestionHourOut(Out):
    """Numbers of one hour."""

    hour: datetime
    """The beginning of the hour (UTC)."""

    arrived: list[ArrivedOut]
    """Records stored then, whichever hour they lie in. Sources with none are left out."""

    rejected: int
    """Records that were not stored."""

    unreadable_requests: int
    """Requests that could not be read as a whole, whatever they held."""

    not_received: int
    """Records of this hour that their senders dropped, by the senders' clocks."""

    left_out: int
    """Records of this hour that are not in a sample, by the senders' clocks."""

    @classmethod
    def of(cls, hour: IngestionHour) -> "IngestionHourOut":
        arrived = [
            ArrivedOut(source=source, kind=kind, records=records)
            for kind, counts in ((LogKind.PAYLOAD, hour.payload), (LogKind.FEEDBACK, hour.feedback))
            for source, records in counts.items()
        ]
        return cls.from_object(hour, arrived=arrived)


class RejectedOut(Out):
    """Records that were not stored, of one source, for one reason."""

    source: RecordSource
    kind: LogKind
    reason: RejectionReason
    field: str
    """The column or member; empty for one that the schema does not have, whose name is not kept."""

    records: int
    """Records; for the reason `unreadable`, requests."""

    newest_hour: datetime = read_from("hour")
    """The last hour with any."""

    sentence: str
    """The reason in words."""

    remedy: str
    """The step to take."""


class IngestionOut(Out):
    """Records as they come in, by hour and source."""

    model_config = example(
        {
            "hours": [
                {
                    "hour": "2026-03-01T09:00:00Z",
                    "arrived": [{"source": "client", "kind": "payload", "records": 4180}],
                    "rejected": 12,
                    "unreadable_requests": 0,
                    "not_received": 0,
                    "left_out": 0,
                }
            ],
            "rejections": [
                {
                    "source": "client",
                    "kind": "payload",
                    "reason": "wrong_type",
                    "field": "Age",
                    "records": 12,
                    "newest_hour": "2026-03-01T09:00:00Z",
                    "sentence": "Age is of another type",
                    "remedy": "Send the type that the schema says, or change the schema.",
                }
            ],
            "waiting_labels": 3,
            "has_more_waiting_labels": False,
            "signs": ["12 of 4,192 records of the last hour were rejected and are in no figure."],
        }
    )

    hours: list[IngestionHourOut]
    """Newest first, the present hour included; hours without records are there."""

    rejections: list[RejectedOut]
    """The most frequent reason first."""

    waiting_labels: int
    """Labels whose payload record has not arrived: at most 1,000 are counted."""

    has_more_waiting_labels: bool
    """Whether more than 1,000 labels wait."""

    signs: list[str]
    """Sentences about what a person should look at; empty where nothing seems wrong."""

    @classmethod
    def of(cls, view: IngestionView) -> "IngestionOut":
        return cls.from_object(
            view,
            hours=[IngestionHourOut.of(hour) for hour in view.hours],
            rejections=[
                RejectedOut.from_object(
                    rejection, sentence=describe_rejection(rejection), remedy=find_remedy(rejection)
                )
                for rejection in view.rejections
            ],
            has_more_waiting_labels=view.is_more,
        )


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
    """Why the last one was rejected, ignored or is unpaired. It may quote a record: null for roles that
    see figures only.
    """


class IntakeHourOut(Out):
    """Counts of one hour, in which the calls were received."""

    hour: datetime
    counts: list[IntakeCountOut]


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
                        {
                            "source": "gateway",
                            "outcome": "rejected",
                            "count": 1,
                            "reason": "Age: must be a whole number, found 'young'",
                        },
                    ],
                }
            ],
            "next_cursor": None,
        }
    )

    hours: list[IntakeHourOut]
    """Newest first; hours without calls are left out."""

    next_cursor: str | None
