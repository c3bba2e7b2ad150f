"""Stored fairness monitors, and the metrics and limits that they set."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Text, case, delete, exists, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import FieldProblem
from ...base.values import frozen_by_name
from ...database.binary_rows import equal, list_column_values, page_oldest
from ...database.tables import CheckRow, DeploymentRow, EvidenceEraRow, EvidenceFigureRow, MonitorRow
from ...domain.check import DataSet
from ...domain.deployment import ProblemType, RecordSchema
from ...domain.monitor import (
    AttributionSettings,
    DisplayNames,
    EvidenceSettings,
    Limits,
    Monitor,
    MonitoredAttribute,
    OutcomeRule,
)
from ...domain.monitor_rules import list_monitor_problems
from ...domain.paging import Paging
from ...statistics.catalogue import CATALOGUE, DEFAULT_METRICS, Metric, list_metrics_on
from ...statistics.catalogue.metric import NeededInput
from ...statistics.measures.worst_group import add_mirror_limits


def find_monitor(session: Session, deployment_no: int) -> Monitor | None:
    row = session.get(MonitorRow, deployment_no)
    return None if row is None else read_monitor(row)


class PlacedMonitor(NamedTuple):
    deployment_no: int
    deployment_id: str
    monitor: Monitor


def page_monitors(session: Session, paging: Paging, *, only_no: int | None = None) -> list[PlacedMonitor]:
    joined = select(DeploymentRow.no, DeploymentRow.id, MonitorRow).join(
        MonitorRow, MonitorRow.deployment_no == DeploymentRow.no
    )
    statement = page_oldest(joined.where(*equal({DeploymentRow.no: only_no})), DeploymentRow.no, paging)
    return [
        PlacedMonitor(no, deployment_id, read_monitor(row))
        for no, deployment_id, row in session.execute(statement)
    ]


def put_monitor(session: Session, deployment_no: int, monitor: Monitor) -> Monitor:
    """Stores the monitor; returns it with its version.

    The version grows if anything but `attribution` and `names` differs, and counts on after a deletion, so
    that it never means two things.
    """
    newest_of_checks = (
        select(func.max(CheckRow.monitor_version))
        .where(CheckRow.deployment_no == deployment_no)
        .scalar_subquery()
    )
    newest_of_evidence = (
        select(func.max(EvidenceEraRow.monitor_version))
        .where(EvidenceEraRow.deployment_no == deployment_no)
        .scalar_subquery()
    )
    # GREATEST leaves out NULL.
    last_used = func.greatest(newest_of_checks, newest_of_evidence, 0)
    is_nightly = monitor.attribution.nightly
    insertion = insert(MonitorRow).values(
        deployment_no=deployment_no,
        version=last_used + 1,
        schedule=monitor.schedule,
        config=_build_config(monitor),
        attribution=None if monitor.attribution == AttributionSettings() else monitor.attribution,
        nightly_since=func.now() if is_nightly else None,
    )
    new = insertion.excluded
    # Neither changes what is measured over time: with another version, evidence would begin again.
    names = literal("names", Text)
    differs = or_(
        MonitorRow.schedule != new.schedule, MonitorRow.config.op("-")(names) != new.config.op("-")(names)
    )
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=[MonitorRow.deployment_no],
            set_={
                "version": case((differs, MonitorRow.version + 1), else_=MonitorRow.version),
                "schedule": new.schedule,
                "scheduled_since": case(
                    (MonitorRow.schedule == new.schedule, MonitorRow.scheduled_since), else_=func.now()
                ),
                "config": new.config,
                "updated_at": case((differs, func.now()), else_=MonitorRow.updated_at),
                "attribution": new.attribution,
                "nightly_since": func.coalesce(MonitorRow.nightly_since, func.now()) if is_nightly else None,
            },
            where=or_(
                differs,
                MonitorRow.config != new.config,
                MonitorRow.attribution.is_distinct_from(new.attribution),
            ),
        )
    )
    _touch_deployment(session, deployment_no)
    row = session.scalars(select(MonitorRow).where(MonitorRow.deployment_no == deployment_no))
    return read_monitor(row.one())


def _build_config(monitor: Monitor) -> dict[str, Any]:
    attributes = []
    for attribute in monitor.attributes:
        limits = {metric: [limits.lower, limits.upper] for metric, limits in attribute.metric_limits}
        attributes.append(_list_members(attribute) | {"metric_limits": limits})
    config = _list_members(monitor) | _list_members(monitor.outcomes) | {"attributes": attributes}
    for name in ("outcomes", "schedule", "attribution", "version"):
        del config[name]
    return config


def _touch_deployment(session: Session, deployment_no: int) -> None:
    # Processes notice a change of what they remember by the version of the deployment's row.
    session.execute(
        update(DeploymentRow)
        .where(DeploymentRow.no == deployment_no)
        .values(schema_version=DeploymentRow.schema_version)
    )


def read_time_of_change(session: Session, deployment_no: int) -> datetime | None:
    row = session.get_one(MonitorRow, deployment_no)
    return None if row.version == 1 else row.updated_at


def has_evidence(session: Session, deployment_no: int) -> bool:
    eras = select(EvidenceEraRow.no).where(EvidenceEraRow.deployment_no == deployment_no)
    return session.scalar(select(exists().where(EvidenceFigureRow.era_no.in_(eras)))) or False


def delete_monitor(session: Session, deployment_no: int) -> None:
    eras = select(EvidenceEraRow.no).where(EvidenceEraRow.deployment_no == deployment_no)
    is_present = (EvidenceFigureRow.era_no.in_(eras), EvidenceFigureRow.ended_at.is_(None))
    session.execute(update(EvidenceFigureRow).where(*is_present).values(ended_at=func.now()))
    session.execute(delete(MonitorRow).where(MonitorRow.deployment_no == deployment_no))
    _touch_deployment(session, deployment_no)


_UNSTORED_DEFAULTS: dict[str, object] = {
    "correlated_features": (),
    "rule": None,
    "found_by": None,
    "metrics": None,
    "strata": None,
    "evidence": EvidenceSettings(),
    "names": DisplayNames(),
}
"""Members that are not stored with these values, so that content stored before they existed is the same."""


def _list_members(fields: Monitor | MonitoredAttribute | OutcomeRule) -> dict[str, Any]:
    return {
        name: member
        for name, member in list_column_values(fields).items()
        if name not in _UNSTORED_DEFAULTS or member != _UNSTORED_DEFAULTS[name]
    }


def read_monitor(row: MonitorRow) -> Monitor:
    config = row.config
    attributes = []
    for stored in config["attributes"]:
        limits = sorted(stored["metric_limits"].items())
        named = [(metric, Limits(lower=lower, upper=upper)) for metric, (lower, upper) in limits]
        attributes.append(stored | {"metric_limits": named})
    columns = {"schedule": row.schedule, "attribution": row.attribution or {}, "version": row.version}
    return msgspec.convert(config | columns | {"outcomes": config, "attributes": attributes}, Monitor)


CONDITIONAL_METRICS = tuple(key for key, metric in CATALOGUE.items() if "strata" in metric.needs)


def find_monitor_problems(
    monitor: Monitor, schema: RecordSchema, problem_type: ProblemType
) -> list[FieldProblem]:
    return list_monitor_problems(
        monitor,
        schema=schema,
        problem_type=problem_type,
        known_metrics=CATALOGUE.keys(),
        conditional_metrics=CONDITIONAL_METRICS,
    )


def list_monitored_metrics(monitor: Monitor, data: DataSet) -> tuple[Metric, ...]:
    """In catalogue order; if none is named, the usual ones and, with strata, those that use strata."""
    if monitor.metrics is not None:
        keys = frozenset(monitor.metrics)
    else:
        keys = DEFAULT_METRICS | frozenset(CONDITIONAL_METRICS if monitor.strata is not None else ())
    return tuple(metric for metric in list_metrics_on(data.value) if metric.key in keys)


def list_stored_metrics(monitor: Monitor, data: DataSet) -> tuple[Metric, ...]:
    return tuple(metric for metric in list_monitored_metrics(monitor, data) if metric.is_stored)


def list_measured_keys(monitor: Monitor) -> list[str]:
    picked = {metric.key for data in DataSet for metric in list_monitored_metrics(monitor, data)}
    return [key for key in CATALOGUE if key in picked]


def is_needed(monitor: Monitor, need: NeededInput, on: Iterable[DataSet] = DataSet) -> bool:
    return any(need in metric.needs for data in on for metric in list_monitored_metrics(monitor, data))


METRIC_OF_THRESHOLDS = "disparate_impact"
"""Metric whose limits the thresholds of an attribute are."""


@frozen_by_name
class MissingSide:
    """Lone limit of a metric (`present`), and the limits with its mirror image (`complete`)."""

    feature: str
    metric: str
    present: Limits
    complete: Limits


def find_missing_sides(monitor: Monitor | None) -> tuple[MissingSide, ...]:
    sides = []
    for attribute in () if monitor is None else monitor.attributes:
        thresholds = Limits(lower=attribute.threshold, upper=attribute.upper_threshold)
        for metric, present in ((METRIC_OF_THRESHOLDS, thresholds), *attribute.metric_limits):
            complete = complete_limits(metric, present)
            if complete != present:
                sides.append(
                    MissingSide(feature=attribute.feature, metric=metric, present=present, complete=complete)
                )
    return tuple(sides)


def complete_limits(metric: str, limits: Limits) -> Limits:
    lower, upper = add_mirror_limits(CATALOGUE[metric], (limits.lower, limits.upper))
    return Limits(lower=lower, upper=upper)


DISPARATE_IMPACTS = frozenset(
    {
        "disparate_impact",
        "disparate_impact_before",
        "disparate_impact_after",
        "counterfactual_disparate_impact_before",
        "counterfactual_disparate_impact_after",
    }
)


NO_LIMITS = Limits()


def find_limits(attribute: MonitoredAttribute | None, metric: str) -> Limits:
    """The metric's own limits, else the attribute's (None: everybody), else those of the catalogue."""
    limits = dict(attribute.metric_limits).get(metric) if attribute else None
    if limits:
        return limits
    if metric in DISPARATE_IMPACTS:
        return Limits(lower=attribute.threshold, upper=attribute.upper_threshold) if attribute else NO_LIMITS
    lower, upper = CATALOGUE[metric].limits
    return Limits(lower=lower, upper=upper)


def find_strictest_limits(members: Sequence[MonitoredAttribute], metric: str) -> Limits:
    """Of an intersection the strictest of its members'; without members, those of everybody."""
    limits = [find_limits(member, metric) for member in members] or [find_limits(None, metric)]
    lowers = [limit.lower for limit in limits if limit.lower is not None]
    uppers = [limit.upper for limit in limits if limit.upper is not None]
    return Limits(lower=max(lowers, default=None), upper=min(uppers, default=None))
