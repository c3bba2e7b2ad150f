"""Page of a deployment's ingestion."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..access.gate.caller import NowIn, SessionIn
from ..base.clock import HOUR, floor_to_hour
from ..base.values import frozen
from ..charts.pictures.axes import TimeTick, list_time_ticks
from ..charts.pictures.timeline_picture import VOLUME_HEIGHT, WIDTH, TimeAxis, draw_box
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
"""Hours that are listed, the newest."""

_BAR_SHARE, _MIN_HEIGHT = 0.9, 1.5
"""Width of a bar as a share of its hour, and least height of a count that is not 0."""


@frozen
class HoursLine:
    """Line of the list: one hour, or several in a row without records."""

    hours: Sequence[IngestionHour]
    is_empty: bool


@frozen
class ArrivalPicture:
    """Stacked bars of hours, as a path for each name: records received, rejected and lost."""

    paths: Sequence[tuple[str, str]]
    sentence: str
    ticks: Sequence[TimeTick]


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
        "arrivals": draw_arrivals(view.hours, listed, time_range.zone),
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
    """Finds the hours of a range; those of a preset include the present one and are as many as it says."""
    span = choice.span(now, usual=RangePreset.DAY)
    end = floor_to_hour(span.end - timedelta.resolution) + HOUR
    if choice.start is not None:
        return Span(start=floor_to_hour(span.start), end=end)
    return Span(start=end - (span.end - span.start) // HOUR * HOUR, end=end)


def draw_arrivals(hours: Sequence[IngestionHour], span: Span, zone: ZoneInfo) -> ArrivalPicture:
    names = ("received", "rejected", "lost")
    counts = [(sum(hour.payload.values()), hour.rejected, hour.not_received) for hour in hours]
    highest = max(map(sum, counts), default=0) or 1
    axis = TimeAxis(span)
    width = WIDTH / len(hours) * _BAR_SHARE
    boxes: list[list[str]] = [[] for _ in names]
    for hour, counts_of_hour in zip(hours, counts, strict=True):
        top = float(VOLUME_HEIGHT)
        for boxes_of_name, count in zip(boxes, counts_of_hour, strict=True):
            if count:
                # A few among many are seen, too.
                height = max(count / highest * VOLUME_HEIGHT, _MIN_HEIGHT)
                top -= height
                boxes_of_name.append(draw_box(axis.place(hour.hour), top, width, height))
    totals = [sum(column) for column in zip(*counts, strict=True)]
    total_list = ", ".join(f"{total:,} {name}" for total, name in zip(totals, names, strict=True))
    return ArrivalPicture(
        paths=[(name, "".join(boxes_of_name)) for name, boxes_of_name in zip(names, boxes, strict=True)],
        sentence=f"Records: {total_list}; at most {max(map(sum, counts), default=0):,} in an hour.",
        ticks=list_time_ticks(span, zone),
    )


def join_empty_hours(hours: Sequence[IngestionHour]) -> list[HoursLine]:
    lines = []
    for is_empty, group in groupby(hours, key=lambda hour: hour.is_empty):
        alike_hours = list(group)
        lines += (
            [HoursLine(alike_hours, is_empty)]
            if is_empty
            else [HoursLine([hour], is_empty) for hour in alike_hours]
        )
    return lines
