"""An alert in the address, as far as the caller may see it."""

from typing import Annotated

from fastapi import Depends
from sqlalchemy.orm import Session

from ..domain.alerts import Alert
from ..domain.texts import character_problem
from ..errors import InvalidInput, NotFound
from ..security.principals import Principal
from ..store.alerts.alerts import get_alert
from ..web.access import Acknowledger, Manager, Reader, SessionIn
from ..web.texts import uuid_path

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


def check_note(text: str, field: str = "note") -> str:
    """Text without spaces around it; line breaks are allowed."""
    stripped = text.strip()
    wrong = character_problem(stripped.replace("\n", " ").replace("\r", " ").replace("\t", " "))
    if wrong is not None:
        raise InvalidInput.of(field, wrong)
    return stripped
