"""Records as they come in, by hour and source, and signs that something is wrong."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.values import frozen_by_name
from ...domain.check import Span
from ...domain.record_times import Arrivals, LogKind, RecordSource, RejectionCount, RejectionReason
from ..gateway.call_events import IntakeCount, IntakeOutcome
from .arrival_queries import (
    MAX_WAITING_LABELS,
    count_waiting_labels,
    read_arrivals,
    read_intake_hours,
    read_missing_hours,
    read_rejections,
)

SOURCE_WORDS: Mapping[RecordSource, str] = {
    RecordSource.REST: "REST API",
    RecordSource.CLIENT: "Python client",
    RecordSource.IMPORT: "import",
    RecordSource.GATEWAY: "gateway",
    RecordSource.EVENT: "events",
}

REASON_AND_REMEDY: Mapping[RejectionReason, tuple[str, str]] = {
    RejectionReason.MISSING: (
        "is missing",
        "Send the field with every record; a feature without a value is sent as null.",
    ),
    RejectionReason.UNKNOWN_FIELD: (
        "is not in the schema",
        "Leave the field out, or add it to the schema of the deployment.",
    ),
    RejectionReason.WRONG_TYPE: (
        "is of another type",
        "Send the type that the schema says, or change the schema.",
    ),
    RejectionReason.OUT_OF_RANGE: (
        "is out of range",
        "Send probabilities within [0, 1] and numbers that 64 bits can hold.",
    ),
    RejectionReason.UNUSABLE_TEXT: (
        "is text that cannot be stored",
        "Shorten the text, and remove control characters.",
    ),
    RejectionReason.UNUSABLE_TIME: (
        "is not a usable time",
        "Send ISO 8601 with its offset from UTC, and look at the sender's clock.",
    ),
    RejectionReason.WRONG_SHAPE: (
        "has another shape",
        "Compare what is sent with the examples of the API's description.",
    ),
    RejectionReason.TOO_LARGE: ("is too large", "Send fewer or shorter fields; a record may have 256 KiB."),
    RejectionReason.CONFLICT: (
        "is the id of another record",
        "Give each record an id of its own. The record that came first stays.",
    ),
    RejectionReason.ORPHAN: (
        "has only a request or only an answer",
        "Look at the part of your platform that sends requests and answers.",
    ),
    RejectionReason.ERASED: (
        "is the id of a record that was erased on request",
        "Nothing, if it was sent before the erasure. A new record needs an id of its own.",
    ),
    RejectionReason.UNREADABLE: (
        "could not be read as a whole",
        "The answer to the request says why. Everything in these requests is missing here.",
    ),
    RejectionReason.OTHER: ("was refused for another reason", "The receipt of the request says why."),
}


_SOURCES_ANSWERED_BEFORE = (RecordSource.GATEWAY, RecordSource.EVENT)
"""Sources whose senders get an answer before the records are checked."""

_CALL_REMEDY = (
    "GET /v1/deployments/{id}/intake-counts has the reason of the last one. Compare the call "
    "with the deployment's payload format."
)


@frozen_by_name
class IngestionHour:
    """Records of one hour; arrivals are by the service's clock, missing records by the senders'."""

    hour: datetime
    payload: Mapping[RecordSource, int]
    feedback: Mapping[RecordSource, int]
    rejected: int
    unreadable_requests: int
    not_received: int
    left_out: int

    @property
    def is_empty(self) -> bool:
        numbers = (self.rejected, self.unreadable_requests, self.not_received, self.left_out)
        return not (self.payload or self.feedback or any(numbers))


@frozen_by_name
class IgnoredEvents:
    events: int
    reason: str


@frozen_by_name
class IngestionView:
    """Records of a deployment as they came in. Hours are newest first; `rejections` are summed up by reason,
    the most frequent first, under the last hour with any. `waiting_labels` counts up to `MAX_WAITING_LABELS`;
    `is_more`: more labels wait.
    """

    hours: Sequence[IngestionHour]
    rejections: Sequence[RejectionCount]
    waiting_labels: int
    is_more: bool
    ignored: IgnoredEvents
    signs: Sequence[str]

    @property
    def sources(self) -> Sequence[RecordSource]:
        return [
            source
            for source in RecordSource
            if any(source in hour.payload or source in hour.feedback for hour in self.hours)
        ]


def read_ingestion_view(session: Session, deployment_no: int, span: Span, now: datetime) -> IngestionView:
    """The span has whole hours. Five statements, none of which reads records."""
    arrivals = read_arrivals(session, deployment_no, span)
    rejections = read_rejections(session, deployment_no, span)
    hours = (span.end - span.start) // HOUR
    missing = read_missing_hours(session, deployment_no, since=span.start, until=span.end, limit=hours)
    waiting = count_waiting_labels(session, deployment_no)
    ingestion_hours = _group_by_hour(span, arrivals, rejections, missing)
    intake_hours = read_intake_hours(session, deployment_no, since=span.start, until=span.end, limit=hours)
    ignored = [
        count
        for counts in intake_hours.values()
        for count in counts
        if count.outcome is IntakeOutcome.IGNORED
    ]
    return IngestionView(
        hours=ingestion_hours,
        rejections=_sum_by_reason(rejections),
        waiting_labels=min(waiting, MAX_WAITING_LABELS),
        is_more=waiting > MAX_WAITING_LABELS,
        ignored=_sum_ignored(ignored),
        signs=_find_signs(ingestion_hours, rejections, ignored, is_present=span.end > now),
    )


def describe_rejection(rejection: RejectionCount) -> str:
    subject = rejection.field or "a field"
    if rejection.reason is RejectionReason.ORPHAN:
        subject = "a record"
    elif rejection.reason is RejectionReason.UNREADABLE:
        subject = "a request"
    return f"{subject} {REASON_AND_REMEDY[rejection.reason][0]}"


def find_remedy(rejection: RejectionCount) -> str:
    if rejection.reason is RejectionReason.UNREADABLE and rejection.source in _SOURCES_ANSWERED_BEFORE:
        return _CALL_REMEDY
    return REASON_AND_REMEDY[rejection.reason][1]


def _group_by_hour(
    span: Span,
    arrivals: Sequence[Arrivals],
    rejections: Sequence[RejectionCount],
    missing: Sequence[Row[Any]],
) -> list[IngestionHour]:
    arrived = defaultdict[datetime, dict[LogKind, dict[RecordSource, int]]](
        lambda: {kind: {} for kind in LogKind}
    )
    for arrival in arrivals:
        arrived[arrival.hour][arrival.kind][arrival.source] = arrival.records
    rejected = Counter[datetime]()
    unreadable = Counter[datetime]()
    for rejection in rejections:
        counter = unreadable if rejection.reason is RejectionReason.UNREADABLE else rejected
        counter[rejection.hour] += rejection.records
    losses = {missing_hour.hour: missing_hour for missing_hour in missing}
    hours = []
    hour = span.end - HOUR
    while hour >= span.start:
        loss = losses.get(hour)
        hours.append(
            IngestionHour(
                hour=hour,
                payload=arrived[hour][LogKind.PAYLOAD],
                feedback=arrived[hour][LogKind.FEEDBACK],
                rejected=rejected[hour],
                unreadable_requests=unreadable[hour],
                not_received=0 if loss is None else loss.not_received,
                left_out=0 if loss is None else loss.left_out,
            )
        )
        hour -= HOUR
    return hours


def _sum_by_reason(rejections: Sequence[RejectionCount]) -> list[RejectionCount]:
    sums: dict[tuple[RecordSource, LogKind, RejectionReason, str], RejectionCount] = {}
    for rejection in rejections:
        key = (rejection.source, rejection.kind, rejection.reason, rejection.field)
        if key in sums:
            sums[key] = replace(sums[key], records=sums[key].records + rejection.records)
        else:
            # Rejections are newest first, so this one has the newest hour.
            sums[key] = rejection
    return sorted(sums.values(), key=lambda rejection: (-rejection.records, describe_rejection(rejection)))


def _sum_ignored(counts: Sequence[IntakeCount]) -> IgnoredEvents:
    return IgnoredEvents(
        events=sum(count.count for count in counts),
        reason=next((count.reason for count in counts if count.reason), ""),
    )


def _find_signs(
    hours: Sequence[IngestionHour],
    rejections: Sequence[RejectionCount],
    ignored: Sequence[IntakeCount],
    *,
    is_present: bool,
) -> list[str]:
    newest = hours[:24]
    span = ("hour" if len(newest) == 1 else f"{len(newest)} hours") + ("" if is_present else " of this time")
    signs = []
    silent_since = next((hour.hour + HOUR for hour in hours if hour.payload), None)
    # The present hour may have just begun, so one whole hour without a record comes first.
    if is_present and silent_since is not None and silent_since < hours[0].hour:
        signs.append(
            f"No payload record has arrived since {silent_since:%Y-%m-%d %H:%M} UTC. Look whether the model "
            "is still called."
        )
    rejected = sum(hour.rejected for hour in newest)
    if rejected:
        sent = rejected + sum(sum(hour.payload.values()) + sum(hour.feedback.values()) for hour in newest)
        since = newest[-1].hour
        lines = _sum_by_reason(
            [
                rejection
                for rejection in rejections
                if rejection.hour >= since and rejection.reason is not RejectionReason.UNREADABLE
            ]
        )
        share = f"{rejected:,} of {sent:,}" if sent > rejected else f"All {rejected:,}"
        signs.append(
            f"{share} records of the last {span} were rejected and are in no figure. The most frequent "
            f"reason: {describe_rejection(lines[0])} ({lines[0].records:,})."
        )
    unreadable = sum(hour.unreadable_requests for hour in newest)
    if unreadable:
        requests = "1 request" if unreadable == 1 else f"{unreadable:,} requests"
        signs.append(f"{requests} of the last {span} could not be read. Each may have held many records.")
    unused = _sum_ignored([count for count in ignored if count.hour >= newest[-1].hour])
    # Some senders also send events that are no calls. Where nothing else came, the sender is set up wrongly.
    if unused.events and not any(hour.payload.get(RecordSource.EVENT) for hour in newest):
        opening = (
            "The only event of the last {span} was"
            if unused.events == 1
            else f"All {unused.events:,} events of the last {{span}} were"
        )
        signs.append(f"{opening.format(span=span)} ignored: {unused.reason}.")
    lost = sum(hour.not_received for hour in newest)
    if lost:
        records, verb = ("1 record", "was") if lost == 1 else (f"{lost:,} records", "were")
        signs.append(
            f"{records} of the last {span} {verb} dropped by the programs that log before they reached "
            "Evenhand."
        )
    return signs
