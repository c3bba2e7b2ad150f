"""The route of audit events, for admins."""

from typing import Annotated

from fastapi import APIRouter, Depends

from ..store.people.audit_events import AuditFilter, page
from ..web.access import Admin, SessionIn
from ..web.paging import NumberPaging
from ..web.times import Moment, in_utc
from .activities import OfAction, OfActor, OfDeployment
from .schemas.audit_events import AuditEventPage

router = APIRouter(prefix="/v1/audit-events", tags=["activity"])


def wanted_events(
    *, actor: OfActor = None, action: OfAction = None, deployment_id: OfDeployment = None, since: Moment = None, until: Moment = None
) -> AuditFilter:
    earliest, latest = in_utc("since", since), in_utc("until", until)
    return AuditFilter(actor=actor, action=action, deployment_id=deployment_id, since=earliest, until=latest)


@router.get("")
def list_audit_events(
    _admin: Admin,
    session: SessionIn,
    wanted: Annotated[AuditFilter, Depends(wanted_events)],
    paging: NumberPaging,
) -> AuditEventPage:
    """Returns log-ins, refusals, changes, and reads and exports of records, newest first, `since` <= `at` < `until`."""
    return AuditEventPage.of(page(session, wanted, paging), paging)
