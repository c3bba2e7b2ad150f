"""Page of a deployment's ingestion: records by hour and source, rejections, missing records."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ..views.ingestion import REMEDIES, SOURCE_WORDS, IngestionHour, ingestion_of
from ..web.access import NowIn, ReadableDeployment, SessionIn
from .ranges import KEEPS_RANGE
from .records_in_files import list_tables
from .rendering import page

router = APIRouter(prefix="/deployments/{deployment_id}/ingestion", include_in_schema=False, dependencies=[KEEPS_RANGE])

SPANS: Final = {24: "24 hours", 48: "2 days", 168: "7 days"}
"""Time spans that the page offers, in hours."""


@dataclass(frozen=True, slots=True)
class ShownHours:
    """Hours that are one line: a single one, or neighbours in which nothing came in. The newest is first."""

    hours: Sequence[IngestionHour]
    is_empty: bool


Span = Annotated[Literal["24", "48", "168"], Query()]


@router.get("")
def ingestion_page(request: Request, deployment: ReadableDeployment, session: SessionIn, *, now: NowIn, hours: Span = "24") -> Response:
    """Returns the page."""
    found = ingestion_of(session, deployment.no, now, hours=int(hours))
    values = {
        "deployment": deployment,
        "tables": list_tables(session, deployment),
        "found": found,
        "lines": join_empty_hours(found.hours),
        "hours": int(hours),
        "spans": SPANS,
        "sources": SOURCE_WORDS,
        "remedies": REMEDIES,
        "as_json": f"/v1/deployments/{deployment.id}/ingestion?hours={hours}",
    }
    return page(request, "ingestion.html", values)


def join_empty_hours(hours: Sequence[IngestionHour]) -> list[ShownHours]:
    """Returns the hours as lines: a night without a record must not push what matters off a phone's screen."""
    lines: list[ShownHours] = []
    for is_empty, neighbours in groupby(hours, key=lambda hour: hour.is_empty):
        run = list(neighbours)
        lines += [ShownHours(run, is_empty)] if is_empty else [ShownHours([hour], is_empty) for hour in run]
    return lines
