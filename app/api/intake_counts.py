"""The route of what became of calls."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends

from ..store.records.intake_counts import intake_hours
from ..web.access import ReadableDeployment, SessionIn
from ..web.paging import Limit, cut_at_place
from ..web.times import Moment, in_utc
from .missing_records import read_hour_cursor
from .schemas.intake_counts import IntakeHourOut, IntakeHoursPage

router = APIRouter(prefix="/v1/deployments/{deployment_id}/intake-counts", tags=["records"])


@router.get("")
def list_intake_counts(
    deployment: ReadableDeployment,
    session: SessionIn,
    before: Annotated[datetime | None, Depends(read_hour_cursor)],
    *,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 100,
) -> IntakeHoursPage:
    """Returns what became of calls through the gateway and of events by hour, newest first, `since` <= hour < `until`.

    Counts appear within ten seconds. Records that were lost before they could be kept are in `missing-records` instead.
    """
    earliest, latest = in_utc("since", since), in_utc("until", until)
    ends = [end for end in (latest, before) if end is not None]
    found = intake_hours(session, deployment.no, since=earliest, until=min(ends, default=None), limit=limit + 1)
    page, next_cursor = cut_at_place(list(found), limit, lambda hour: hour.astimezone(UTC))
    return IntakeHoursPage(hours=[IntakeHourOut.of(hour, found[hour]) for hour in page], next_cursor=next_cursor)
