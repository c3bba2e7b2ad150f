"""Stored fairness monitors."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Text, case, delete, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.display_names import DisplayNames, GroupName
from ...domain.group_rules import FoundBy, GroupRule
from ...domain.monitors import AttributionSettings, EvidenceSettings, Limits, Monitor, MonitoredAttribute, Schedule
from ...domain.outcomes import OutcomeRule
from ...domain.paging import Paging
from ...domain.values import GroupValue, Range
from ..database.paging import page_oldest
from ..tables import CheckRow, DeploymentRow, EvidenceEraRow, EvidenceFigureRow, MonitorRow


def monitor_of(session: Session, deployment_no: int) -> Monitor | None:
    row = session.get(MonitorRow, deployment_no)
    return None if row is None else _monitor(row)


class PlacedMonitor(NamedTuple):
    deployment_no: int
    deployment_id: str
    monitor: Monitor


def page_of_monitors(session: Session, paging: Paging, *, only_no: int | None = None) -> list[PlacedMonitor]:
    joined = select(DeploymentRow.no, DeploymentRow.id, MonitorRow).join(MonitorRow, MonitorRow.deployment_no == DeploymentRow.no)
    statement = page_oldest(joined, DeploymentRow.no, paging)
    if only_no is not None:
        statement = statement.where(DeploymentRow.no == only_no)
    return [PlacedMonitor(no, deployment_id, _monitor(row)) for no, deployment_id, row in session.execute(statement)]


def put_monitor(session: Session, deployment_no: int, monitor: Monitor) -> Monitor:
    """Stores the configuration and returns it with its version.

    The version grows if the content differs, `attribution` and `names` aside, and counts on after a deletion, so that it never means two
    things.
    """
    of_checks = select(func.max(CheckRow.monitor_version)).where(CheckRow.deployment_no == deployment_no).scalar_subquery()
    of_evidence = select(func.max(EvidenceEraRow.monitor_version)).where(EvidenceEraRow.deployment_no == deployment_no).scalar_subquery()
    # GREATEST leaves out NULL.
    last_used = func.greatest(of_checks, of_evidence, 0)
    is_nightly = monitor.attribution.nightly
    insertion = insert(MonitorRow).values(
        deployment_no=deployment_no,
        version=last_used + 1,
        schedule=monitor.schedule,
        config=_config(monitor),
        attribution=None if monitor.attribution == AttributionSettings() else asdict(monitor.attribution),
        nightly_since=func.now() if is_nightly else None,
    )
    new = insertion.excluded
    # Neither changes what is measured over time: with another version, evidence would begin again.
    names = literal("names", Text)
    differs = or_(MonitorRow.schedule != new.schedule, MonitorRow.config.op("-")(names) != new.config.op("-")(names))
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=[MonitorRow.deployment_no],
            set_={
                "version": case((differs, MonitorRow.version + 1), else_=MonitorRow.version),
                "schedule": new.schedule,
                "scheduled_since": case((MonitorRow.schedule == new.schedule, MonitorRow.scheduled_since), else_=func.now()),
                "config": new.config,
                "updated_at": case((differs, func.now()), else_=MonitorRow.updated_at),
                "attribution": new.attribution,
                "nightly_since": func.coalesce(MonitorRow.nightly_since, func.now()) if is_nightly else None,
            },
            where=or_(differs, MonitorRow.config != new.config, MonitorRow.attribution.is_distinct_from(new.attribution)),
        )
    )
    _note_change(session, deployment_no)
    row = session.scalars(select(MonitorRow).where(MonitorRow.deployment_no == deployment_no))
    return _monitor(row.one())


def _note_change(session: Session, deployment_no: int) -> None:
    """Gives the deployment's row a new version, by which processes that log records notice other outcomes."""
    session.execute(update(DeploymentRow).where(DeploymentRow.no == deployment_no).values(schema_version=DeploymentRow.schema_version))


def changed_at(session: Session, deployment_no: int) -> datetime | None:
    """Returns when the monitor got its present version; None for the first."""
    row = session.get_one(MonitorRow, deployment_no)
    return None if row.version == 1 else row.updated_at


def delete_monitor(session: Session, deployment_no: int) -> None:
    """Deletes the configuration and ends its evidence; checks stay."""
    eras = select(EvidenceEraRow.no).where(EvidenceEraRow.deployment_no == deployment_no)
    present = (EvidenceFigureRow.era_no.in_(eras), EvidenceFigureRow.ended_at.is_(None))
    session.execute(update(EvidenceFigureRow).where(*present).values(ended_at=func.now()))
    session.execute(delete(MonitorRow).where(MonitorRow.deployment_no == deployment_no))
    _note_change(session, deployment_no)


def _config(monitor: Monitor) -> dict[str, Any]:
    return {
        "favourable": list_values(monitor.outcomes.favourable),
        "unfavourable": list_values(monitor.outcomes.unfavourable),
        "attributes": [
            {
                "feature": attribute.feature,
                "monitored": list_values(attribute.monitored),
                "reference": None if attribute.reference is None else list_values(attribute.reference),
                "threshold": attribute.threshold,
                "upper_threshold": attribute.upper_threshold,
                "metric_limits": {metric: [limits.lower, limits.upper] for metric, limits in attribute.metric_limits},
                **({"correlated_features": list(attribute.correlated_features)} if attribute.correlated_features else {}),
                **({} if attribute.rule is None else {"rule": encode_rule(attribute.rule)}),
                **({} if attribute.found_by is None else {"found_by": asdict(attribute.found_by)}),
            }
            for attribute in monitor.attributes
        ],
        "intersections": [list(features) for features in monitor.intersections],
        "min_records": monitor.min_records,
        "max_records": monitor.max_records,
        "draws": monitor.draws,
        "seed": monitor.seed,
        # Left out if they say nothing, so that older content is the same.
        **({} if monitor.metrics is None else {"metrics": list(monitor.metrics)}),
        **({} if monitor.strata is None else {"strata": monitor.strata}),
        **({} if monitor.evidence == EvidenceSettings() else {"evidence": asdict(monitor.evidence)}),
        **({} if monitor.names == DisplayNames() else {"names": asdict(monitor.names)}),
    }


def encode_rule(rule: GroupRule) -> dict[str, Any]:
    encoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(rule))
    return encoded


def list_values(values: tuple[GroupValue, ...]) -> list[Any]:
    """Returns values as JSON, a range as its two ends."""
    return [[value.lo, value.hi] if isinstance(value, Range) else value for value in values]


def _monitor(row: MonitorRow) -> Monitor:
    config = row.config
    picked = config.get("metrics")
    return Monitor(
        outcomes=OutcomeRule(favourable=_values(config["favourable"]), unfavourable=_values(config["unfavourable"])),
        attributes=tuple(
            MonitoredAttribute(
                feature=stored["feature"],
                monitored=_values(stored["monitored"]),
                reference=None if stored["reference"] is None else _values(stored["reference"]),
                threshold=stored["threshold"],
                upper_threshold=stored["upper_threshold"],
                metric_limits=tuple(
                    (metric, Limits(lower=limits[0], upper=limits[1])) for metric, limits in sorted(stored["metric_limits"].items())
                ),
                correlated_features=tuple(stored.get("correlated_features", ())),
                rule=None if "rule" not in stored else msgspec.convert(stored["rule"], GroupRule),
                found_by=None if "found_by" not in stored else FoundBy(**stored["found_by"]),
            )
            for stored in config["attributes"]
        ),
        intersections=tuple(tuple(features) for features in config["intersections"]),
        min_records=config["min_records"],
        max_records=config["max_records"],
        schedule=Schedule(row.schedule),
        metrics=None if picked is None else tuple(picked),
        strata=config.get("strata"),
        draws=config["draws"],
        seed=config["seed"],
        evidence=EvidenceSettings(**config.get("evidence", {})),
        attribution=AttributionSettings(**(row.attribution or {})),
        names=read_names(config.get("names")),
        version=row.version,
    )


def read_names(stored: Mapping[str, Any] | None) -> DisplayNames:
    named = stored or {}
    return DisplayNames(favourable=named.get("favourable"), groups=tuple(GroupName(**one) for one in named.get("groups", ())))


def _values(listed: list[Any]) -> tuple[GroupValue, ...]:
    return tuple(Range(value[0], value[1]) if isinstance(value, list) else value for value in listed)
