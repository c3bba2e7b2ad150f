"""Routes of measurements: a succeeded check is one measurement of each instance, under the same id; imported ones come after."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from ..domain.checks import CheckRun, CheckState
from ..domain.deployments import Deployment
from ..errors import InvalidInput, NotFound
from ..security.principals import Permission
from ..store.checks.checks import page
from ..store.checks.results import measurements_of
from ..store.deployments.monitors import monitor_of
from ..store.openscale.subscriptions import ImportedMeasurement, add_imports, imports_of, instances_of
from .aggregates import Aggregation, aggregate, read_aggregation
from .bodies import Answer, Sent, moment, resource
from .callers import Caller, CallerIn, joined_id
from .figures import count_issues, fairness_values, index_figures, quality_values
from .monitor_definitions import FAIRNESS, MEASURED, QUALITY
from .monitor_instances import find_instance
from .runs import InstanceId, find_check
from .summaries import fairness_sources
from .times import read_time

router = APIRouter(prefix="/openscale/v2", tags=["measurements"])

_INSTANCE = "/monitor_instances/{monitor_instance_id}"

MAX_CHECKS = 1000
"""Max checks, newest first, among which measurements are looked for."""

MAX_IMPORTED = 10_000


class MeasurementTimes(Sent):
    """A window of time; a run's own measurement is found whatever the window."""

    since: datetime | None = None
    until: datetime | None = None
    run_ids: frozenset[str] = frozenset()

    def holds(self, run_id: str | None, at: datetime) -> bool:
        """Returns whether a measurement is asked for."""
        # The SDK sends local time without an offset: west of UTC a window of it would hide the run's own measurement.
        if self.run_ids:
            return run_id in self.run_ids
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


def _wanted(start: str | None, end: str | None, run_id: str | None) -> MeasurementTimes:
    runs = frozenset(run_id.split(",")) if run_id else frozenset()
    return MeasurementTimes(since=read_time("start", start), until=read_time("end", end), run_ids=runs)


@router.get(_INSTANCE + "/measurements")
def read_measurements(  # noqa: PLR0913 - the parameters of the SDK
    *,
    monitor_instance_id: InstanceId,
    caller: CallerIn,
    start: str | None = None,
    end: str | None = None,
    run_id: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    limit: Annotated[int, Query(ge=0, le=MAX_CHECKS)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Answer:
    """Returns measurements, newest first."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    if filter:
        raise InvalidInput.of("filter", "is not supported by Evenhand; choose measurements by `start` and `end` or `run_id`")
    found = _find(caller, deployment, kind, _wanted(start, end, run_id))
    return {"start": start, "end": end, "limit": limit, "offset": offset, "measurements": found[offset : offset + limit]}


@router.get(_INSTANCE + "/measurements/{measurement_id}")
def read_measurement(monitor_instance_id: InstanceId, measurement_id: str, caller: CallerIn) -> Answer:
    """Returns one measurement with its sources."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    imported = [one for one in imports_of(caller.session, deployment.no, kind) if one.id == measurement_id]
    if imported:
        return _imported_answer(deployment, kind, imported[0], with_sources=True)
    check = find_check(caller, deployment.no, measurement_id)
    if check.state is not CheckState.SUCCEEDED:
        raise NotFound("measurement", check.id)
    answer = _answer(caller, deployment, kind, check)
    figures = index_figures(measurements_of(caller.session, check.no))
    sources = fairness_sources(check, monitor_of(caller.session, deployment.no), figures) if kind == FAIRNESS else []
    answer["entity"]["sources"] = sources
    return answer


class ImportIn(Sent):
    """One measurement that was computed elsewhere."""

    timestamp: str = Field(max_length=100)
    run_id: str | None = Field(default=None, max_length=200)
    metrics: list[dict[str, Any]] = Field(min_length=1, max_length=1000)
    sources: list[dict[str, Any]] | None = None


@router.post(_INSTANCE + "/measurements", status_code=202)
def add_measurements(monitor_instance_id: InstanceId, body: list[ImportIn], caller: CallerIn) -> Answer:
    """Imports measurements that were computed elsewhere. They are listed here, and are never part of a series of Evenhand's own."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    if not 1 <= len(body) <= MAX_IMPORTED:
        raise InvalidInput.of("body", f"must list 1 to {MAX_IMPORTED:,} measurements, found {len(body):,}")
    found = []
    for place, one in enumerate(body):
        at = read_time(f"[{place}].timestamp", one.timestamp)
        if at is None:
            raise InvalidInput.of(f"[{place}].timestamp", "is required")
        entity = {"run_id": one.run_id, "values": _values_of(place, one.metrics), "sources": one.sources or []}
        found.append(ImportedMeasurement(id=str(uuid.uuid4()), definition_id=kind, at=at, entity=entity, created_by=caller.principal.actor))
    add_imports(caller.session, deployment.no, found)
    return {"measurements": [_imported_answer(deployment, kind, one) for one in found]}


@router.get("/measurements")
def query_measurements(
    caller: CallerIn,
    target_id: str | None = None,
    target_type: str | None = None,
    monitor_definition_id: str | None = None,
    recent_count: Annotated[int, Query(ge=1, le=100)] = 1,
) -> Answer:
    """Returns the newest measurements of a subscription's instances."""
    if target_type not in (None, "subscription"):
        return {"measurements": []}
    deployments = [one for one in caller.seen() if target_id in (None, one.id)]
    if target_id is not None and not deployments:
        raise NotFound("subscription", ascii(target_id)[1:-1][:100])
    found = []
    for deployment in deployments:
        stored = {one.definition_id for one in instances_of(caller.session, [deployment.no])}
        if monitor_of(caller.session, deployment.no) is not None:
            stored.add(FAIRNESS)
        for kind in MEASURED:
            if kind in stored and monitor_definition_id in (None, kind):
                found += _find(caller, deployment, kind, MeasurementTimes())[:recent_count]
    return {"measurements": found}


@router.get(_INSTANCE + "/metrics")
def read_metrics(  # noqa: PLR0913 - the parameters of the SDK
    *,
    monitor_instance_id: InstanceId,
    caller: CallerIn,
    start: str,
    end: str,
    agg: str = "last",
    interval: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    group: str | None = None,
) -> Answer:
    """Returns the metrics of a window, aggregated by interval."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    if filter:
        raise InvalidInput.of("filter", "is not supported by Evenhand; metrics come with the tags of their group")
    wanted: Aggregation = read_aggregation(agg, interval, group)
    found = _find(caller, deployment, kind, _wanted(start, end, None))
    return {"start": start, "end": end, "interval": interval, "monitor_definition_id": kind, "groups": aggregate(found, wanted)}


def _find(caller: Caller, deployment: Deployment, kind: str, wanted: MeasurementTimes) -> list[Answer]:
    """Returns the measurements asked for, newest first."""
    checks = page(caller.session, deployment.no, limit=MAX_CHECKS, state=CheckState.SUCCEEDED)
    own = [_answer(caller, deployment, kind, one) for one in checks if wanted.holds(one.id, one.span.end)]
    imported = [
        _imported_answer(deployment, kind, one)
        for one in imports_of(caller.session, deployment.no, kind)
        if wanted.holds(one.entity.get("run_id"), one.at)
    ]
    # A check has no figures of a monitor that was set later.
    both = [one for one in (*own, *imported) if one["entity"]["values"]]
    return sorted(both, key=lambda one: str(one["entity"]["timestamp"]), reverse=True)


def _answer(caller: Caller, deployment: Deployment, kind: str, check: CheckRun) -> Answer:
    """Returns what a check measured for the instance."""
    window: Mapping[str, Any] = check.window or {}
    if kind == FAIRNESS:
        values = fairness_values(index_figures(measurements_of(caller.session, check.no)))
        issues = count_issues(values)
    elif kind == QUALITY:
        values = quality_values(index_figures(measurements_of(caller.session, check.no)), deployment.problem_type)
        limits = _limits_of(caller, deployment, kind)
        for metric in (metric for value in values for metric in value["metrics"]):
            metric.update(limits.get(metric["id"], {}))
        issues = count_issues(values, limits)
    else:
        records = window.get("logged_in_span")
        values = [] if records is None else [{"metrics": [{"id": "records", "value": float(records)}], "tags": []}]
        issues = 0
    entity = _entity(deployment, kind, check.span.end, check.id, values)
    entity |= {"issue_count": issues, "asset_revision": check.model_revision}
    url = f"/v2/monitor_instances/{joined_id(kind, deployment.id)}/measurements/{check.id}"
    return resource(check.id, url, entity, created_at=check.finished_at or check.created_at, created_by=check.created_by)


def _limits_of(caller: Caller, deployment: Deployment, kind: str) -> Mapping[str, Mapping[str, float]]:
    """Returns the limits that were set with the instance, by metric."""
    found: dict[str, dict[str, float]] = {}
    for stored in instances_of(caller.session, [deployment.no]):
        for one in stored.entity.get("thresholds", ()) if stored.definition_id == kind else ():
            if one.get("value") is not None:
                found.setdefault(one["metric_id"], {})[one["type"]] = one["value"]
    return found


def _imported_answer(deployment: Deployment, kind: str, one: ImportedMeasurement, *, with_sources: bool = False) -> Answer:
    values: Sequence[Answer] = one.entity["values"]
    entity = _entity(deployment, kind, one.at, one.entity.get("run_id"), values)
    entity["issue_count"] = count_issues(values)
    if with_sources:
        entity["sources"] = one.entity.get("sources", [])
    url = f"/v2/monitor_instances/{joined_id(kind, deployment.id)}/measurements/{one.id}"
    return resource(one.id, url, entity, created_at=one.at, created_by=one.created_by)


def _entity(deployment: Deployment, kind: str, at: datetime, run_id: str | None, values: Sequence[Answer]) -> Answer:
    return {
        "timestamp": moment(at),
        "run_id": run_id,
        "monitor_instance_id": joined_id(kind, deployment.id),
        "monitor_definition_id": kind,
        "target": {"target_type": "subscription", "target_id": deployment.id},
        "values": list(values),
    }


def _values_of(place: int, metrics: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Returns imported metrics by their tags: each entry's texts are tags, its numbers metrics."""
    values = []
    for position, one in enumerate(metrics):
        numbers = {name: value for name, value in one.items() if isinstance(value, int | float) and not isinstance(value, bool)}
        texts = {name: value for name, value in one.items() if isinstance(value, str)}
        if not numbers:
            raise InvalidInput.of(f"[{place}].metrics[{position}]", "must hold at least one number, which is the metric's value")
        found = [{"id": name, "value": float(value)} for name, value in numbers.items()]
        values.append({"metrics": found, "tags": [{"id": name, "value": value} for name, value in texts.items()]})
    return values
