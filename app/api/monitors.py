"""Routes of a deployment's fairness monitor: set, read, delete."""

from fastapi import APIRouter

from app.api.answers import problems_of_deployment, problems_with_body
from app.api.schemas.monitors import MonitorIn, MonitorOut
from app.checks.donors import donor_problems
from app.checks.picking import problems_of
from app.errors import InvalidInput, NotFound
from app.store.monitors import delete_monitor, monitor_of, put_monitor
from app.web.access import LockedDeployment, ReadableDeployment, SessionIn

router = APIRouter(prefix="/v1/deployments/{deployment_id}/fairness-monitor", tags=["fairness monitor"])


@router.put("", operation_id="putFairnessMonitor", responses=problems_with_body(NotFound))
def put_fairness_monitor(body: MonitorIn, deployment: LockedDeployment, session: SessionIn) -> MonitorOut:
    """Sets the monitor. The same content again changes nothing; other content makes the next version."""
    monitor = body.to_domain()
    found = problems_of(monitor, deployment.schema, deployment.problem_type) or donor_problems(session, deployment, monitor)
    if found:
        raise InvalidInput(found)
    return MonitorOut.of(put_monitor(session, deployment.no, monitor))


@router.get("", operation_id="readFairnessMonitor", responses=problems_of_deployment())
def read_fairness_monitor(deployment: ReadableDeployment, session: SessionIn) -> MonitorOut:
    """The monitor."""
    monitor = monitor_of(session, deployment.no)
    if monitor is None:
        raise NotFound("fairness monitor of the deployment", deployment.id)
    return MonitorOut.of(monitor)


@router.delete("", status_code=204, operation_id="deleteFairnessMonitor", responses=problems_of_deployment())
def delete_fairness_monitor(deployment: LockedDeployment, session: SessionIn) -> None:
    """Deletes the monitor: no more checks. What was measured stays."""
    if not delete_monitor(session, deployment.no):
        raise NotFound("fairness monitor of the deployment", deployment.id)
