"""Routes of a deployment's fairness monitor."""

from operator import attrgetter

from fastapi import APIRouter
from sqlalchemy.orm import Session

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import Manager, Reader, SessionIn
from ...access.principals import Principal
from ...base.errors import Conflict, FieldProblem, refuse, require_present
from ...domain.deployment import Deployment
from ...domain.monitor import Monitor
from ...web.route_declarations import CONFLICT, ShortNumberPaging, problems
from ..change_texts import list_monitor_changes
from ..deployment_in_address import LockedDeployment, ReadableDeployment
from ..validate_only import ValidateOnly, keep_unless
from .bodies import BothSidesIn, ListedMonitorOut, MonitorIn, MonitorOut, MonitorPage
from .monitor_fit import (
    add_missing_limits,
    find_fitting_problems,
    keep_declaration,
    keep_origins,
    list_monitor_warnings,
)
from .queries import delete_monitor, find_monitor, has_evidence, page_monitors, put_monitor

router = APIRouter(prefix="/v1/deployments/{deployment_id}/fairness-monitor", tags=["fairness monitor"])
list_router = APIRouter(prefix="/v1/fairness-monitors", tags=["fairness monitor"])


@list_router.get("", operation_id="listFairnessMonitors", responses=problems())
def list_fairness_monitors(principal: Reader, session: SessionIn, paging: ShortNumberPaging) -> MonitorPage:
    """Returns the monitors of all deployments, those of the oldest first, without warnings."""
    placed = page_monitors(session, paging, only_no=principal.deployment_no)
    return MonitorPage.of(placed, paging, ListedMonitorOut.of, number_of=attrgetter("deployment_no"))


@router.put("")
def put_fairness_monitor(
    *,
    body: MonitorIn,
    deployment: LockedDeployment,
    session: SessionIn,
    principal: Manager,
    validate_only: ValidateOnly = False,
) -> MonitorOut:
    """Sets the monitor. The same content again changes nothing; other content makes the next version.

    `warnings` name what is stored but doubtful: outcomes and groups that match nothing seen so far,
    because a typing error would look like this, and correlated features that are no stronger than chance.
    """
    with keep_unless(session, validate_only):
        before = find_monitor(session, deployment.no)
        return store_monitor(
            session, principal, deployment, keep_origins(body.to_domain(), before), before=before
        )


@router.post("/both-sides", responses=CONFLICT)
def watch_both_sides(
    body: BothSidesIn, deployment: LockedDeployment, session: SessionIn, principal: Manager
) -> MonitorOut:
    """Adds the mirror image of each lone limit, 1/limit of a ratio and -limit of a difference, so that both
    sides are watched.

    Limits that are set stay. Where there is nothing to add, nothing changes.
    """
    before = require_monitor(session, deployment)
    # Otherwise limits would be added to attributes that the caller never saw.
    if before.version != body.version:
        raise Conflict(
            f"The monitor is at version {before.version}, not {body.version}: it was changed meanwhile. "
            "Load it again."
        )
    return store_monitor(session, principal, deployment, add_missing_limits(before), before=before)


@router.get("")
def read_fairness_monitor(deployment: ReadableDeployment, session: SessionIn) -> MonitorOut:
    """Returns the monitor, with the same warnings."""
    monitor = require_monitor(session, deployment)
    return MonitorOut.of(monitor, list_monitor_warnings(session, deployment, monitor))


@router.delete("", status_code=204)
def delete_fairness_monitor(deployment: LockedDeployment, session: SessionIn, principal: Manager) -> None:
    """Deletes the monitor: no more checks. Its measurements stay."""
    changes = list_monitor_changes(require_monitor(session, deployment), None)
    delete_monitor(session, deployment.no)
    record_activity(session, principal.actor, "monitor.deleted", deployment, details=changes)


def require_monitor(session: Session, deployment: Deployment) -> Monitor:
    return require_present(
        find_monitor(session, deployment.no), "fairness monitor of the deployment", deployment.id
    )


def store_monitor(
    session: Session,
    principal: Principal,
    deployment: Deployment,
    monitor: Monitor,
    *,
    before: Monitor | None,
) -> MonitorOut:
    monitor = keep_declaration(monitor, before, principal)
    problems = find_fitting_problems(session, deployment, monitor)
    fixed = before and before.evidence.false_alarm_hours
    if fixed not in {None, monitor.evidence.false_alarm_hours} and has_evidence(session, deployment.no):
        reason = f"is fixed at {fixed:,} since the first block of evidence was counted"
        problems = [*problems, FieldProblem("evidence.false_alarm_hours", reason)]
    refuse(problems)
    after = put_monitor(session, deployment.no, monitor)
    if after != before:
        record_activity(
            session,
            principal.actor,
            "monitor.changed",
            deployment,
            details=list_monitor_changes(before, after),
        )
    return MonitorOut.of(after, list_monitor_warnings(session, deployment, after))
