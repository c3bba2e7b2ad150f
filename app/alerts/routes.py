"""Routes of alerts: lists, one alert as far as the caller may see it, and the work on it."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from ..access.audit.activity_queries import record_activity
from ..access.gate.caller import Acknowledger, Manager, Reader, SessionIn
from ..access.principals import USER_PREFIX, Principal
from ..access.users import user_rules as users
from ..base.errors import Conflict, InvalidInput, NotFound
from ..base.values import character_problem
from ..deployments.deployment_in_address import DeploymentsIn, ReadableDeployment
from ..domain.alert import Alert, AlertState, Resolution
from ..web.route_declarations import CONFLICT, ID_PATTERN, NOT_FOUND, NumberPaging, uuid_path
from .bodies import (
    AcknowledgementIn,
    AcknowledgementsIn,
    AlertOut,
    AlertPage,
    AssignmentIn,
    AssignmentsIn,
    ChangedAlertsOut,
    ClosureIn,
    ClosuresIn,
    CommentIn,
    CommentOut,
    CommentPage,
)
from .lifecycle import AlertWork
from .queries import AlertFilter, get_alert, page_alerts, page_comments, put_comment, read_alerts_by_no

router = APIRouter(tags=["alerts"])

AlertId = Annotated[str, uuid_path("The alert's id.", "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11")]


def require_readable(principal: Principal, session: Session, alert_id: str) -> Alert:
    """Raises NotFound if there is no such alert, or the caller may not see it."""
    alert = get_alert(session, alert_id)
    # The same words as for an id that does not exist: a bound key must not distinguish the two.
    if not principal.sees(alert.deployment_no):
        raise NotFound("alert", alert_id)
    return alert


def find_readable_alert(principal: Reader, session: SessionIn, alert_id: AlertId) -> Alert:
    return require_readable(principal, session, alert_id)


def find_handled_alert(principal: Acknowledger, session: SessionIn, alert_id: AlertId) -> Alert:
    return require_readable(principal, session, alert_id)


def find_managed_alert(principal: Manager, session: SessionIn, alert_id: AlertId) -> Alert:
    return require_readable(principal, session, alert_id)


ReadableAlert = Annotated[Alert, Depends(find_readable_alert)]
HandledAlert = Annotated[Alert, Depends(find_handled_alert)]
ManagedAlert = Annotated[Alert, Depends(find_managed_alert)]

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
    return AlertPage.of(page_alerts(session, filters, paging), paging, AlertOut.of)


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
    return AlertPage.of(page_alerts(session, filters, paging), paging, AlertOut.of)


@router.get("/v1/alerts/{alert_id}", responses=NOT_FOUND)
def read_alert(alert: ReadableAlert) -> AlertOut:
    """Returns one alert."""
    return AlertOut.of(alert)


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
    AlertWork(session, deployments, principal.actor).acknowledge([alert], note)
    return _answer_unless_resolved(session, alert, "acknowledge")


@router.post("/v1/alerts/{alert_id}/closure", responses=NOT_FOUND | CONFLICT)
def close_alert(
    principal: Manager, deployments: DeploymentsIn, alert: ManagedAlert, session: SessionIn, body: ClosureIn
) -> AlertOut:
    """Closes an alert with evidence: that on every figure in it begins again with the next hour. Closing it
    again changes nothing.

    The first note and reason count. 409 if it has no evidence and is resolved automatically, or was resolved
    for another reason.
    """
    note = check_closing_note(body.note)
    AlertWork(session, deployments, principal.actor).close([alert], note, body.reason)
    return _answer_unless_resolved(session, alert, "close", Resolution.CLOSED)


@router.put("/v1/alerts/{alert_id}/assignment", responses=NOT_FOUND | CONFLICT)
def assign_alert(
    principal: Acknowledger,
    deployments: DeploymentsIn,
    alert: HandledAlert,
    session: SessionIn,
    body: AssignmentIn,
) -> AlertOut:
    """Assigns an alert to a person, or to nobody. Again changes nothing. 409 if it is resolved."""
    check_assignee(session, principal, body.assignee, [alert])
    AlertWork(session, deployments, principal.actor).assign([alert], body.assignee)
    present = get_alert(session, alert.id)
    return _answer_unless_resolved(
        session, alert, "assign", present.resolution if present.assignee == body.assignee else None
    )


def _answer_unless_resolved(
    session: Session, alert: Alert, verb: str, allowed: Resolution | None = None
) -> AlertOut:
    """Raises Conflict if the alert is resolved otherwise than `allowed`."""
    present = get_alert(session, alert.id)
    if present.state is AlertState.RESOLVED and present.resolution is not allowed:
        raise Conflict(f"Alert {alert.id} is resolved; there is nothing left to {verb}.")
    return AlertOut.of(present)


@router.post("/v1/alert-acknowledgements", responses=NOT_FOUND)
def acknowledge_alerts(
    principal: Acknowledger, deployments: DeploymentsIn, session: SessionIn, body: AcknowledgementsIn
) -> ChangedAlertsOut:
    """Acknowledges several alerts with one note, all or none of them. Those that are resolved stay as they
    are; again changes nothing.
    """
    alerts = require_all_readable(principal, session, body.alerts)
    note = check_note(body.note) or None
    changed = AlertWork(session, deployments, principal.actor).acknowledge(alerts, note)
    return _answer_changed(session, alerts, changed)


@router.post("/v1/alert-assignments", responses=NOT_FOUND)
def assign_alerts(
    principal: Acknowledger, deployments: DeploymentsIn, session: SessionIn, body: AssignmentsIn
) -> ChangedAlertsOut:
    """Assigns several alerts to one person, or to nobody, all or none of them. Those that are resolved stay
    as they are; again changes nothing.
    """
    alerts = require_all_readable(principal, session, body.alerts)
    check_assignee(session, principal, body.assignee, alerts)
    changed = AlertWork(session, deployments, principal.actor).assign(alerts, body.assignee)
    return _answer_changed(session, alerts, changed)


@router.post("/v1/alert-closures", responses=NOT_FOUND | CONFLICT)
def close_alerts(
    principal: Manager, deployments: DeploymentsIn, session: SessionIn, body: ClosuresIn
) -> ChangedAlertsOut:
    """Closes several alerts with evidence, with one note, all or none of them. Those that are resolved stay
    as they are. 409 if one has no evidence.
    """
    alerts = require_all_readable(principal, session, body.alerts)
    note = check_closing_note(body.note)
    changed = AlertWork(session, deployments, principal.actor).close(alerts, note, body.reason)
    return _answer_changed(session, alerts, changed)


def require_all_readable(principal: Principal, session: Session, ids: Sequence[str]) -> list[Alert]:
    alerts = []
    for index, alert_id in enumerate(ids):
        try:
            alerts.append(require_readable(principal, session, alert_id))
        except NotFound as error:
            raise InvalidInput(f"alerts[{index}]", "is not the id of an alert that you see") from error
    return alerts


def check_assignee(
    session: Session, principal: Principal, assignee: str | None, alerts: Sequence[Alert]
) -> None:
    """Raises InvalidInput if the assignee may not acknowledge all of the alerts."""
    if assignee is None or assignee == principal.actor:
        return
    user = (
        users.find_user(session, assignee.removeprefix(USER_PREFIX))
        if assignee.startswith(USER_PREFIX)
        else None
    )
    if user is None or not all(users.is_assignable(user, alert.deployment_no) for alert in alerts):
        raise InvalidInput(
            "assignee", "must be `user:` and the name of a user who may acknowledge alerts of this deployment"
        )


def _answer_changed(session: Session, alerts: Sequence[Alert], changed: int) -> ChangedAlertsOut:
    present = {alert.no: alert for alert in read_alerts_by_no(session, [alert.no for alert in alerts])}
    return ChangedAlertsOut(alerts=[AlertOut.of(present[alert.no]) for alert in alerts], changed=changed)


CommentId = Annotated[
    str,
    uuid_path(
        "An id that the caller makes up for a new comment: a UUID in lower case.",
        "7b1f0f3e-58f3-4f3b-9a53-2f6f0f0f7c21",
    ),
]


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
        deployment = deployments.get_by_no(alert.deployment_no)
        details = {"comment": comment_id}
        record_activity(
            session, principal.actor, "alert.commented", deployment, subject=alert.id, details=details
        )
    return CommentOut.from_object(comment)


@router.get("/v1/alerts/{alert_id}/comments", responses=NOT_FOUND)
def list_alert_comments(alert: ReadableAlert, session: SessionIn, paging: NumberPaging) -> CommentPage:
    """Returns the comments on an alert, oldest first."""
    return CommentPage.of(page_comments(session, alert, paging), paging)


def check_note(text: str | None, field: str = "note") -> str:
    """Strips blanks around the text; line breaks are allowed. Raises InvalidInput for control characters."""
    stripped = (text or "").strip()
    problem = character_problem(stripped.replace("\n", " ").replace("\r", " ").replace("\t", " "))
    if problem is not None:
        raise InvalidInput(field, problem)
    return stripped


def check_closing_note(text: str) -> str:
    note = check_note(text)
    if not note:
        raise InvalidInput("note", "must say why the alert is closed")
    return note
