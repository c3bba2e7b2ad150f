"""Routes of alerts: lists, one alert as far as the caller may see it, and the work on it."""

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from ..access.audit.activity_queries import record_activity
from ..access.gate.caller import Acknowledger, Manager, Reader, SessionIn
from ..access.principals import USER, Principal
from ..access.users import queries as users
from ..access.users.user_rules import is_assignable
from ..base.errors import Conflict, InvalidInput, NotFound
from ..base.values import character_problem
from ..deployments.deployment_in_address import DeploymentsIn, ReadableDeployment
from ..domain.alert import Alert, AlertState
from ..web.route_declarations import CONFLICT, ID_PATTERN, NOT_FOUND, NumberPaging, uuid_path
from .bodies import (
    AcknowledgementIn,
    AcknowledgementsIn,
    AcknowledgementsOut,
    AlertOut,
    AlertPage,
    AssignmentIn,
    ClosureIn,
    CommentIn,
    CommentOut,
    CommentPage,
)
from .lifecycle import close_by_hand, record_acknowledgement, record_assignment
from .queries import AlertFilter, alerts_page, comments_page, get_alert, put_comment

router = APIRouter(tags=["alerts"])

AlertId = Annotated[str, uuid_path("The alert's id.", "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11")]


def require_seen(principal: Principal, session: Session, alert_id: str) -> Alert:
    alert = get_alert(session, alert_id)
    # The same words as for an id that does not exist: a bound key must not distinguish the two.
    if not principal.sees(alert.deployment_no):
        raise NotFound("alert", alert_id)
    return alert


def readable_alert(principal: Reader, session: SessionIn, alert_id: AlertId) -> Alert:
    return require_seen(principal, session, alert_id)


def handled_alert(principal: Acknowledger, session: SessionIn, alert_id: AlertId) -> Alert:
    return require_seen(principal, session, alert_id)


def managed_alert(principal: Manager, session: SessionIn, alert_id: AlertId) -> Alert:
    return require_seen(principal, session, alert_id)


ReadableAlert = Annotated[Alert, Depends(readable_alert)]
HandledAlert = Annotated[Alert, Depends(handled_alert)]
ManagedAlert = Annotated[Alert, Depends(managed_alert)]

StateIn = Annotated[AlertState | None, Query(description="Only alerts in this state.")]
AttributeIn = Annotated[
    str | None, Query(max_length=1000, pattern=r"^[^\x00]*$", description="Only alerts about this attribute.")
]
DeploymentIn = Annotated[
    str | None, Query(pattern=ID_PATTERN, description="Only alerts of the deployment of this id.")
]


@router.get("/v1/alerts")
def list_alerts(
    *,
    principal: Reader,
    session: SessionIn,
    paging: NumberPaging,
    state: StateIn = None,
    deployment: DeploymentIn = None,
    attribute: AttributeIn = None,
) -> AlertPage:
    """Returns the alerts of all deployments that the caller sees, newest first."""
    filters = AlertFilter(
        deployment_no=principal.deployment_no, deployment_id=deployment, state=state, attribute=attribute
    )
    return AlertPage.of(alerts_page(session, filters, paging), paging)


@router.get("/v1/deployments/{deployment_id}/alerts")
def list_alerts_of_deployment(
    *,
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: NumberPaging,
    state: StateIn = None,
    attribute: AttributeIn = None,
) -> AlertPage:
    """Returns the deployment's alerts, newest first."""
    filters = AlertFilter(deployment_no=deployment.no, state=state, attribute=attribute)
    return AlertPage.of(alerts_page(session, filters, paging), paging)


@router.get("/v1/alerts/{alert_id}", responses=NOT_FOUND)
def read_alert(alert: ReadableAlert) -> AlertOut:
    """Returns one alert."""
    return AlertOut.from_object(alert)


@router.post("/v1/alerts/{alert_id}/acknowledgement", responses=NOT_FOUND | CONFLICT)
def acknowledge_alert(
    principal: Acknowledger,
    deployments: DeploymentsIn,
    alert: HandledAlert,
    session: SessionIn,
    body: AcknowledgementIn | None = None,
) -> AlertOut:
    """Acknowledges an alert: it stays open, without further reminders, and is assigned to the caller if it is
    to nobody.

    The first acknowledgement counts; again changes nothing. 409 if it is resolved.
    """
    note = check_note(body.note if body else None) or None

    acknowledged, _ = _acknowledge(session, deployments, principal, alert, note)
    return AlertOut.from_object(acknowledged)


@router.post("/v1/alerts/{alert_id}/closure", responses=NOT_FOUND | CONFLICT)
def close_alert(
    principal: Manager, deployments: DeploymentsIn, alert: ManagedAlert, session: SessionIn, body: ClosureIn
) -> AlertOut:
    """Closes an alert of the kind `evidence`: evidence on its figure begins again with the next hour. Closing
    it again changes nothing.

    The first note and reason count. 409 if it is of another kind, which is resolved automatically, or
    resolved for another reason.
    """
    note = check_note(body.note)
    if not note:
        raise InvalidInput("note", "must say why the alert is closed")

    deployment = deployments.get_for_change(alert.deployment_id)
    closed, is_new = close_by_hand(session, alert, by=principal.actor, note=note, reason=body.reason)
    if is_new:
        details = {"note": note, "reason": body.reason and body.reason.value}
        record_activity(
            session, principal.actor, "alert.closed", deployment, subject=alert.id, details=details
        )
    return AlertOut.from_object(closed)


CommentId = Annotated[
    str,
    uuid_path(
        "An id that the caller makes up for a new comment: a UUID in lower case.",
        "7b1f0f3e-58f3-4f3b-9a53-2f6f0f0f7c21",
    ),
]


@router.post("/v1/alert-acknowledgements", responses=NOT_FOUND)
def acknowledge_alerts(
    principal: Acknowledger, deployments: DeploymentsIn, session: SessionIn, body: AcknowledgementsIn
) -> AcknowledgementsOut:
    """Acknowledges several alerts with one note, all or none of them. Those that are resolved stay as they
    are; again changes nothing.
    """
    note = check_note(body.note) or None
    alerts = []
    for index, alert_id in enumerate(body.alerts):
        try:
            alerts.append(require_seen(principal, session, alert_id))
        except NotFound as error:
            raise InvalidInput(f"alerts[{index}]", "is not the id of an alert that you see") from error

    acknowledged = 0
    # In the order of their numbers, as all code locks alerts.
    for alert in sorted({alert.no: alert for alert in alerts}.values(), key=lambda alert: alert.no):
        if alert.state is not AlertState.RESOLVED:
            with suppress(Conflict):  # It was resolved since it was read a moment ago.
                acknowledged += _acknowledge(session, deployments, principal, alert, note)[1]
    return AcknowledgementsOut(
        alerts=[AlertOut.from_object(get_alert(session, alert.id)) for alert in alerts],
        acknowledged=acknowledged,
    )


@router.put("/v1/alerts/{alert_id}/assignment", responses=NOT_FOUND | CONFLICT)
def assign_alert(
    principal: Acknowledger,
    deployments: DeploymentsIn,
    alert: HandledAlert,
    session: SessionIn,
    body: AssignmentIn,
) -> AlertOut:
    """Assigns an alert to a person, or to nobody. Again changes nothing. 409 if it is resolved."""
    if body.assignee is not None and body.assignee != principal.actor:
        user = (
            users.find(session, body.assignee.removeprefix(USER)) if body.assignee.startswith(USER) else None
        )
        if user is None or not is_assignable(user, alert.deployment_no):
            raise InvalidInput(
                "assignee",
                "must be `user:` and the name of a user who may acknowledge alerts of this deployment",
            )
    assigned, is_new = record_assignment(session, alert, body.assignee)
    if is_new:
        deployment = deployments.by_no(alert.deployment_no)
        details = {"assignee": body.assignee}
        record_activity(
            session, principal.actor, "alert.assigned", deployment, subject=alert.id, details=details
        )
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
    """Stores a comment on an alert, resolved or not. Sending it again adds nothing. 409 if the id is that
    of another comment.
    """
    text = check_note(body.text, "text")
    if not text:
        raise InvalidInput("text", "must not be blank")
    comment, is_new = put_comment(session, alert, comment_id, by=principal.actor, text=text)
    if is_new:
        deployment = deployments.by_no(alert.deployment_no)
        details = {"comment": comment_id}
        record_activity(
            session, principal.actor, "alert.commented", deployment, subject=alert.id, details=details
        )
    return CommentOut.from_object(comment)


@router.get("/v1/alerts/{alert_id}/comments", responses=NOT_FOUND)
def list_alert_comments(alert: ReadableAlert, session: SessionIn, paging: NumberPaging) -> CommentPage:
    """Returns the comments on an alert, oldest first."""
    return CommentPage.of(comments_page(session, alert, paging), paging)


def _acknowledge(
    session: Session, deployments: DeploymentsIn, principal: Principal, alert: Alert, note: str | None
) -> tuple[Alert, bool]:
    """Alert as it is now, and whether this call acknowledged it. Raises Conflict."""
    acknowledged, is_new = record_acknowledgement(session, alert, by=principal.actor, note=note)
    if is_new:
        deployment = deployments.by_no(alert.deployment_no)
        details = {"note": note}
        record_activity(
            session, principal.actor, "alert.acknowledged", deployment, subject=alert.id, details=details
        )
    return acknowledged, is_new


def check_note(text: str | None, field: str = "note") -> str:
    """Text without spaces around it; line breaks are allowed."""
    stripped = (text or "").strip()
    wrong = character_problem(stripped.replace("\n", " ").replace("\r", " ").replace("\t", " "))
    if wrong is not None:
        raise InvalidInput(field, wrong)
    return stripped
