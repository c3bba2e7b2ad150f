"""Stored alerts: opened once, seen again, reminded of, acknowledged, resolved."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.alerts import Alert, AlertState, Resolution, Rule, RuleKind, Subject
from app.domain.checks import CheckRun, DataSet, Span
from app.errors import NotFound
from app.store.tables import AlertRow, AlertRuleRow, CheckRow, DeploymentRow

MOST_BETWEEN = 10_000

_UNRESOLVED = AlertRow.resolved_at.is_(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFilter:
    """Which alerts are wanted; an absent member lets all through."""

    deployment_no: int | None = None
    deployment_id: str | None = None
    state: AlertState | None = None
    attribute: str | None = None


def alerts_page(session: Session, wanted: AlertFilter, *, limit: int, before_no: int | None = None) -> list[Alert]:
    """At most `limit` alerts, newest first, from before the one of number `before_no`."""
    statement = _alerts().where(*_conditions(wanted)).order_by(AlertRow.no.desc()).limit(limit)
    if before_no is not None:
        statement = statement.where(AlertRow.no < before_no)
    return _read(session, statement)


def get_alert(session: Session, alert_id: str) -> Alert:
    """The alert of that id.

    Raises:
        NotFound: there is none.
    """
    found = _read(session, _alerts().where(AlertRow.id == alert_id))
    if not found:
        raise NotFound("alert", alert_id)
    return found[0]


def alerts_by_no(session: Session, nos: Sequence[int]) -> list[Alert]:
    """Returns the alerts of those numbers, oldest first."""
    return _read(session, _alerts().where(AlertRow.no.in_(nos)).order_by(AlertRow.no))


def alerts_between(
    session: Session, deployment_no: int, span: Span, *, metric: str | None = None, data: DataSet | None = None, checks: Span | None = None
) -> list[Alert]:
    """The deployment's alerts that were not over at some moment of the span, newest first, at most `MOST_BETWEEN` of them.

    With `checks` also those that a check opened whose span ends in it (half-open): alerts are opened after the check that they rest on,
    and of records of long ago long after them. With `metric` and `data` only those about these.
    """
    still = AlertRow.resolved_at.is_(None) | (AlertRow.resolved_at >= span.start)
    wanted = (AlertRow.opened_at < span.end) & still
    if checks is not None:
        its = (CheckRow.deployment_no == deployment_no, CheckRow.span_end >= checks.start, CheckRow.span_end < checks.end)
        wanted |= AlertRow.opened_check_no.in_(select(CheckRow.no).where(*its))
    statement = _alerts().where(AlertRow.deployment_no == deployment_no, wanted)
    about = {AlertRow.metric: metric, AlertRow.data: data}
    statement = statement.where(*(column == value for column, value in about.items() if value is not None))
    return _read(session, statement.order_by(AlertRow.no.desc()).limit(MOST_BETWEEN))


def unresolved_of_rule(session: Session, rule_no: int) -> list[Alert]:
    """The rule's alerts that are not over, oldest first."""
    return _read(session, _alerts().where(AlertRow.rule_no == rule_no, _UNRESOLVED).order_by(AlertRow.no))


def to_be_reminded(session: Session, deployment_no: int) -> list[Alert]:
    """The deployment's open alerts, not acknowledged, whose rule wants people to be reminded by now."""
    hours = AlertRuleRow.config["remind_after_hours"].as_float()
    due = func.coalesce(AlertRow.reminded_at, AlertRow.opened_at) + hours * text("interval '1 hour'") <= func.now()
    wanted = (AlertRow.deployment_no == deployment_no, _UNRESOLVED, AlertRow.acknowledged_at.is_(None), due)
    return _read(session, _alerts().join(AlertRuleRow, AlertRuleRow.no == AlertRow.rule_no).where(*wanted).order_by(AlertRow.no))


def open_alert(session: Session, rule: Rule, subject: Subject, facts: dict[str, object], check: CheckRun | None) -> Alert | None:
    """The new alert; None where the rule has one open about the subject already."""
    check_no = None if check is None else check.no
    values = {
        "id": str(uuid.uuid4()),
        "deployment_no": rule.deployment_no,
        "rule_no": rule.no,
        "rule_id": rule.id,
        "rule_name": rule.content.name,
        "subject": _digest(subject),
        "kind": rule.content.kind.value,
        "attribute": subject.attribute,
        "group": subject.group,
        "metric": subject.metric,
        "data": subject.data,
        "facts": facts,
        "opened_at": func.now(),
        "opened_check_no": check_no,
        "last_seen_at": func.now(),
        "last_check_no": check_no,
    }
    insertion = insert(AlertRow).values(values)
    once = insertion.on_conflict_do_nothing(index_elements=[AlertRow.rule_no, AlertRow.subject], index_where=_UNRESOLVED)
    no = session.scalar(once.returning(AlertRow.no))
    return None if no is None else _read(session, _alerts().where(AlertRow.no == no))[0]


def see_again(session: Session, alert: Alert, facts: dict[str, object], check: CheckRun | None) -> None:
    """Notes that what the alert is about still holds."""
    values: dict[str, Any] = {"facts": facts, "last_seen_at": func.now()}
    _change(session, alert, values if check is None else {**values, "last_check_no": check.no}, _UNRESOLVED)


def note_reminder(session: Session, alert: Alert) -> Alert | None:
    """The alert, reminded of now; None where somebody acknowledged or resolved it in this moment."""
    return _change(session, alert, {"reminded_at": func.now()}, _UNRESOLVED, AlertRow.acknowledged_at.is_(None))


def acknowledge(session: Session, alert: Alert, *, by: str, note: str | None) -> Alert | None:
    """The alert, taken on by that person; None where it was acknowledged or resolved before."""
    values = {"acknowledged_at": func.now(), "acknowledged_by": by, "note": note}
    return _change(session, alert, values, _UNRESOLVED, AlertRow.acknowledged_at.is_(None))


def resolve(session: Session, alert: Alert, resolution: Resolution, facts: dict[str, object]) -> Alert | None:
    """The alert, over for that reason; None where it was before."""
    return _change(session, alert, {"resolved_at": func.now(), "resolution": resolution.value, "facts": facts}, _UNRESOLVED)


def passing_time_matters(session: Session) -> list[int]:
    """The deployments that have an alert open, or a rule about the time since the last record."""
    stale = select(AlertRuleRow.deployment_no).where(AlertRuleRow.kind == RuleKind.STALE_DATA, AlertRuleRow.enabled)
    return list(session.scalars(select(AlertRow.deployment_no).where(_UNRESOLVED).union(stale)))


@dataclass(frozen=True, slots=True)
class OpenAlerts:
    """How many alerts of a kind a deployment has that are not over."""

    deployment_id: str
    kind: RuleKind
    state: AlertState
    count: int


def open_alerts(session: Session) -> list[OpenAlerts]:
    """The numbers of alerts that are not over."""
    acknowledged = AlertRow.acknowledged_at.is_not(None)
    counted = (
        select(DeploymentRow.id, AlertRow.kind, acknowledged, func.count())
        .join(DeploymentRow, DeploymentRow.no == AlertRow.deployment_no)
        .where(_UNRESOLVED)
        .group_by(DeploymentRow.id, AlertRow.kind, acknowledged)
    )
    return [
        OpenAlerts(deployment_id, RuleKind(kind), AlertState.ACKNOWLEDGED if is_acknowledged else AlertState.OPEN, count)
        for deployment_id, kind, is_acknowledged, count in session.execute(counted)
    ]


def _change(session: Session, alert: Alert, values: dict[str, Any], *still: ColumnElement[bool]) -> Alert | None:
    statement = update(AlertRow).where(AlertRow.no == alert.no, *still).values(values).returning(AlertRow.no)
    no = session.scalar(statement.execution_options(synchronize_session=False))
    return None if no is None else _read(session, _alerts().where(AlertRow.no == no))[0]


def _conditions(wanted: AlertFilter) -> Sequence[ColumnElement[bool]]:
    columns = {
        AlertRow.deployment_no: wanted.deployment_no,
        DeploymentRow.id: wanted.deployment_id,
        AlertRow.attribute: wanted.attribute,
    }
    states: dict[AlertState | None, Sequence[ColumnElement[bool]]] = {
        None: (),
        AlertState.OPEN: (_UNRESOLVED, AlertRow.acknowledged_at.is_(None)),
        AlertState.ACKNOWLEDGED: (_UNRESOLVED, AlertRow.acknowledged_at.is_not(None)),
        AlertState.RESOLVED: (AlertRow.resolved_at.is_not(None),),
    }
    return [*(column == value for column, value in columns.items() if value is not None), *states[wanted.state]]


def _alerts() -> Select[AlertRow, str, str]:
    joined = select(AlertRow, DeploymentRow.id, DeploymentRow.name).join(DeploymentRow, DeploymentRow.no == AlertRow.deployment_no)
    return joined.execution_options(populate_existing=True)


def _read(session: Session, statement: Select[AlertRow, str, str]) -> list[Alert]:
    return [_alert(row, deployment_id, name) for row, deployment_id, name in session.execute(statement)]


def _alert(row: AlertRow, deployment_id: str, deployment_name: str) -> Alert:
    return Alert(
        no=row.no,
        id=row.id,
        deployment_no=row.deployment_no,
        deployment_id=deployment_id,
        deployment_name=deployment_name,
        rule_no=row.rule_no,
        rule_id=row.rule_id,
        rule_name=row.rule_name,
        kind=RuleKind(row.kind),
        subject=Subject(data=None if row.data is None else DataSet(row.data), metric=row.metric, attribute=row.attribute, group=row.group),
        facts=row.facts,
        opened_at=row.opened_at,
        last_seen_at=row.last_seen_at,
        reminded_at=row.reminded_at,
        acknowledged_at=row.acknowledged_at,
        acknowledged_by=row.acknowledged_by,
        note=row.note,
        resolved_at=row.resolved_at,
        resolution=None if row.resolution is None else Resolution(row.resolution),
    )


def _digest(subject: Subject) -> str:
    parts = [subject.data, subject.metric, subject.attribute, subject.group]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
