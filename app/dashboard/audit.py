"""Audit page, for admins."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ..store.people import audit_events
from ..store.people.audit_events import AuditFilter
from ..web.access import Admin, NowIn, SessionIn
from ..web.paging import read_number_cursor
from .activity import SHOWN, ChosenEvents, list_events
from .rendering import page

router = APIRouter(include_in_schema=False)


@router.get("/audit")
def audit_page(
    request: Request,
    _admin: Admin,
    session: SessionIn,
    now: NowIn,
    before_no: Annotated[int, Depends(read_number_cursor)],
    chosen: Annotated[ChosenEvents, Depends()],
) -> Response:
    """Shows the audited events, newest first."""
    wanted = AuditFilter(deployment_id=chosen.deployment or None, actor=chosen.actor or None, action=chosen.action or None)
    found = audit_events.page(session, wanted, limit=SHOWN + 1, before_no=before_no or None)
    unsealed, oldest = audit_events.unsealed_since(session)
    return page(request, "audit.html", {"now": now, "unsealed": unsealed, "oldest": oldest, **list_events(session, found, chosen)})
