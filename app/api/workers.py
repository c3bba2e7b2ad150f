"""The route that tells whether a worker answers."""

from fastapi import APIRouter

from app.api.answers import problems
from app.api.schemas.workers import WorkersOut
from app.store.workers import workers_seen
from app.web.access import Reader, SessionIn

router = APIRouter(prefix="/v1/workers", tags=["health"])


@router.get("", operation_id="readWorkers", responses=problems())
def read_workers(_principal: Reader, session: SessionIn) -> WorkersOut:
    """Whether a worker answers, and since when none does. While none does, checks and alerts wait; logging goes on.

    Any key that may read sees it: it says nothing of any deployment.
    """
    return WorkersOut.of(workers_seen(session))
