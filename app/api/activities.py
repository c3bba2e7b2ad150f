"""Routes of activities, the record of who changed what."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..domain.paging import Paging
from ..security.principals import Permission
from ..store.people.activities import ActivityFilter, page
from ..web.access import ReadableDeployment, Reader, SessionIn
from ..web.paging import NumberPaging
from ..web.texts import ID_PATTERN
from .schemas.activities import ActivityPage

router = APIRouter(prefix="/v1", tags=["activity"])

_TEXT = r"^[^\x00]*$"

OfActor = Annotated[
    str | None, Query(max_length=300, pattern=_TEXT, description="Only changes by this actor: a key's id, or `user:` and a name.")
]
OfAction = Annotated[str | None, Query(max_length=100, pattern=_TEXT, description="Only this action.", examples=["monitor.changed"])]
OfDeployment = Annotated[
    str | None, Query(alias="deployment", pattern=ID_PATTERN, description="Only of deployments of this id, deleted ones too.")
]


@router.get("/activities")
def list_activities(
    principal: Reader,
    session: SessionIn,
    paging: NumberPaging,
    deployment_id: OfDeployment = None,
    actor: OfActor = None,
    action: OfAction = None,
) -> ActivityPage:
    """Returns who changed what, newest first; also of deployments that were deleted. Not for callers bound to one deployment (403)."""
    principal.require(Permission.READ)
    return _list_activities(session, ActivityFilter(deployment_id=deployment_id, actor=actor, action=action), paging)


@router.get("/deployments/{deployment_id}/activities")
def list_deployment_activities(
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: NumberPaging,
    actor: OfActor = None,
    action: OfAction = None,
) -> ActivityPage:
    """Returns who changed what of this deployment, newest first."""
    return _list_activities(session, ActivityFilter(deployment_no=deployment.no, actor=actor, action=action), paging)


def _list_activities(session: SessionIn, wanted: ActivityFilter, paging: Paging) -> ActivityPage:
    return ActivityPage.of(page(session, wanted, paging), paging)
