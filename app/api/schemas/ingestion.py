"""The ingestion of a deployment as a body."""

from datetime import datetime

from pydantic import Field

from ...domain.arrivals import LogKind, RecordSource, RejectionCount, RejectionReason
from ...views.ingestion import IngestionHour, IngestionView, remedy_of, sentence_of
from .base import Out, example


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

    newest_hour: datetime
    """The last hour with any."""

    sentence: str
    """The reason in words."""

    remedy: str = Field(description="What to do about it.")

    @classmethod
    def of(cls, rejection: RejectionCount) -> "RejectedOut":
        return cls.from_object(rejection, newest_hour=rejection.hour, sentence=sentence_of(rejection), remedy=remedy_of(rejection))


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
    """Whether there are more than that."""

    signs: list[str]
    """Sentences about what a person should look at; empty where nothing seems wrong."""

    @classmethod
    def of(cls, view: IngestionView) -> "IngestionOut":
        return cls(
            hours=[IngestionHourOut.of(hour) for hour in view.hours],
            rejections=[RejectedOut.of(one) for one in view.rejections],
            waiting_labels=view.waiting_labels,
            has_more_waiting_labels=view.is_more,
            signs=list(view.signs),
        )
