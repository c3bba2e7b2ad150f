"""Routes of monitoring runs: a run is a check of the deployment, under the same id."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from ..api.checks import cancel_check, post_check
from ..domain.checks import CheckRun, CheckState, Measurement, Scope, Trigger
from ..domain.deployments import Deployment
from ..errors import Conflict, FieldProblem, InvalidInput, NotFound
from ..security.principals import Permission
from ..store.checks.checks import count, current_time, get, page
from ..store.checks.results import measurements_of_checks
from ..store.deployments.monitors import monitor_of
from ..store.openscale.subscriptions import ImportedMeasurement, imports_of
from .bodies import Answer, Operation, Sent, moment, resource
from .callers import Caller, CallerIn, joined_id
from .fairness import parameters_of
from .monitor_definitions import FAIRNESS, MEASURED, QUALITY, find_custom
from .monitor_instances import find_instance, read_instance
from .quality import catalogue_keys
from .sealed_ids import seal_id, unseal_id

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

UNMEASURED = "unmeasured."
"""Beginning of the ids of runs that ended at once, for which nothing is stored."""

InstanceId = Annotated[str, Path(max_length=200)]


class RunIn(Sent):
    """A request for a run."""

    triggered_by: str = Field(default="user", max_length=100)
    parameters: dict[str, Any] | None = None


@router.post("", status_code=201)
def add_run(monitor_instance_id: InstanceId, caller: CallerIn, response: Response, body: RunIn | None = None) -> Answer:
    """Checks fairness now. While such a check waits, asking again returns the same one."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    if kind not in MEASURED:
        name = find_custom(caller, kind).entity["name"]
        raise Conflict(
            f"{name} is a custom monitor, of which Evenhand computes nothing: running it is not supported by Evenhand."
            " Post its metrics with measurements.add; the run_id that is posted is listed as a run."
        )
    own = read_instance(monitor_instance_id, caller)["entity"]["parameters"]
    others = [name for name, value in ((body and body.parameters) or {}).items() if name not in own or own[name] != value]
    if others:
        message = (
            "is not supported by Evenhand for a single run, unless the monitor instance has the same value: change the instance instead"
        )
        raise InvalidInput([FieldProblem(f"parameters.{ascii(name)[1:-1][:100]}", message) for name in others])
    if monitor_of(caller.session, deployment.no) is None:
        facts = {"instance": monitor_instance_id, "at": current_time(caller.session).isoformat(), "by": caller.principal.actor}
        return _unmeasured_run(caller, monitor_instance_id, kind, seal_id(caller.services, facts))
    queued = post_check(deployment, caller.session, caller.principal, Response())
    response.headers["Location"] = f"/v2/monitor_instances/{monitor_instance_id}/runs/{queued.id}"
    return run_answers(caller, deployment, kind, [get(caller.session, deployment.no, queued.id)])[0]


@router.get("")
def read_runs(
    monitor_instance_id: InstanceId,
    caller: CallerIn,
    start: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS)] = 100,
) -> Answer:
    """Returns the newest runs, newest first; from `start` on, which is the id of a run and comes with the page before."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    if kind not in MEASURED:
        posted = posted_runs(caller, deployment, kind)
        first = next((place for place, one in enumerate(posted) if one["metadata"]["id"] == start), None) if start else 0
        if first is None:
            raise NotFound("run", ascii(start)[1:-1][:100])
        return _page_of(monitor_instance_id, posted[first : first + limit + 1], limit, len(posted))
    # A number more than the run's own: the page begins with it.
    before_no = find_check(caller, deployment.no, start).no + 1 if start else None
    runs = page(caller.session, deployment.no, limit=limit + 1, before_no=before_no)
    return _page_of(monitor_instance_id, run_answers(caller, deployment, kind, runs), limit, count(caller.session, deployment.no))


def _page_of(instance_id: str, found: Sequence[Answer], limit: int, total: int) -> Answer:
    """Returns a page of runs; the run after its last one says where the next page begins."""
    url = f"/v2/monitor_instances/{instance_id}/runs?limit={limit}"
    answer: Answer = {"runs": list(found[:limit]), "limit": limit, "first": {"url": url}, "total_count": total}
    return answer | ({"next": {"url": f"{url}&start={quote(found[limit]['metadata']['id'])}"}} if len(found) > limit else {})


@router.get("/{monitoring_run_id}")
def read_run(monitor_instance_id: InstanceId, monitoring_run_id: str, caller: CallerIn) -> Answer:
    """Returns one run."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    if kind not in MEASURED:
        found = next((one for one in posted_runs(caller, deployment, kind) if one["metadata"]["id"] == monitoring_run_id), None)
        if found is None:
            raise NotFound("run", ascii(monitoring_run_id)[1:-1][:100])
        return found
    if monitoring_run_id.startswith(UNMEASURED):
        return _unmeasured_run(caller, monitor_instance_id, kind, monitoring_run_id.removeprefix(UNMEASURED))
    return run_answers(caller, deployment, kind, [find_check(caller, deployment.no, monitoring_run_id)])[0]


@router.patch("/{monitoring_run_id}")
def change_run(monitor_instance_id: InstanceId, monitoring_run_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Cancels a run that has not ended; nothing else of a run can be changed."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    if kind not in MEASURED:
        raise Conflict("Changing a run of a custom monitor is not supported by Evenhand: it is over with the measurement that was posted.")
    check = find_check(caller, deployment.no, monitoring_run_id)
    if not all(one.path.strip("/") == "status/state" and one.value in ("canceled", "cancelled") for one in body) or not body:
        raise InvalidInput.of("[0].path", "is not supported by Evenhand: of a run only /status/state can be changed, to canceled")
    cancel_check(deployment, check.id, caller.session, caller.principal)
    return run_answers(caller, deployment, kind, [get(caller.session, deployment.no, check.id)])[0]


def find_check(caller: Caller, deployment_no: int, check_id: str) -> CheckRun:
    """Returns the check of that id.

    Raises:
        NotFound: the deployment has none.
    """
    try:
        return get(caller.session, deployment_no, ascii(check_id)[1:-1][:100])
    except NotFound as error:
        raise NotFound("run", ascii(check_id)[1:-1][:100]) from error


def run_answers(caller: Caller, deployment: Deployment, kind: str, checks: Sequence[CheckRun]) -> list[Answer]:
    """Returns checks as runs of an instance; those of quality that compared no record with its label have measured nothing."""
    if kind != QUALITY:
        return [_run_answer(caller, kind, one, None) for one in checks]
    keys = catalogue_keys(deployment.problem_type)
    found = measurements_of_checks(caller.session, [one.no for one in checks], metrics=keys, scopes=[Scope.OVERALL])
    return [_run_answer(caller, kind, one, _why_no_quality(one, found.get(one.no, ()))) for one in checks]


def _unmeasured_run(caller: Caller, instance_id: str, kind: str, sealed: str) -> Answer:
    """Returns a run that ended at once, because there is no fairness monitor in whose checks the instance is measured.

    Published scripts run quality before they create an instance of fairness, and go on after a run that ends as an error.

    Raises:
        NotFound: `sealed` is no such run of the instance.
    """
    facts = unseal_id(caller.services, sealed)
    if facts is None or facts.get("instance") != instance_id:
        raise NotFound("run", ascii(UNMEASURED + sealed)[1:-1][:100])
    at = datetime.fromisoformat(facts["at"])
    message = (
        f"Nothing was measured: {kind} is measured in the checks of the fairness monitor, and there was none."
        " Create a monitor instance of fairness, whose first run measures it, too."
    )
    times = dict.fromkeys(("queued_at", "started_at", "updated_at", "completed_at"), moment(at))
    failure = {"trace": None, "errors": [{"code": "no-fairness-monitor", "message": message}]}
    status = {"state": "error", "message": message, "operators": [], "failure": failure, **times}
    entity = {"triggered_by": "user", "parameters": {}, "status": status}
    url = f"/v2/monitor_instances/{instance_id}/runs/{UNMEASURED}{sealed}"
    return resource(UNMEASURED + sealed, url, entity, created_at=at, created_by=facts["by"])


def posted_runs(caller: Caller, deployment: Deployment, kind: str) -> list[Answer]:
    """Returns a run for each run id that was posted to an instance of a custom monitor, newest first."""
    newest: dict[str, ImportedMeasurement] = {}
    for one in imports_of(caller.session, deployment.no, kind):
        if one.entity.get("run_id"):
            newest.setdefault(one.entity["run_id"], one)
    instance_id, answers = joined_id(kind, deployment.id), []
    for run_id, one in newest.items():
        message = "Posted by a script. Evenhand computed nothing."
        at = moment(one.at)
        times = {"queued_at": at, "started_at": at, "updated_at": at, "completed_at": at}
        entity = {"triggered_by": "user", "parameters": {"measurement_id": one.id}}
        entity["status"] = {"state": "finished", "message": message, "operators": [], **times}
        url = f"/v2/monitor_instances/{instance_id}/runs/{quote(run_id, safe='')}"
        answers.append(resource(run_id, url, entity, created_at=one.at, created_by=one.created_by))
    return answers


def _why_no_quality(check: CheckRun, measured: Sequence[Measurement]) -> str | None:
    if check.state is not CheckState.SUCCEEDED or any(one.value is not None for one in measured):
        return None
    reason = next((one.reason for one in measured if one.reason), None)
    why = f": {reason}" if reason else ", because there was no monitor instance of it then"
    return f"This check measured fairness, and no quality{why}."


def _run_answer(caller: Caller, kind: str, check: CheckRun, unmeasured: str | None) -> Answer:
    instance_id = joined_id(kind, check.deployment_id)
    state, reason = ("error", unmeasured) if unmeasured else (STATES[check.state], check.reason)
    status: Answer = {"state": state, "message": reason, "queued_at": moment(check.created_at), "operators": []}
    for name, time in (("started_at", check.started_at), ("completed_at", check.finished_at)):
        if time is not None:
            status[name] = moment(time)
    status["updated_at"] = moment(check.finished_at or check.started_at or check.created_at)
    if state in {"error", "canceled"}:
        code = "insufficient-data" if unmeasured else check.state.value.replace("_", "-")
        error = {"code": code, "message": reason or "The check did not end in time."}
        status["failure"] = {"trace": check.id, "errors": [error]}
    monitor = monitor_of(caller.session, check.deployment_no)
    # A check keeps the number of the monitor's version, not its content: that of another version would be false.
    is_known = monitor is not None and check.monitor_version in (None, monitor.version)
    parameters = parameters_of(monitor, {}) if monitor is not None and is_known and kind == FAIRNESS else {}
    if state == "finished":
        records = (check.window or {}).get("records")
        parameters |= {"measurement_id": check.id, "is_group_bias_completed": True, "total_records_processed": records}
    entity = {
        "triggered_by": "scheduler" if check.trigger is Trigger.SCHEDULE else "user",
        "parameters": parameters,
        "status": status,
    }
    url = f"/v2/monitor_instances/{instance_id}/runs/{check.id}"
    return resource(check.id, url, entity, created_at=check.created_at, created_by=check.created_by, modified_at=check.finished_at)
