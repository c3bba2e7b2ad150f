"""Routes of activities, the record of who changed what, and of audit events, for admins."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..access.audit.activity_queries import ActivityFilter, page_activities
from ..access.audit.bodies import ActivityPage, AuditEventPage
from ..access.audit.event_queries import AuditFilter, page_events
from ..access.gate.caller import Admin, Reader, SessionIn
from ..access.principals import Permission
from ..web.route_declarations import ID_PATTERN, NumberPaging, OptionalMoment, in_utc
from .deployment_in_address import ReadableDeployment

router = APIRouter(prefix="/v1", tags=["activity"])

_TEXT_WITHOUT_NUL = r"^[^\x00]*$"

ActorFilter = Annotated[
    str | None,
    Query(
        max_length=300,
        pattern=_TEXT_WITHOUT_NUL,
        description="Only changes by this actor: a key's id, or `user:` and a name.",
    ),
]
ActionFilter = Annotated[
    str | None,
    Query(
        max_length=100,
        pattern=_TEXT_WITHOUT_NUL,
        description="Only this action.",
        examples=["monitor.changed"],
    ),
]
DeploymentFilter = Annotated[
    str | None,
    Query(
        alias="deployment",
        pattern=ID_PATTERN,
        description="Only of deployments of this id, deleted ones too.",
    ),
]


@router.get("/activities")
def list_activities(
    principal: Reader,
    session: SessionIn,
    paging: NumberPaging,
    deployment_id: DeploymentFilter = None,
    actor: ActorFilter = None,
    action: ActionFilter = None,
) -> ActivityPage:
    """Returns who changed what, newest first; also of deployments that were deleted. Not for callers bound
    to one deployment (403).
    """
    principal.require(Permission.READ)
    filters = ActivityFilter(deployment_id=deployment_id, actor=actor, action=action)
    return ActivityPage.of(page_activities(session, filters, paging), paging)


@router.get("/deployments/{deployment_id}/activities")
def list_deployment_activities(
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: NumberPaging,
    actor: ActorFilter = None,
    action: ActionFilter = None,
) -> ActivityPage:
    """Returns who changed what of this deployment, newest first."""
    filters = ActivityFilter(deployment_no=deployment.no, actor=actor, action=action)
    return ActivityPage.of(page_activities(session, filters, paging), paging)


@router.get("/audit-events")
def list_audit_events(
    _admin: Admin,
    session: SessionIn,
    paging: NumberPaging,
    actor: ActorFilter = None,
    action: ActionFilter = None,
    deployment_id: DeploymentFilter = None,
    since: OptionalMoment = None,
    until: OptionalMoment = None,
) -> AuditEventPage:
    """Returns log-ins, refusals, changes, and reads and exports of records, newest first, `since` <= `at`
    < `until`.
    """
    earliest = in_utc("since", since)
    filters = AuditFilter(
        actor=actor, action=action, deployment_id=deployment_id, since=earliest, until=in_utc("until", until)
    )
    return AuditEventPage.of(page_events(session, filters, paging), paging)
