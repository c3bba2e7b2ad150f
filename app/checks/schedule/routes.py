"""The route that returns whether a worker answers."""

from fastapi import APIRouter

from ...access.gate.caller import Reader, SessionIn
from .bodies import WorkersOut
from .worker_queries import read_workers_seen

router = APIRouter(prefix="/v1/workers", tags=["health"])


@router.get("")
def read_workers(_principal: Reader, session: SessionIn) -> WorkersOut:
    """Returns whether a worker answers, and since when none does. While none does, checks and alerts wait;
    logging goes on.

    Any key that may read sees it: it says nothing of any deployment.
    """
    return WorkersOut.of(read_workers_seen(session))
