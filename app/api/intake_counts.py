"""The route of what became of calls."""

from datetime import UTC

from fastapi import APIRouter

from ..store.records.intake_counts import intake_hours
from ..web.access import ReadableDeployment, SessionIn
from ..web.paging import cut_at_place
from .missing_records import WantedHours
from .schemas.intake_counts import IntakeHourOut, IntakeHoursPage

router = APIRouter(prefix="/v1/deployments/{deployment_id}/intake-counts", tags=["records"])


@router.get("")
def list_intake_counts(deployment: ReadableDeployment, session: SessionIn, wanted: WantedHours) -> IntakeHoursPage:
    """Returns what became of calls through the gateway and of events by hour, newest first, `since` <= hour < `until`.

    Counts appear within ten seconds. Records that were lost before they could be kept are in `missing-records` instead.
    """
    found = intake_hours(session, deployment.no, since=wanted.since, until=wanted.until, limit=wanted.limit)
    page, next_cursor = cut_at_place(list(found), wanted.limit - 1, lambda hour: hour.astimezone(UTC))
    return IntakeHoursPage(hours=[IntakeHourOut.of(hour, found[hour]) for hour in page], next_cursor=next_cursor)
