"""Routes of measurements: a succeeded check is one measurement of each instance, under the same id."""

import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from .aggregates import aggregate, intervals_of, read_aggregation
from .bodies import is_among, resource
from .figures import FAIRNESS_KEYS, LABELLED, SOURCE_KEYS, count_issues, fairness_values, index_figures, quality_values, read_figures
from .monitor_definitions import DEFINITIONS, FAIRNESS, MEASURED, QUALITY
from .monitor_instances import Instance, find_instance
from .quality import catalogue_keys
from .refused import invalid, not_found
from .runs import find_check
from .summaries import fairness_sources
from .times import moment, read_time
from .v1 import V1, Json, V1In

COLUMNS = ("run_id", "monitor_instance_id", "monitor_definition_id", "asset_revision")

MAX_TAG_TESTS = 20

_AT_COMMAS = re.compile(r",(?![^\[\]]*\])")


@dataclass(frozen=True, slots=True)
class TagTest:
    """One condition: the tag has one of the values; without values, the tag is there or is not."""

    tag: str
    values: frozenset[str] | None
    is_there: bool = True

    def passes(self, tags: Mapping[str, object]) -> bool:
        found = tags.get(self.tag)
        if self.values is None:
            return (found is not None) == self.is_there
        return found is not None and str(found) in self.values


def read_tag_filter(sent: str | None) -> Sequence[TagTest]:
    pieces = _AT_COMMAS.split(sent) if sent else []
    if len(pieces) > MAX_TAG_TESTS:
        raise invalid("filter", f"must have at most {MAX_TAG_TESTS} conditions, found {len(pieces)}")
    return [_read_test(piece) for piece in pieces]


def read_filter_by_definition(sent: str | None, known: Collection[str]) -> Mapping[str, Sequence[TagTest]]:
    """Returns the conditions by monitor definition, whose id each begins with: `fairness.feature:eq:sex`. `known` ids exist."""
    found: dict[str, list[TagTest]] = {}
    for piece in _AT_COMMAS.split(sent) if sent else []:
        definition, dot, condition = piece.partition(".")
        if not dot:
            raise invalid("filter", f"must begin with a monitor definition, as in fairness.feature:eq:sex; found {piece!r:.100}")
        if definition not in known:
            raise not_found("monitor definition", definition)
        found.setdefault(definition, []).append(_read_test(condition))
    return found


def filtered(measurements: Iterable[Json], tests: Sequence[TagTest]) -> list[Json]:
    """Returns the measurements with those of their values that pass; issues are counted among these. One without values is left out."""
    if not tests:
        return list(measurements)
    found = []
    for figure in measurements:
        entity = figure["entity"]
        columns = {name: entity.get(name) for name in COLUMNS}
        values = []
        for value in entity["values"]:
            tags = columns | {tag["id"]: tag["value"] for tag in value["tags"]}
            if all(test.passes(tags) for test in tests):
                values.append(value)
        if values:
            found.append({**figure, "entity": {**entity, "values": values, "issue_count": count_issues(values)}})
    return found


def _read_test(piece: str) -> TagTest:
    tag, _, rest = piece.partition(":")
    operator, has_value, value = rest.partition(":")
    if tag and not has_value and operator in ("null", "exists"):
        return TagTest(tag, None, is_there=operator == "exists")
    if tag and value and operator == "eq":
        return TagTest(tag, frozenset([value]))
    if tag and operator == "in" and re.fullmatch(r"\[[^\[\]]+\]", value):
        return TagTest(tag, frozenset(value[1:-1].split(",")))
    raise invalid("filter", f"must be written tag:eq:value, tag:in:[a,b], tag:null or tag:exists; found {piece!r:.100}")


router = APIRouter(prefix="/openscale/v2", tags=["measurements"])

_INSTANCE = "/monitor_instances/{monitor_instance_id}"

MAX_CHECKS = 1_000

MAX_LISTED = 1000


@dataclass(frozen=True, slots=True)
class MeasurementTimes:
    """A window of time; a run's own measurement is read whatever the window."""

    since: datetime | None = None
    until: datetime | None = None
    run_ids: frozenset[str] = frozenset()

    @classmethod
    def read(cls, start: str | None, end: str | None, run_id: str | None) -> "MeasurementTimes":
        # The SDK sends local time without an offset: west of UTC a window of it would hide the run's own measurement.
        if run_id:
            return cls(run_ids=frozenset(run_id.split(",")))
        return cls(read_time("start", start), read_time("end", end))

    def holds(self, check: Json) -> bool:
        at = datetime.fromisoformat(check["to"])
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


@router.get(_INSTANCE + "/measurements")
async def read_measurements(
    *,
    monitor_instance_id: str,
    v1: V1In,
    start: str | None = None,
    end: str | None = None,
    run_id: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    limit: Annotated[int, Query(ge=0, le=MAX_LISTED)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Json:
    instance = await find_instance(v1, monitor_instance_id)
    tests, times = read_tag_filter(filter), MeasurementTimes.read(start, end, run_id)
    measured = await _list(v1, instance, times, tests, enough=offset + limit)
    return {"start": start, "end": end, "limit": limit, "offset": offset, "measurements": measured[offset : offset + limit]}


@router.get(_INSTANCE + "/measurements/{measurement_id}")
async def read_measurement(monitor_instance_id: str, measurement_id: str, v1: V1In) -> Json:
    instance = await find_instance(v1, monitor_instance_id)
    check = await find_check(v1, instance, measurement_id)
    answer = await _answer(v1, instance, check) if check["state"] == "succeeded" else None
    if answer is None or (instance.kind != FAIRNESS and not answer["entity"]["values"]):
        raise not_found("measurement", measurement_id)
    answer["entity"]["sources"] = await _sources(v1, instance, check)
    return answer


@router.get("/measurements")
async def query_measurements(
    v1: V1In,
    target_id: str | None = None,
    target_type: str | None = None,
    monitor_definition_id: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    recent_count: Annotated[int, Query(ge=1, le=100)] = 1,
    format: Literal["compact", "full"] = "compact",  # noqa: A002 - the name in the address
) -> Json:
    """Returns the newest measurements of the instances of subscriptions; in the full format with their sources."""
    tests = read_filter_by_definition(filter, DEFINITIONS)
    if not is_among(target_type, "subscription"):
        return {"measurements": []}
    seen, monitors = {subscription.id: subscription for subscription in await v1.find_all()}, await v1.monitors()
    asked = list(dict.fromkeys(target_id.split(","))) if target_id else list(seen)
    unknown = next((identifier for identifier in asked if identifier not in seen), None)
    if unknown is not None:
        raise not_found("subscription", unknown)
    measurements = []
    for identifier in asked:
        for kind in (kind for kind in MEASURED if is_among(monitor_definition_id, kind)):
            instance = Instance(kind, seen[identifier], monitors.get(identifier))
            if not instance.is_there:
                continue
            newest = (await _list(v1, instance, MeasurementTimes(), tests.get(kind, ()), enough=recent_count))[:recent_count]
            for answer in newest if format == "full" else ():
                answer["entity"]["sources"] = await _sources(v1, instance, await find_check(v1, instance, answer["metadata"]["id"]))
            measurements += newest
    return {"measurements": measurements}


@router.get(_INSTANCE + "/metrics")
async def read_metrics(
    *,
    monitor_instance_id: str,
    v1: V1In,
    start: str,
    end: str,
    agg: str = "last",
    interval: str | None = None,
    filter: str | None = None,  # noqa: A002 - the name in the address
    group: str | None = None,
) -> Json:
    instance = await find_instance(v1, monitor_instance_id)
    aggregation, tests = read_aggregation(agg, interval, group), read_tag_filter(filter)
    times = MeasurementTimes.read(start, end, None)
    if times.since is None or times.until is None:
        raise invalid("start" if times.since is None else "end", "is required")
    since, until = aggregation.widen(times.since), aggregation.widen(times.until, is_end=True)
    intervals = intervals_of(aggregation, since, until)
    measured = await _list(v1, instance, MeasurementTimes(since, until), tests, enough=None)
    answered = {"start": moment(since), "end": moment(until), "interval": interval}
    return {**answered, "monitor_definition_id": instance.kind, "groups": aggregate(measured, aggregation, intervals)}


async def _list(v1: V1, instance: Instance, times: MeasurementTimes, tests: Sequence[TagTest], *, enough: int | None) -> list[Json]:
    """Returns the measurements asked for that pass the tests, newest first: all of them, or at least the newest `enough`."""
    answers: list[Json] = []
    count = 0
    async for check in _list_checks(v1, instance, times):
        if count == MAX_CHECKS:
            raise invalid("start", f"leads to more than {MAX_CHECKS:,} checks; ask for a shorter window")
        count += 1
        # A check has no figures of a monitor that was set later.
        answers += [answer for answer in filtered([await _answer(v1, instance, check)], tests) if answer["entity"]["values"]]
        if enough is not None and len(answers) >= enough:
            break
    return sorted(answers, key=lambda answer: str(answer["entity"]["timestamp"]), reverse=True)


async def _list_checks(v1: V1, instance: Instance, times: MeasurementTimes) -> AsyncIterator[Json]:
    """Yields the succeeded checks asked for: those of the runs that are named, else those of the window, newest first."""
    for run_id in sorted(times.run_ids):
        check = await find_check(v1, instance, run_id)
        if check["state"] == "succeeded":
            yield check
    if not times.run_ids:
        async for page in v1.pages(f"/v1/deployments/{instance.subscription.id}/checks", "checks", {"state": "succeeded"}, limit=100):
            for check in filter(times.holds, page):
                yield check


async def _answer(v1: V1, instance: Instance, check: Json) -> Json:
    deployment = instance.subscription.deployment
    if instance.kind == FAIRNESS:
        figures = index_figures(await read_figures(v1, deployment["id"], check["id"], FAIRNESS_KEYS, scope="group"))
        values = fairness_values(figures, instance.monitor, instance.kept.get("upper_limits", ()))
    elif instance.kind == QUALITY:
        keys = catalogue_keys(deployment["problem_type"])
        figures = index_figures(await read_figures(v1, deployment["id"], check["id"], keys, scope="overall", data=LABELLED))
        values, limits = quality_values(figures, deployment["problem_type"]), _limits(instance)
        for metric in (metric for value in values for metric in value["metrics"]):
            metric.update(limits.get(metric["id"], {}))
    else:
        records = (check["window"] or {}).get("logged_in_span")
        values = [] if records is None else [{"metrics": [{"id": "records", "value": float(records)}], "tags": []}]
    entity = {
        "timestamp": moment(check["to"]),
        "run_id": check["id"],
        "monitor_instance_id": instance.id,
        "monitor_definition_id": instance.kind,
        "target": {"target_type": "subscription", "target_id": instance.subscription.id},
        "values": values,
        "issue_count": count_issues(values),
        "asset_revision": check["model_revision"],
    }
    url = f"/v2/monitor_instances/{instance.id}/measurements/{check['id']}"
    at = check["finished_at"] or check["created_at"]
    return resource(check["id"], url, entity, created_at=at, created_by=check["requested_by"])


async def _sources(v1: V1, instance: Instance, check: Json) -> list[Json]:
    if instance.kind != FAIRNESS:
        return []
    figures = index_figures(await read_figures(v1, instance.subscription.id, check["id"], SOURCE_KEYS, scope="group"))
    return fairness_sources(check, instance.monitor, figures)


def _limits(instance: Instance) -> dict[str, Json]:
    limits: dict[str, Json] = {}
    for threshold in instance.kept.get("thresholds", ()):
        if threshold.get("value") is not None:
            limits.setdefault(threshold["metric_id"], {})[threshold["type"]] = threshold["value"]
    return limits
