"""The route of what came in for a deployment."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..domain.arrivals import KEPT
from ..views.ingestion import ingestion_of
from ..web.access import NowIn, ReadableDeployment, SessionIn
from .schemas.ingestion import IngestionOut

router = APIRouter(prefix="/v1/deployments/{deployment_id}/ingestion", tags=["records"])

MAX_HOURS = KEPT.days * 24

Hours = Annotated[int, Query(ge=1, le=MAX_HOURS, description="Number of hours, the present one included.")]


@router.get("")
def read_ingestion(deployment: ReadableDeployment, session: SessionIn, *, now: NowIn, hours: Hours = 48) -> IngestionOut:
    """Returns the records that arrived by hour and source, those that were rejected with the reasons, and those that are missing.

    Counts are kept for 31 days. Rejected records are counted by the kind of reason and the field; no value of a record is kept.
    """
    return IngestionOut.of(ingestion_of(session, deployment.no, now, hours=hours))
