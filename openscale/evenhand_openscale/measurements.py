"""Routes of measurements: a succeeded check is one measurement of each instance, under the same id; imported ones come after."""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from ..domain.checks import CheckRun, CheckState, Scope, Span
from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..errors import InvalidInput, NotFound
from ..security.principals import Permission
from ..store.checks.checks import find_by_ids, page_by_end
from ..store.checks.results import measurements_of, measurements_of_checks
from ..store.deployments.monitors import monitor_of
from ..store.openscale.definitions import list_definitions
from ..store.openscale.subscriptions import ImportedMeasurement, add_imports, imports_of, instances_of
from .aggregates import aggregate, intervals_of, read_aggregation
from .bodies import Answer, Sent, is_among, moment, resource
from .callers import Caller, CallerIn, joined_id
from .custom_figures import CustomLimits, posted_values
from .fairness import ThresholdIn
from .figures import FAIRNESS_KEYS, Figures, count_issues, fairness_values, index_figures, quality_values
from .monitor_definitions import DEFINITIONS, FAIRNESS, MEASURED, QUALITY, find_custom
from .monitor_instances import find_instance
from .quality import catalogue_keys
from .runs import InstanceId, find_check
from .summaries import fairness_sources
from .tag_filters import TagTest, filtered, read_filter_by_definition, read_tag_filter
from .times import read_time

router = APIRouter(prefix="/openscale/v2", tags=["measurements"])

_INSTANCE = "/monitor_instances/{monitor_instance_id}"

MAX_CHECKS = 10_000
"""Max checks of a window that are searched for measurements: more than an hourly monitor has in a year."""

_PAGE = 500
"""Checks that are read at once."""

MAX_LISTED = 1000
"""Max measurements in one answer."""

MAX_IMPORTED = 10_000

_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


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
def read_measurements(
    *,
    monitor_instance_id: InstanceId,
    caller: CallerIn,
    start: str | None = None,
    end: str | None = None,
    run_id: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    limit: Annotated[int, Query(ge=0, le=MAX_LISTED)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Answer:
    """Returns measurements, newest first."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    tests = read_tag_filter(filter)
    found = _find(caller, deployment, kind, _wanted(start, end, run_id), tests, enough=offset + limit)
    return {"start": start, "end": end, "limit": limit, "offset": offset, "measurements": found[offset : offset + limit]}


@router.get(_INSTANCE + "/measurements/{measurement_id}")
def read_measurement(monitor_instance_id: InstanceId, measurement_id: str, caller: CallerIn) -> Answer:
    """Returns one measurement with its sources."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    imported = [one for one in imports_of(caller.session, deployment.no, kind) if one.id == measurement_id]
    if imported:
        (answer,) = _imported_answers(caller, deployment, kind, imported)
    elif kind not in MEASURED:
        raise NotFound("measurement", ascii(measurement_id)[1:-1][:100])
    else:
        check = find_check(caller, deployment.no, measurement_id)
        if check.state is not CheckState.SUCCEEDED:
            raise NotFound("measurement", check.id)
        (answer,) = _Measured.of(caller, deployment, kind).answers(caller, [check])
        # What was not measured is in no list either; of fairness the sources have the counts.
        if kind != FAIRNESS and not answer["entity"]["values"]:
            raise NotFound("measurement", check.id)
    answer["entity"]["sources"] = _sources(caller, deployment, kind, measurement_id)
    return answer


def _sources(caller: Caller, deployment: Deployment, kind: str, measurement_id: str) -> list[Answer]:
    """Returns the sources of a measurement that is there."""
    imported = [one for one in imports_of(caller.session, deployment.no, kind) if one.id == measurement_id]
    if imported:
        return list(imported[0].entity.get("sources", []))
    if kind != FAIRNESS:
        return []
    check = find_check(caller, deployment.no, measurement_id)
    figures = index_figures(measurements_of(caller.session, check.no))
    return fairness_sources(check, monitor_of(caller.session, deployment.no), figures)


class ImportIn(Sent):
    """One measurement that was computed elsewhere."""

    timestamp: str = Field(max_length=100)
    run_id: str | None = Field(default=None, max_length=200)
    metrics: list[dict[str, Any]] = Field(min_length=1, max_length=1000)
    sources: list[dict[str, Any]] | None = None


@router.post(_INSTANCE + "/measurements", status_code=202)
def add_measurements(monitor_instance_id: InstanceId, body: list[ImportIn], caller: CallerIn) -> list[Answer]:
    """Imports measurements that were computed elsewhere. They are listed here, and are never part of a series of Evenhand's own.

    Scripts read `[0]["measurement_id"]` of the answer, which the SDK passes on as it is.
    """
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    if not 1 <= len(body) <= MAX_IMPORTED:
        raise InvalidInput.of("body", f"must list 1 to {MAX_IMPORTED:,} measurements, found {len(body):,}")
    definition = None if kind in MEASURED else find_custom(caller, kind).entity
    found = []
    for place, one in enumerate(body):
        at = read_time(f"[{place}].timestamp", one.timestamp)
        if at is None:
            raise InvalidInput.of(f"[{place}].timestamp", "is required")
        values = _values_of(place, one.metrics) if definition is None else posted_values(definition, place, one.metrics)
        entity = {"run_id": one.run_id, "values": values, "sources": one.sources or []}
        found.append(ImportedMeasurement(id=str(uuid.uuid4()), definition_id=kind, at=at, entity=entity, created_by=caller.principal.actor))
    add_imports(caller.session, deployment.no, found)
    return [{"measurement_id": one["metadata"]["id"], **one} for one in _imported_answers(caller, deployment, kind, found)]


@router.get("/measurements")
def query_measurements(
    caller: CallerIn,
    target_id: str | None = None,
    target_type: str | None = None,
    monitor_definition_id: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    recent_count: Annotated[int, Query(ge=1, le=100)] = 1,
    format: Literal["compact", "full"] = "compact",  # noqa: A002 - the name in the address
) -> Answer:
    """Returns the newest measurements of the instances of subscriptions; in the full format with their sources."""
    tests = read_filter_by_definition(filter, {*DEFINITIONS, *(one.id for one in list_definitions(caller.session))})
    if not is_among(target_type, "subscription"):
        return {"measurements": []}
    seen = {one.id: one for one in caller.seen()}
    wanted = list(dict.fromkeys(target_id.split(","))) if target_id else list(seen)
    for identifier in wanted:
        if identifier not in seen:
            raise NotFound("subscription", ascii(identifier)[1:-1][:100])
    found = []
    for deployment in (seen[identifier] for identifier in wanted):
        stored = {one.definition_id for one in instances_of(caller.session, [deployment.no])}
        if monitor_of(caller.session, deployment.no) is not None:
            stored.add(FAIRNESS)
        for kind in (*MEASURED, *sorted(stored - {*MEASURED})):
            if kind in stored and is_among(monitor_definition_id, kind):
                newest = _find(caller, deployment, kind, MeasurementTimes(), tests.get(kind, ()), enough=recent_count)[:recent_count]
                for one in newest if format == "full" else ():
                    one["entity"]["sources"] = _sources(caller, deployment, kind, one["metadata"]["id"])
                found += newest
    return {"measurements": found}


@router.get(_INSTANCE + "/metrics")
def read_metrics(
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
    wanted, tests = read_aggregation(agg, interval, group), read_tag_filter(filter)
    times = _wanted(start, end, None)
    if times.since is None or times.until is None:
        raise InvalidInput.of("start" if times.since is None else "end", "is required")
    since, until = wanted.widen(times.since), wanted.widen(times.until, is_end=True)
    intervals = intervals_of(wanted, since, until)
    found = _find(caller, deployment, kind, MeasurementTimes(since=since, until=until), tests, enough=None)
    answered = {"start": moment(since), "end": moment(until), "interval": interval}
    return {**answered, "monitor_definition_id": kind, "groups": aggregate(found, wanted, intervals)}


def _find(
    caller: Caller, deployment: Deployment, kind: str, wanted: MeasurementTimes, tests: Sequence[TagTest], *, enough: int | None
) -> list[Answer]:
    """Returns the measurements asked for that pass the tests, newest first: all of them, or at least the newest `enough`.

    Raises:
        InvalidInput: all are asked for, and the window has too many checks.
    """
    own: list[Answer] = []
    if kind in MEASURED:
        measured = _Measured.of(caller, deployment, kind)
        for checks in _pages_of_checks(caller, deployment, wanted, is_whole=enough is None):
            # A check has no figures of a monitor that was set later.
            own += [one for one in filtered(measured.answers(caller, checks), tests) if one["entity"]["values"]]
            if enough is not None and len(own) >= enough:
                break
    found = [one for one in imports_of(caller.session, deployment.no, kind) if wanted.holds(one.entity.get("run_id"), one.at)]
    imported = [one for one in filtered(_imported_answers(caller, deployment, kind, found), tests) if one["entity"]["values"]]
    return sorted([*own, *imported], key=lambda one: str(one["entity"]["timestamp"]), reverse=True)


def _pages_of_checks(caller: Caller, deployment: Deployment, wanted: MeasurementTimes, *, is_whole: bool) -> Iterator[list[CheckRun]]:
    """Yields the succeeded checks asked for, a page at a time: those of the runs that are named, else those of the window, newest first.

    Raises:
        InvalidInput: `is_whole` asks for every check of the window, and it has `MAX_CHECKS` or more.
    """
    if wanted.run_ids:
        found = find_by_ids(caller.session, deployment.no, [ascii(one)[1:-1][:100] for one in wanted.run_ids])
        yield [one for one in found if one.state is CheckState.SUCCEEDED]
        return
    # The store's window ends with its end, which this one leaves out.
    start, end = (max(_FIRST, min(_LAST, edge)) - timedelta.resolution for edge in (wanted.since or _FIRST, wanted.until or _LAST))
    for offset in range(0, MAX_CHECKS, _PAGE):
        checks = page_by_end(caller.session, deployment.no, ends_in=Span(start=start, end=end), limit=_PAGE, offset=offset)
        yield checks
        if len(checks) < _PAGE:
            return
    if is_whole:
        raise InvalidInput.of("start", f"leads to {MAX_CHECKS:,} checks or more; ask for a shorter window")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """An instance as it is measured by checks. `limits` are those that were set with it, by metric.

    `stated` are the features of a fairness instance whose upper limit a script stated.
    """

    deployment: Deployment
    kind: str
    monitor: Monitor | None
    limits: Mapping[str, Mapping[str, float]]
    stated: Collection[str]

    @classmethod
    def of(cls, caller: Caller, deployment: Deployment, kind: str) -> "_Measured":
        limits: dict[str, dict[str, float]] = {}
        stored = next((one.entity for one in instances_of(caller.session, [deployment.no]) if one.definition_id == kind), {})
        for one in stored.get("thresholds", ()):
            if one.get("value") is not None:
                limits.setdefault(one["metric_id"], {})[one["type"]] = one["value"]
        monitor, stated = monitor_of(caller.session, deployment.no), stored.get("upper_limits", ())
        return cls(deployment=deployment, kind=kind, monitor=monitor, limits=limits, stated=stated)

    def answers(self, caller: Caller, checks: Sequence[CheckRun]) -> list[Answer]:
        """Returns what checks measured for the instance; read at once, however many there are."""
        metrics = {FAIRNESS: FAIRNESS_KEYS, QUALITY: catalogue_keys(self.deployment.problem_type)}.get(self.kind, set())
        scope = Scope.OVERALL if self.kind == QUALITY else Scope.GROUP
        found = measurements_of_checks(caller.session, [one.no for one in checks], metrics=metrics, scopes=[scope]) if metrics else {}
        return [self._answer(one, index_figures(found.get(one.no, ()))) for one in checks]

    def _answer(self, check: CheckRun, figures: Figures) -> Answer:
        if self.kind == FAIRNESS:
            values = fairness_values(figures, self.monitor, self.stated)
            issues = count_issues(values)
        elif self.kind == QUALITY:
            values = quality_values(figures, self.deployment.problem_type)
            for metric in (metric for value in values for metric in value["metrics"]):
                metric.update(self.limits.get(metric["id"], {}))
            issues = count_issues(values, self.limits)
        else:
            window: Mapping[str, Any] = check.window or {}
            records = window.get("logged_in_span")
            values = [] if records is None else [{"metrics": [{"id": "records", "value": float(records)}], "tags": []}]
            issues = 0
        entity = _entity(self.deployment, self.kind, check.span.end, check.id, values)
        entity |= {"issue_count": issues, "asset_revision": check.model_revision}
        url = f"/v2/monitor_instances/{joined_id(self.kind, self.deployment.id)}/measurements/{check.id}"
        return resource(check.id, url, entity, created_at=check.finished_at or check.created_at, created_by=check.created_by)


def _imported_answers(caller: Caller, deployment: Deployment, kind: str, found: Sequence[ImportedMeasurement]) -> list[Answer]:
    """Returns measurements that were posted; those of a custom monitor with its limits."""
    if kind in MEASURED:
        return [_imported_answer(deployment, kind, one, one.entity["values"]) for one in found]
    stored = next((one.entity for one in instances_of(caller.session, [deployment.no]) if one.definition_id == kind), {})
    thresholds = [ThresholdIn.model_validate(one) for one in stored.get("thresholds", ())]
    limits = CustomLimits(find_custom(caller, kind).entity, thresholds)
    return [_imported_answer(deployment, kind, one, limits.applied(one.entity["values"])) for one in found]


def _imported_answer(deployment: Deployment, kind: str, one: ImportedMeasurement, values: Sequence[Answer]) -> Answer:
    entity = _entity(deployment, kind, one.at, one.entity.get("run_id"), values)
    entity["issue_count"] = count_issues(values)
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
