"""Routes of alerts: lists, acknowledging, and closing."""

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from ..alerts.lifecycle import close_by_hand, record_acknowledgement
from ..domain.alerts import AlertState
from ..domain.paging import Paging
from ..errors import InvalidInput
from ..store.alerts.alerts import AlertFilter, alerts_page
from ..store.people.activities import record_activity
from ..web.access import Acknowledger, DeploymentsIn, Manager, ReadableDeployment, Reader, SessionIn
from ..web.paging import NumberPaging
from ..web.texts import ID_PATTERN
from .answers import CONFLICT, NOT_FOUND
from .schemas.alerts import AcknowledgementIn, AlertOut, AlertPage, ClosureIn
from .seen_alerts import HandledAlert, ManagedAlert, ReadableAlert, check_note

router = APIRouter(tags=["alerts"])

StateIn = Annotated[AlertState | None, Query(description="Only alerts in this state.")]
AttributeIn = Annotated[str | None, Query(max_length=1000, pattern=r"^[^\x00]*$", description="Only alerts about this attribute.")]
DeploymentIn = Annotated[str | None, Query(pattern=ID_PATTERN, description="Only alerts of the deployment of this id.")]


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
    wanted = AlertFilter(deployment_no=principal.deployment_no, deployment_id=deployment, state=state, attribute=attribute)
    return _list_alerts(session, wanted, paging)


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
    return _list_alerts(session, AlertFilter(deployment_no=deployment.no, state=state, attribute=attribute), paging)


@router.get("/v1/alerts/{alert_id}", responses=NOT_FOUND)
def read_alert(alert: ReadableAlert) -> AlertOut:
    """Returns one alert."""
    return AlertOut.from_object(alert)


@router.post("/v1/alerts/{alert_id}/acknowledgement", responses=NOT_FOUND | CONFLICT)
def acknowledge_alert(
    principal: Acknowledger, deployments: DeploymentsIn, alert: HandledAlert, session: SessionIn, body: AcknowledgementIn | None = None
) -> AlertOut:
    """Acknowledges an alert: it stays open, without further reminders, and is assigned to the caller if it is to nobody.

    The first acknowledgement counts; again changes nothing. 409 if it is resolved.
    """
    note = None if body is None or body.note is None else check_note(body.note) or None

    taken, is_new = record_acknowledgement(session, alert, by=principal.actor, note=note)
    if is_new:
        deployment = deployments.by_no(alert.deployment_no)
        record_activity(session, principal.actor, "alert.acknowledged", deployment=deployment, subject=alert.id, details={"note": note})
    return AlertOut.from_object(taken)


@router.post("/v1/alerts/{alert_id}/closure", responses=NOT_FOUND | CONFLICT)
def close_alert(principal: Manager, deployments: DeploymentsIn, alert: ManagedAlert, session: SessionIn, body: ClosureIn) -> AlertOut:
    """Closes an alert of the kind `evidence`: evidence on its figure begins again with the next hour. Closing it again changes nothing.

    The first note and reason count. 409 if it is of another kind, which is resolved automatically, or resolved for another reason.
    """
    note = check_note(body.note)
    if not note:
        raise InvalidInput.of("note", "must say why the alert is closed")

    deployment = deployments.get_for_change(alert.deployment_id)
    closed, is_new = close_by_hand(session, alert, by=principal.actor, note=note, reason=body.reason)
    if is_new:
        details = {"note": note, "reason": body.reason and body.reason.value}
        record_activity(session, principal.actor, "alert.closed", deployment=deployment, subject=alert.id, details=details)
    return AlertOut.from_object(closed)


def _list_alerts(session: Session, wanted: AlertFilter, paging: Paging) -> AlertPage:
    return AlertPage.of(alerts_page(session, wanted, paging), paging)
