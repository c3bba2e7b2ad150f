"""Page of activities, and the page of the audit for admins."""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.audit import activity_queries as activities
from ...access.audit import event_queries as audit_events
from ...access.audit.activity_queries import ActivityFilter
from ...access.audit.event_queries import AuditEvent, AuditFilter
from ...access.gate.caller import Admin, Reader, SessionIn
from ...database.tables import ActivityRow
from ...domain.paging import Paging
from ...web.route_declarations import NumberCursor, cut
from ..render import name_actors, show_page

router = APIRouter(include_in_schema=False)

SHOWN_EVENTS = 50

CHECK_REQUESTED = "check.requested"
"""Left out unless asked for: it changes nothing and is frequent."""

Text = Annotated[str, Field(max_length=300, pattern=r"^[^\x00]*$")]


class ChosenEvents(BaseModel):
    """Filter that the address names; an empty member allows all."""

    deployment: Text = ""
    actor: Text = ""
    action: Text = ""


class ChosenActivities(ChosenEvents):
    """Shows check requests only if `checks` or `action` says so."""

    checks: Literal["shown", ""] = ""


@router.get("/activity")
def show_activity_page(
    request: Request,
    principal: Reader,
    session: SessionIn,
    before_no: NumberCursor,
    chosen: Annotated[ChosenActivities, Depends()],
) -> Response:
    """Shows activities, the newest first. A person bound to one deployment sees those of it alone."""
    query = ActivityFilter(
        deployment_no=principal.deployment_no,
        deployment_id=chosen.deployment or None,
        actor=chosen.actor or None,
        action=chosen.action or None,
        without_action=None if chosen.checks or chosen.action else CHECK_REQUESTED,
    )
    events = activities.page_activities(session, query, Paging(SHOWN_EVENTS + 1, before_no))
    return show_page(request, "activity.html", list_events(session, events, chosen))


def list_events(
    session: Session, events: Sequence[ActivityRow | AuditEvent], chosen: ChosenEvents
) -> dict[str, object]:
    shown, cursor = cut(events, Paging(SHOWN_EVENTS + 1))
    filters = chosen.model_dump()
    older = f"?{urlencode({**filters, 'cursor': cursor})}" if cursor else None
    return {
        "events": shown,
        "names": name_actors(session, (event.actor for event in shown)),
        "older": older,
        **filters,
    }


@router.get("/audit")
def show_audit_page(
    request: Request,
    _admin: Admin,
    session: SessionIn,
    before_no: NumberCursor,
    chosen: Annotated[ChosenEvents, Depends()],
) -> Response:
    query = AuditFilter(
        deployment_id=chosen.deployment or None, actor=chosen.actor or None, action=chosen.action or None
    )
    events = audit_events.page_events(session, query, Paging(SHOWN_EVENTS + 1, before_no))
    unsealed, oldest = audit_events.read_unsealed(session)
    return show_page(
        request,
        "audit.html",
        {"unsealed": unsealed, "oldest": oldest, **list_events(session, events, chosen)},
    )
