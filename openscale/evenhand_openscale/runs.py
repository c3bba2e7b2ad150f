"""Routes of monitoring runs: a run is a check of the deployment, under the same id."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response

from .bodies import Operation, Sent, resource
from .fairness import parameters_of
from .figures import LABELLED, read_figures
from .monitor_definitions import FAIRNESS, QUALITY
from .monitor_instances import Instance, find_instance
from .quality import catalogue_keys
from .refused import invalid, invalid_fields, not_found, printable
from .times import moment
from .v1 import MANAGE, PAGE, V1, Document, Json, V1In

router = APIRouter(prefix="/openscale/v2/monitor_instances/{monitor_instance_id}/runs", tags=["runs"])

STATES = {
    "queued": "running",
    "running": "running",
    "succeeded": "finished",
    "insufficient_data": "error",
    "failed": "error",
    "cancelled": "canceled",
}
"""IBM's words for the states of a check. One with too few records has measured nothing, which must not look like success."""

UNMEASURED = "unmeasured."
"""Beginning of the ids of runs that ended at once, for which nothing is stored; their time follows."""

_CHECK_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RunIn(Sent):
    parameters: Json | None = None


@router.post("", status_code=201)
async def add_run(monitor_instance_id: str, v1: V1In, response: Response, body: RunIn | None = None) -> Json:
    """Checks fairness now. While such a check waits, asking again returns the same one."""
    await v1.require(MANAGE)
    instance = await find_instance(v1, monitor_instance_id)
    own = instance.answer()["entity"]["parameters"]
    others = [name for name, value in ((body and body.parameters) or {}).items() if name not in own or own[name] != value]
    if others:
        message = (
            "is not supported by Evenhand for a single run, unless the monitor instance has the same value: change the instance instead"
        )
        raise invalid_fields([(f"parameters.{printable(name)}", message) for name in others])
    if instance.monitor is None:
        return _unmeasured_run(instance, datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ"))
    queued = await v1.ask("POST", f"/v1/deployments/{instance.subscription.id}/checks")
    response.headers["Location"] = f"/v2/monitor_instances/{monitor_instance_id}/runs/{queued['id']}"
    return await _answer(v1, instance, queued)


@router.get("")
async def read_runs(
    monitor_instance_id: str,
    v1: V1In,
    start: str | None = None,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = 100,
) -> Json:
    """Returns the newest runs, newest first; `start` comes with the page before."""
    instance = await find_instance(v1, monitor_instance_id)
    query = {"limit": limit, **({"cursor": start} if start else {})}
    page = await v1.ask("GET", f"/v1/deployments/{instance.subscription.id}/checks", query=query)
    url = f"/v2/monitor_instances/{monitor_instance_id}/runs?limit={limit}"
    answer: Json = {"runs": [await _answer(v1, instance, check) for check in page["checks"]], "limit": limit, "first": {"url": url}}
    return answer | ({"next": {"url": f"{url}&start={quote(page['next_cursor'])}"}} if page["next_cursor"] else {})


@router.get("/{monitoring_run_id}")
async def read_run(monitor_instance_id: str, monitoring_run_id: str, v1: V1In) -> Json:
    instance = await find_instance(v1, monitor_instance_id)
    if monitoring_run_id.startswith(UNMEASURED):
        return _unmeasured_run(instance, monitoring_run_id.removeprefix(UNMEASURED))
    return await _answer(v1, instance, await find_check(v1, instance, monitoring_run_id))


@router.patch("/{monitoring_run_id}")
async def change_run(monitor_instance_id: str, monitoring_run_id: str, body: list[Operation], v1: V1In) -> Json:
    """Cancels a run that has not ended; nothing else of a run can be changed."""
    await v1.require(MANAGE)
    instance = await find_instance(v1, monitor_instance_id)
    check = await find_check(v1, instance, monitoring_run_id)
    if not body or not all(one.path.strip("/") == "status/state" and one.value in ("canceled", "cancelled") for one in body):
        raise invalid("[0].path", "is not supported by Evenhand: of a run only /status/state can be changed, to canceled")
    cancelled = await v1.ask("POST", f"/v1/deployments/{instance.subscription.id}/checks/{check['id']}/cancellation")
    return await _answer(v1, instance, cancelled)


async def find_check(v1: V1, instance: Instance, check_id: str) -> Json:
    path = f"/v1/deployments/{instance.subscription.id}/checks/{check_id}"
    check: Json | None = await v1.ask_or_none(path) if _CHECK_ID.fullmatch(check_id) else None
    if check is None:
        raise not_found("run", check_id)
    return check


def _unmeasured_run(instance: Instance, stamp: str) -> Json:
    """Returns a run that ended at once, because there is no fairness monitor in whose checks the instance is measured.

    Published scripts run quality before they create an instance of fairness, and go on after a run that ends as an error.
    """
    run_id = UNMEASURED + stamp
    try:
        at = moment(datetime.strptime(stamp, "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC))
    except ValueError as error:
        raise not_found("run", run_id) from error
    message = (
        f"Nothing was measured: {instance.kind} is measured in the checks of the fairness monitor, and there was none."
        " Create a monitor instance of fairness, whose first run measures it, too."
    )
    times = dict.fromkeys(("queued_at", "started_at", "updated_at", "completed_at"), at)
    failure = {"trace": None, "errors": [{"code": "no-fairness-monitor", "message": message}]}
    status = {"state": "error", "message": message, "operators": [], "failure": failure, **times}
    entity = {"triggered_by": "user", "parameters": {}, "status": status}
    return resource(run_id, f"/v2/monitor_instances/{instance.id}/runs/{run_id}", entity, created_at=at)


async def _answer(v1: V1, instance: Instance, check: Json) -> Json:
    """Returns a check as a run of an instance; one of quality that compared no record with its label has measured nothing."""
    unmeasured = None
    if instance.kind == QUALITY and check["state"] == "succeeded":
        keys = catalogue_keys(instance.subscription.deployment["problem_type"])
        unmeasured = _why_no_quality(await read_figures(v1, instance.subscription.id, check["id"], keys, scope="overall", data=LABELLED))
    state, reason = ("error", unmeasured) if unmeasured else (STATES[check["state"]], check["reason"])
    ended = check["finished_at"] or check["started_at"] or check["created_at"]
    times = {"queued_at": check["created_at"], "started_at": check["started_at"], "updated_at": ended, "completed_at": check["finished_at"]}
    status: Json = {"state": state, "message": reason, "operators": []}
    status |= {name: moment(time) for name, time in times.items() if time is not None}
    if state in {"error", "canceled"}:
        code = "insufficient-data" if unmeasured else check["state"].replace("_", "-")
        error = {"code": code, "message": reason or "The check did not end in time."}
        status["failure"] = {"trace": check["id"], "errors": [error]}
    monitor = instance.monitor
    # A check keeps the number of the monitor's version, not its content: that of another version would be false.
    is_known = monitor is not None and check["monitor_version"] in (None, monitor["version"])
    parameters = parameters_of(monitor, {}) if monitor is not None and is_known and instance.kind == FAIRNESS else {}
    if state == "finished":
        records = (check["window"] or {}).get("records")
        parameters |= {"measurement_id": check["id"], "is_group_bias_completed": True, "total_records_processed": records}
    entity = {"triggered_by": "scheduler" if check["trigger"] == "schedule" else "user", "parameters": parameters, "status": status}
    url = f"/v2/monitor_instances/{instance.id}/runs/{check['id']}"
    return resource(check["id"], url, entity, created_at=check["created_at"], created_by=check["requested_by"], modified_at=ended)


def _why_no_quality(measured: Sequence[Document]) -> str | None:
    if any(figure["value"] is not None for figure in measured):
        return None
    reason = next((figure["reason"] for figure in measured if figure["reason"]), None)
    why = f": {reason}" if reason else ", because there was no monitor instance of it then"
    return f"This check measured fairness, and no quality{why}."
