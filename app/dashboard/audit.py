"""Audit page: who did or read what, from where. For admins."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.responses import Response

from ..store.people import audit_events
from ..store.people.audit_events import AuditFilter
from ..web.access import Admin, NowIn, SessionIn
from ..web.paging import cut, read_number_cursor
from .activity import Text
from .people import people
from .rendering import page

router = APIRouter(include_in_schema=False)

SHOWN = 50


class ChosenEvents(BaseModel):
    """Filter of a person; an empty member allows all."""

    deployment: Text = ""
    actor: Text = ""
    action: Text = ""


@router.get("/audit")
def audit_page(
    request: Request,
    _admin: Admin,
    session: SessionIn,
    now: NowIn,
    before_no: Annotated[int, Depends(read_number_cursor)],
    chosen: Annotated[ChosenEvents, Depends()],
) -> Response:
    """Returns the audited events, newest first."""
    wanted = AuditFilter(deployment_id=chosen.deployment or None, actor=chosen.actor or None, action=chosen.action or None)
    found = audit_events.page(session, wanted, limit=SHOWN + 1, before_no=before_no or None)
    shown, cursor = cut(found, SHOWN, lambda one: one.no)
    older = f"?{urlencode({**chosen.model_dump(), 'cursor': cursor})}" if cursor else None
    unsealed, oldest = audit_events.unsealed_since(session)
    values = {"events": shown, "names": people(session, (one.actor for one in shown)), "older": older, "now": now}
    return page(request, "audit.html", {**values, "unsealed": unsealed, "oldest": oldest, **chosen.model_dump()})
