"""Routes of monitoring runs: a run is a check of the deployment, under the same id."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from ..api.checks import cancel_check, post_check
from ..domain.checks import CheckRun, CheckState, Trigger
from ..errors import Conflict, InvalidInput, NotFound
from ..security.principals import Permission
from ..store.checks.checks import count, get, page
from ..store.deployments.monitors import monitor_of
from .bodies import Answer, Operation, Sent, moment, resource
from .callers import Caller, CallerIn, joined_id
from .fairness import parameters_of
from .monitor_definitions import FAIRNESS
from .monitor_instances import find_instance

router = APIRouter(prefix="/openscale/v2/monitor_instances/{monitor_instance_id}/runs", tags=["runs"])

STATES: Mapping[CheckState, str] = {
    CheckState.QUEUED: "running",
    CheckState.RUNNING: "running",
    CheckState.SUCCEEDED: "finished",
    CheckState.INSUFFICIENT_DATA: "error",
    CheckState.FAILED: "error",
    CheckState.CANCELLED: "canceled",
}
"""IBM's words for the states of a check. One with too few records has measured nothing, which must not look like success."""

MAX_RUNS = 1000

InstanceId = Annotated[str, Path(max_length=200)]


class RunIn(Sent):
    """A request for a run."""

    triggered_by: str = Field(default="user", max_length=100)
    parameters: dict[str, Any] | None = None


@router.post("", status_code=201)
def add_run(monitor_instance_id: InstanceId, caller: CallerIn, response: Response, body: RunIn | None = None) -> Answer:
    """Checks fairness now. While such a check waits, asking again returns the same one."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    if body is not None and body.parameters:
        raise InvalidInput.of("parameters", "are not supported by Evenhand for a single run: change the monitor instance instead")
    if monitor_of(caller.session, deployment.no) is None:
        raise Conflict(
            f"{kind.capitalize()} is measured in the checks of the fairness monitor, and {deployment.id} has none."
            " Create a monitor instance of fairness first."
        )
    queued = post_check(deployment, caller.session, caller.principal, Response())
    response.headers["Location"] = f"/v2/monitor_instances/{monitor_instance_id}/runs/{queued.id}"
    return run_answer(caller, kind, get(caller.session, deployment.no, queued.id))


@router.get("")
def read_runs(
    monitor_instance_id: InstanceId,
    caller: CallerIn,
    start: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS)] = 100,
) -> Answer:
    """Returns the newest runs, newest first; from `start` on, which is the id of a run and comes with the page before."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    # A number more than the run's own: the page begins with it.
    before_no = find_check(caller, deployment.no, start).no + 1 if start else None
    runs = page(caller.session, deployment.no, limit=limit + 1, before_no=before_no)
    url = f"/v2/monitor_instances/{monitor_instance_id}/runs?limit={limit}"
    answer: Answer = {"runs": [run_answer(caller, kind, one) for one in runs[:limit]], "limit": limit, "first": {"url": url}}
    answer["total_count"] = count(caller.session, deployment.no)
    return answer | ({"next": {"url": f"{url}&start={runs[limit].id}"}} if len(runs) > limit else {})


@router.get("/{monitoring_run_id}")
def read_run(monitor_instance_id: InstanceId, monitoring_run_id: str, caller: CallerIn) -> Answer:
    """Returns one run."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    return run_answer(caller, kind, find_check(caller, deployment.no, monitoring_run_id))


@router.patch("/{monitoring_run_id}")
def change_run(monitor_instance_id: InstanceId, monitoring_run_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Cancels a run that has not ended; nothing else of a run can be changed."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    check = find_check(caller, deployment.no, monitoring_run_id)
    if not all(one.path.strip("/") == "status/state" and one.value in ("canceled", "cancelled") for one in body) or not body:
        raise InvalidInput.of("[0].path", "is not supported by Evenhand: of a run only /status/state can be changed, to canceled")
    cancel_check(deployment, check.id, caller.session, caller.principal)
    return run_answer(caller, kind, get(caller.session, deployment.no, check.id))


def find_check(caller: Caller, deployment_no: int, check_id: str) -> CheckRun:
    """Returns the check of that id.

    Raises:
        NotFound: the deployment has none.
    """
    try:
        return get(caller.session, deployment_no, ascii(check_id)[1:-1][:100])
    except NotFound as error:
        raise NotFound("run", ascii(check_id)[1:-1][:100]) from error


def run_answer(caller: Caller, kind: str, check: CheckRun) -> Answer:
    """Returns a check as a run."""
    instance_id = joined_id(kind, check.deployment_id)
    status: Answer = {"state": STATES[check.state], "message": check.reason, "queued_at": moment(check.created_at), "operators": []}
    for name, time in (("started_at", check.started_at), ("completed_at", check.finished_at)):
        if time is not None:
            status[name] = moment(time)
    status["updated_at"] = moment(check.finished_at or check.started_at or check.created_at)
    if STATES[check.state] in {"error", "canceled"}:
        error = {"code": check.state.value.replace("_", "-"), "message": check.reason or "The check did not end in time."}
        status["failure"] = {"trace": check.id, "errors": [error]}
    # Of now, not of then: a check keeps the number of the monitor's version, not its content.
    monitor = monitor_of(caller.session, check.deployment_no)
    parameters = parameters_of(monitor, {}) if monitor is not None and kind == FAIRNESS else {}
    if check.state is CheckState.SUCCEEDED:
        records = (check.window or {}).get("records")
        parameters |= {"measurement_id": check.id, "is_group_bias_completed": True, "total_records_processed": records}
    entity = {
        "triggered_by": "scheduler" if check.trigger is Trigger.SCHEDULE else "user",
        "parameters": parameters,
        "status": status,
    }
    url = f"/v2/monitor_instances/{instance_id}/runs/{check.id}"
    return resource(check.id, url, entity, created_at=check.created_at, created_by=check.created_by, modified_at=check.finished_at)
