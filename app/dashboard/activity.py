"""Activity page: changes, and who made them."""

from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ..store.people import activities
from ..store.people.activities import ActivityFilter
from ..web.access import NowIn, Reader, SessionIn
from ..web.paging import cut, read_number_cursor
from .people import people
from .rendering import page

router = APIRouter(include_in_schema=False)

SHOWN = 50

CHECK_REQUESTED = "check.requested"
"""Action that is left out unless a person asks for it: it changes nothing, and programs ask for checks often."""

Text = Annotated[str, Field(max_length=300, pattern=r"^[^\x00]*$")]


class ChosenActivities(BaseModel):
    """Filter of a person; an empty member allows all, except that check requests are shown only if `checks` or `action` says so."""

    deployment: Text = ""
    actor: Text = ""
    action: Text = ""
    checks: Literal["shown", ""] = ""


@router.get("/activity")
def activity_page(
    request: Request,
    principal: Reader,
    session: SessionIn,
    now: NowIn,
    before_no: Annotated[int, Depends(read_number_cursor)],
    chosen: Annotated[ChosenActivities, Depends()],
) -> Response:
    """Returns the changes, newest first; a person who is bound to one deployment sees those of that one."""
    wanted = ActivityFilter(
        deployment_no=principal.deployment_no,
        deployment_id=chosen.deployment or None,
        actor=chosen.actor or None,
        action=chosen.action or None,
        without_action=None if chosen.checks or chosen.action else CHECK_REQUESTED,
    )
    found = activities.page(session, wanted, limit=SHOWN + 1, before_no=before_no or None)
    shown, cursor = cut(found, SHOWN, lambda one: one.no)
    older = f"?{urlencode({**chosen.model_dump(), 'cursor': cursor})}" if cursor else None
    names = people(session, (one.actor for one in shown))
    return page(request, "activity.html", {"activities": shown, "names": names, "older": older, "now": now, **chosen.model_dump()})
