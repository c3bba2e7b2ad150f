"""Routes of records and calls by hour, and of records that Evenhand did not get."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ...access.gate.caller import NowIn, Reader, SessionIn
from ...base.clock import HOUR, floor_to_hour
from ...base.errors import FieldProblem, InvalidInput, refuse
from ...base.values import frozen
from ...deployments.deployment_in_address import LoggableDeployment, ReadableDeployment
from ...domain.check import Span
from ...domain.record_times import KEPT, TimeRule
from ...web.route_declarations import (
    Limit,
    OptionalMoment,
    PlaceCursor,
    cut_at_place,
    in_utc,
    read_place_cursor,
    uuid_path,
)
from .arrival_queries import MissingTotals, put_missing, read_intake_hours, read_missing_hours
from .bodies import (
    IngestionOut,
    IntakeCountOut,
    IntakeHourOut,
    IntakeHoursPage,
    MissingHourOut,
    MissingHoursPage,
    MissingRecordsIn,
)
from .hourly_view import read_ingestion_view

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["records"])

SenderId = Annotated[
    str,
    uuid_path(
        "An id that the sender (a process that logs) has made for itself.",
        "0b9d6c1e-5f43-4d1a-9c55-3c8f5f0f9a71",
    ),
]


@frozen
class HourRange:
    since: datetime | None
    until: datetime | None
    limit: int


def read_hours(
    since: OptionalMoment = None, until: OptionalMoment = None, limit: Limit = 100, cursor: PlaceCursor = None
) -> HourRange:
    before = read_place_cursor(cursor, datetime)
    if before is not None and before.tzinfo is None:
        raise InvalidInput("cursor", "is not a cursor from this list")
    ends = [end for end in (in_utc("until", until), in_utc("cursor", before)) if end is not None]
    return HourRange(in_utc("since", since), min(ends, default=None), limit + 1)


HourRangeIn = Annotated[HourRange, Depends(read_hours)]


@router.put("/missing-records/{sender_id}", status_code=204)
def put_missing_records(
    body: MissingRecordsIn,
    deployment: LoggableDeployment,
    session: SessionIn,
    sender_id: SenderId,
    *,
    now: NowIn,
) -> None:
    """Stores how many records a sender dropped, or left out of its sample, by hour.

    The counts are running totals of the sender: of each hour the highest one counts, so the same message
    may be sent again. `evenhand-client` sends them by itself. Checks show them next to the figures of
    these hours.
    """
    totals = [hour.read_as(MissingTotals) for hour in body.hours]
    rule = TimeRule.at(now, deployment.earliest)
    hours = [hour_totals.hour for hour_totals in totals]
    problems = []
    # Hours must be whole, plausible, and there once.
    for index, hour in enumerate(hours):
        problem = None
        if not rule.earliest <= hour <= rule.latest:
            problem = (
                f"must be between {rule.earliest:%Y-%m-%dT%H:%M:%SZ} and {rule.latest:%Y-%m-%dT%H:%M:%SZ}"
            )
        elif hour != floor_to_hour(hour):
            problem = "must be the beginning of an hour"
        elif hours.count(hour) > 1:
            problem = "must be there once"
        if problem is not None:
            problems.append(FieldProblem(f"hours[{index}].hour", problem))
    refuse(problems)
    put_missing(session, deployment.no, sender_id, body.sample_rate, totals)


@router.get("/missing-records")
def list_missing_records(
    deployment: ReadableDeployment, session: SessionIn, period: HourRangeIn
) -> MissingHoursPage:
    """Returns the hours in which records are missing, newest first, `since` <= hour < `until`."""
    missing = read_missing_hours(session, deployment.no, **asdict(period))
    page, next_cursor = cut_at_place(missing, period.limit - 1, lambda hour: hour.hour.astimezone(UTC))
    return MissingHoursPage(
        hours=[MissingHourOut.from_object(hour) for hour in page], next_cursor=next_cursor
    )


MAX_HOURS = KEPT.days * 24

Hours = Annotated[int, Query(ge=1, le=MAX_HOURS, description="Number of hours, the present one included.")]


@router.get("/ingestion")
def read_ingestion(
    deployment: ReadableDeployment, session: SessionIn, *, now: NowIn, hours: Hours = 48
) -> IngestionOut:
    """Returns the records that arrived by hour and source, those that were rejected with the reasons, and
    those that are missing.

    Counts are kept for 31 days. Rejected records are counted by the kind of reason and the field; no value
    of a record is kept.
    """
    until = floor_to_hour(now) + HOUR
    return IngestionOut.of(
        read_ingestion_view(session, deployment.no, Span(start=until - hours * HOUR, end=until), now)
    )


@router.get("/intake-counts")
def list_intake_counts(
    principal: Reader, deployment: ReadableDeployment, session: SessionIn, period: HourRangeIn
) -> IntakeHoursPage:
    """Returns what became of calls through the gateway and of events by hour, newest first, `since` <= hour <
    `until`.

    Counts appear within ten seconds. Records that were lost before they could be kept are in
    `missing-records` instead.
    """
    counts = read_intake_hours(session, deployment.no, **asdict(period))
    page, next_cursor = cut_at_place(list(counts), period.limit - 1, lambda hour: hour.astimezone(UTC))
    hidden = {} if principal.may_read_records else {"reason": None}
    hours = [
        IntakeHourOut(
            hour=hour, counts=[IntakeCountOut.from_object(count, **hidden) for count in counts[hour]]
        )
        for hour in page
    ]
    return IntakeHoursPage(hours=hours, next_cursor=next_cursor)
