"""Page of a deployment's ingestion."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..access.gate.caller import NowIn, SessionIn
from ..base.clock import HOUR, floor_to_hour
from ..base.values import frozen
from ..charts.time_ranges import RangeChoice, RangePreset
from ..deployments.deployment_in_address import ReadableDeployment
from ..domain.check import Span
from ..intake.volume.hourly_view import (
    SOURCE_WORDS,
    IngestionHour,
    describe_rejection,
    find_remedy,
    read_ingestion_view,
)
from .range_bar import KEEPS_RANGE, RangeIn, build_bar
from .record.files_page import list_tables
from .render import show_page

router = APIRouter(
    prefix="/deployments/{deployment_id}/ingestion", include_in_schema=False, dependencies=[KEEPS_RANGE]
)

MAX_HOURS = 168
"""That are listed, the newest."""


@frozen
class HoursLine:
    """Line of the list: one hour with records, or a run of hours without."""

    hours: Sequence[IngestionHour]
    is_empty: bool


@router.get("")
def show_ingestion_page(
    request: Request, deployment: ReadableDeployment, session: SessionIn, *, now: NowIn, time_range: RangeIn
) -> Response:
    span = find_whole_hours(time_range, now)
    listed = Span(start=max(span.start, span.end - MAX_HOURS * HOUR), end=span.end)
    view = read_ingestion_view(session, deployment.no, listed, now)
    values = {
        "deployment": deployment,
        "tables": list_tables(session, deployment),
        "found": view,
        "lines": join_empty_hours(view.hours),
        "bar": build_bar(request, time_range, span, usual=RangePreset.DAY),
        "is_cut": listed != span,
        "listed": listed,
        "is_present": listed.end > now,
        "sources": SOURCE_WORDS,
        "sentence_of": describe_rejection,
        "remedy_of": find_remedy,
        "as_json": f"/v1/deployments/{deployment.id}/ingestion?hours={len(view.hours)}",
    }
    return show_page(request, "ingestion.html", values)


def find_whole_hours(choice: RangeChoice, now: datetime) -> Span:
    """Finds the hours that the range touches; a preset has its length, the present hour included."""
    span = choice.span(now, usual=RangePreset.DAY)
    end = floor_to_hour(span.end - timedelta.resolution) + HOUR
    return Span(
        start=floor_to_hour(span.start)
        if choice.start is not None
        else end - (span.end - span.start) // HOUR * HOUR,
        end=end,
    )


def join_empty_hours(hours: Sequence[IngestionHour]) -> list[HoursLine]:
    """Joins hours without records, which would push the others off a phone's screen."""
    lines: list[HoursLine] = []
    for is_empty, group in groupby(hours, key=lambda hour: hour.is_empty):
        run = list(group)
        lines += [HoursLine(run, is_empty)] if is_empty else [HoursLine([hour], is_empty) for hour in run]
    return lines
