"""Page of a deployment's ingestion: records by hour and source, rejections, missing records."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ..views.ingestion import REMEDIES, SOURCE_WORDS, ingestion_of
from ..web.access import NowIn, ReadableDeployment, SessionIn
from .rendering import page

router = APIRouter(prefix="/deployments/{deployment_id}/ingestion", include_in_schema=False)

SPANS: Final = {24: "24 hours", 48: "2 days", 168: "7 days"}
"""Time spans that the page offers, in hours."""

Span = Annotated[Literal["24", "48", "168"], Query()]


@router.get("")
def ingestion_page(request: Request, deployment: ReadableDeployment, session: SessionIn, *, now: NowIn, hours: Span = "48") -> Response:
    """Returns the page."""
    found = ingestion_of(session, deployment.no, now, hours=int(hours))
    values = {
        "deployment": deployment,
        "found": found,
        "hours": int(hours),
        "spans": SPANS,
        "sources": SOURCE_WORDS,
        "remedies": REMEDIES,
        "as_json": f"/v1/deployments/{deployment.id}/ingestion?hours={hours}",
    }
    return page(request, "ingestion.html", values)
