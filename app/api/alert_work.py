"""Routes of the work on alerts."""

from typing import Annotated

from fastapi import APIRouter
from sqlalchemy.orm import Session

from ..alerts.lifecycle import record_acknowledgement, record_assignment
from ..domain.alerts import Alert, AlertState
from ..errors import Conflict, InvalidInput, NotFound
from ..security.assignees import is_assignable
from ..security.principals import USER, Principal
from ..store.alerts.alert_comments import comments_page, put_comment
from ..store.alerts.alerts import get_alert
from ..store.people import users
from ..store.people.activities import record_activity
from ..web.access import Acknowledger, DeploymentsIn, SessionIn
from ..web.paging import NumberPaging
from ..web.texts import uuid_path
from .answers import CONFLICT, NOT_FOUND
from .schemas.alert_work import (
    AcknowledgementsIn,
    AcknowledgementsOut,
    AssignmentIn,
    CommentIn,
    CommentOut,
    CommentPage,
)
from .schemas.alerts import AlertOut
from .seen_alerts import HandledAlert, ReadableAlert, check_note, require_seen

router = APIRouter(tags=["alerts"])

CommentId = Annotated[
    str, uuid_path("An id that the caller makes up for a new comment: a UUID in lower case.", "7b1f0f3e-58f3-4f3b-9a53-2f6f0f0f7c21")
]


@router.post("/v1/alert-acknowledgements", responses=NOT_FOUND)
def acknowledge_alerts(
    principal: Acknowledger, deployments: DeploymentsIn, session: SessionIn, body: AcknowledgementsIn
) -> AcknowledgementsOut:
    """Acknowledges several alerts with one note, all or none of them. Those that are resolved stay as they are; again changes nothing."""
    note = None if body.note is None else check_note(body.note) or None
    wanted = []
    for place, alert_id in enumerate(body.alerts):
        try:
            wanted.append(require_seen(principal, session, alert_id))
        except NotFound as error:
            raise InvalidInput.of(f"alerts[{place}]", "is not the id of an alert that you see") from error

    acknowledged = 0
    # In the order of their numbers, as all code locks alerts.
    for alert in sorted({one.no: one for one in wanted}.values(), key=lambda one: one.no):
        acknowledged += _acknowledge(session, deployments, principal, alert, note)
    return AcknowledgementsOut(alerts=[AlertOut.from_object(get_alert(session, one.id)) for one in wanted], acknowledged=acknowledged)


@router.put("/v1/alerts/{alert_id}/assignment", responses=NOT_FOUND | CONFLICT)
def assign_alert(
    principal: Acknowledger, deployments: DeploymentsIn, alert: HandledAlert, session: SessionIn, body: AssignmentIn
) -> AlertOut:
    """Assigns an alert to a person, or to nobody. Again changes nothing. 409 if it is resolved."""
    if body.assignee is not None and body.assignee != principal.actor:
        user = users.find(session, body.assignee.removeprefix(USER)) if body.assignee.startswith(USER) else None
        if user is None or not is_assignable(user, alert.deployment_no):
            raise InvalidInput.of("assignee", "must be `user:` and the name of a user who may acknowledge alerts of this deployment")
    assigned, is_new = record_assignment(session, alert, body.assignee)
    if is_new:
        deployment, details = deployments.by_no(alert.deployment_no), {"assignee": body.assignee}
        record_activity(session, principal.actor, "alert.assigned", deployment=deployment, subject=alert.id, details=details)
    return AlertOut.from_object(assigned)


@router.put("/v1/alerts/{alert_id}/comments/{comment_id}", responses=NOT_FOUND | CONFLICT)
def put_alert_comment(
    *,
    principal: Acknowledger,
    deployments: DeploymentsIn,
    alert: HandledAlert,
    comment_id: CommentId,
    session: SessionIn,
    body: CommentIn,
) -> CommentOut:
    """Stores a comment on an alert, resolved or not. Sending it again adds nothing. 409 if the id is that of another comment."""
    words = check_note(body.text, "text")
    if not words:
        raise InvalidInput.of("text", "must not be blank")
    comment, is_new = put_comment(session, alert, comment_id, by=principal.actor, text=words)
    if is_new:
        deployment, details = deployments.by_no(alert.deployment_no), {"comment": comment_id}
        record_activity(session, principal.actor, "alert.commented", deployment=deployment, subject=alert.id, details=details)
    return CommentOut.from_object(comment)


@router.get("/v1/alerts/{alert_id}/comments", responses=NOT_FOUND)
def list_alert_comments(alert: ReadableAlert, session: SessionIn, paging: NumberPaging) -> CommentPage:
    """Returns the comments on an alert, oldest first."""
    return CommentPage.of(comments_page(session, alert, paging), paging)


def _acknowledge(session: Session, deployments: DeploymentsIn, principal: Principal, alert: Alert, note: str | None) -> bool:
    if alert.state is AlertState.RESOLVED:
        return False
    try:
        _, is_new = record_acknowledgement(session, alert, by=principal.actor, note=note)
    except Conflict:
        # Resolved since it was read a moment ago.
        return False
    if is_new:
        deployment, details = deployments.by_no(alert.deployment_no), {"note": note}
        record_activity(session, principal.actor, "alert.acknowledged", deployment=deployment, subject=alert.id, details=details)
    return is_new
