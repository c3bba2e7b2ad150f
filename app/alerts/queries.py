"""Alerts: opened once, seen again, reminded of, acknowledged, resolved; and comments on them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ..base.errors import Conflict, NotFound
from ..base.values import frozen, frozen_by_name
from ..database.binary_rows import equal, list_column_values, page_newest, page_oldest, read_row
from ..database.tables import AlertCommentRow, AlertRow, AlertRuleRow, CheckRow, DeploymentRow
from ..domain.alert import Alert, AlertState, AlertSubject, ClosingReason, Resolution, Rule, RuleKind
from ..domain.check import CheckRun, DataSet, Span
from ..domain.paging import Paging

MOST_BETWEEN = 10_000

_UNRESOLVED: ColumnElement[bool] = AlertRow.resolved_at.is_(None)
_SELECT: Select[Any] = select(
    AlertRow.__table__, DeploymentRow.id.label("deployment_id"), DeploymentRow.name.label("deployment_name")
).join(DeploymentRow, DeploymentRow.no == AlertRow.deployment_no)


@frozen_by_name
class AlertFilter:
    deployment_no: int | None = None
    deployment_id: str | None = None
    state: AlertState | None = None
    attribute: str | None = None
    span: Span | None = None
    """Lets alerts through that were unresolved at some moment of it."""


def alerts_page(session: Session, filters: AlertFilter, paging: Paging) -> list[Alert]:
    columns = {
        AlertRow.deployment_no: filters.deployment_no,
        DeploymentRow.id: filters.deployment_id,
        AlertRow.attribute: filters.attribute,
    }
    conditions = [*equal(columns), *_in_state(filters.state)]
    if filters.span is not None:
        conditions.append(_unresolved_in(filters.span))
    return _read(session, page_newest(_SELECT.where(*conditions), AlertRow.no, paging))


def get_alert(session: Session, alert_id: str) -> Alert:
    """Returns the alert, or raises NotFound."""
    alerts = _read(session, _SELECT.where(AlertRow.id == alert_id))
    if not alerts:
        raise NotFound("alert", alert_id)
    return alerts[0]


def alerts_by_no(session: Session, nos: Sequence[int]) -> list[Alert]:
    return _read(session, _SELECT.where(AlertRow.no.in_(nos)).order_by(AlertRow.no))


def alerts_between(
    session: Session,
    deployment_no: int,
    span: Span,
    *,
    metric: str | None = None,
    data: DataSet | None = None,
    checks: Span | None = None,
) -> list[Alert]:
    """Returns the deployment's alerts that were unresolved in the span, newest first, at most `MOST_BETWEEN`.

    With `checks` also those opened by a check whose span ends in `checks` (half-open).
    """
    condition = _unresolved_in(span)
    if checks is not None:
        ends_in_checks = (
            CheckRow.deployment_no == deployment_no,
            CheckRow.span_end >= checks.start,
            CheckRow.span_end < checks.end,
        )
        condition |= AlertRow.opened_check_no.in_(select(CheckRow.no).where(*ends_in_checks))
    about = {AlertRow.deployment_no: deployment_no, AlertRow.metric: metric, AlertRow.data: data}
    statement = _SELECT.where(condition, *equal(about))
    return _read(session, statement.order_by(AlertRow.no.desc()).limit(MOST_BETWEEN))


def present_alerts(session: Session, deployment_no: int, *, opened_in: Span | None = None) -> list[Alert]:
    """Returns the deployment's unresolved alerts, then those opened in the span (half-open), newest first, at
    most `MOST_BETWEEN`.
    """
    shown = [_UNRESOLVED]
    if opened_in is not None:
        shown.append((AlertRow.opened_at >= opened_in.start) & (AlertRow.opened_at < opened_in.end))
    statement = _SELECT.where(AlertRow.deployment_no == deployment_no, or_(*shown))
    return _read(session, statement.order_by(~_UNRESOLVED, AlertRow.no.desc()).limit(MOST_BETWEEN))


def unresolved_of_rule(session: Session, rule_no: int) -> list[Alert]:
    return _read(session, _SELECT.where(AlertRow.rule_no == rule_no, _UNRESOLVED).order_by(AlertRow.no))


def alerts_to_remind(session: Session, deployment_no: int) -> list[Alert]:
    # On the database's clock: the machines' clocks differ.
    hours = AlertRuleRow.config["remind_after_hours"].as_float()
    due = (
        func.coalesce(AlertRow.reminded_at, AlertRow.opened_at) + hours * text("interval '1 hour'")
        <= func.now()
    )
    conditions = (
        AlertRow.deployment_no == deployment_no,
        _UNRESOLVED,
        AlertRow.acknowledged_at.is_(None),
        due,
    )
    return _read(
        session,
        _SELECT.join(AlertRuleRow, AlertRuleRow.no == AlertRow.rule_no)
        .where(*conditions)
        .order_by(AlertRow.no),
    )


def open_alert(
    session: Session, rule: Rule, subject: AlertSubject, facts: dict[str, object], check: CheckRun | None
) -> Alert | None:
    """Opens an alert; None if the rule has one open about the subject."""
    check_no = None if check is None else check.no
    values = {
        "deployment_no": rule.deployment_no,
        "rule_no": rule.no,
        "rule_id": rule.id,
        "rule_name": rule.content.name,
        "subject": _digest_subject(subject),
        "kind": rule.content.kind,
        "facts": facts,
        "opened_at": func.now(),
        "opened_check_no": check_no,
        "last_seen_at": func.now(),
        "last_check_no": check_no,
    }
    # The unique index decides between workers.
    insertion = insert(AlertRow).values(values | list_column_values(subject))
    once = insertion.on_conflict_do_nothing(
        index_elements=[AlertRow.rule_no, AlertRow.subject], index_where=_UNRESOLVED
    )
    no = session.scalar(once.returning(AlertRow.no))
    return None if no is None else _read(session, _SELECT.where(AlertRow.no == no))[0]


def note_seen_again(session: Session, alert: Alert, facts: dict[str, object], check: CheckRun | None) -> None:
    values = {"facts": facts, "last_seen_at": func.now()}
    _change(session, alert, values if check is None else {**values, "last_check_no": check.no}, _UNRESOLVED)


def note_reminder(session: Session, alert: Alert) -> Alert | None:
    """Notes a reminder now; None if the alert has been acknowledged or resolved meanwhile."""
    return _change(
        session, alert, {"reminded_at": func.now()}, _UNRESOLVED, AlertRow.acknowledged_at.is_(None)
    )


def acknowledge(session: Session, alert: Alert, *, by: str, note: str | None) -> Alert | None:
    """Acknowledges the alert, assigned to the person unless it is assigned; None if too late."""
    values = {
        "acknowledged_at": func.now(),
        "acknowledged_by": by,
        "note": note,
        "assignee": func.coalesce(AlertRow.assignee, by),
        "assigned_at": func.coalesce(AlertRow.assigned_at, func.now()),
    }
    return _change(session, alert, values, _UNRESOLVED, AlertRow.acknowledged_at.is_(None))


def assign(session: Session, alert: Alert, assignee: str | None) -> Alert | None:
    """Assigns the alert; None if it is resolved, or was assigned so before."""
    values = {"assignee": assignee, "assigned_at": None if assignee is None else func.now()}
    return _change(session, alert, values, _UNRESOLVED, AlertRow.assignee.is_distinct_from(assignee))


def resolve(session: Session, alert: Alert, resolution: Resolution, facts: dict[str, object]) -> Alert | None:
    """Resolves the alert; None if it was resolved before."""
    return _change(
        session, alert, {"resolved_at": func.now(), "resolution": resolution, "facts": facts}, _UNRESOLVED
    )


def note_change(session: Session, alert: Alert, change: dict[str, object]) -> Alert | None:
    """Stores why the figure changed; None if the alert was deleted."""
    return _change(session, alert, {"change": change})


def close(
    session: Session,
    alert: Alert,
    facts: dict[str, object],
    *,
    by: str,
    note: str,
    reason: ClosingReason | None,
) -> Alert | None:
    """Resolves the alert as closed by that person; None if it was resolved before."""
    values = {
        "resolved_at": func.now(),
        "resolution": Resolution.CLOSED,
        "facts": facts,
        "closed_by": by,
        "closing_note": note,
        "closing_reason": reason,
    }
    return _change(session, alert, values, _UNRESOLVED)


def unresolved_about(session: Session, alert: Alert) -> list[Alert]:
    """Returns the unresolved alerts of the same kind and subject, oldest first."""
    about = {"deployment_no": alert.deployment_no, "kind": alert.kind, **list_column_values(alert.subject)}
    conditions = (getattr(AlertRow, name).is_not_distinct_from(value) for name, value in about.items())
    return _read(session, _SELECT.where(_UNRESOLVED, *conditions).order_by(AlertRow.no))


def find_counterparts(session: Session, alerts: Sequence[Alert], state: AlertState | None) -> list[Alert]:
    """Returns unresolved alerts of the same rules and groups on the other data (counterfactual or as
    logged).
    """
    counterpart = {DataSet.AS_LOGGED: DataSet.COUNTERFACTUAL, DataSet.COUNTERFACTUAL: DataSet.AS_LOGGED}
    subjects = [
        (alert.rule_no, _digest_subject(replace(alert.subject, data=counterpart[alert.subject.data])))
        for alert in alerts
        if alert.subject.data in counterpart and alert.resolved_at is None
    ]
    statement = _SELECT.where(
        _UNRESOLVED, tuple_(AlertRow.rule_no, AlertRow.subject).in_(subjects), *_in_state(state)
    )
    return _read(session, statement.order_by(AlertRow.no.desc())) if subjects else []


def deployments_to_revisit(session: Session) -> list[int]:
    """Returns the deployments with an open alert, or a rule about the time since the last record."""
    stale = select(AlertRuleRow.deployment_no).where(
        AlertRuleRow.kind == RuleKind.STALE_DATA, AlertRuleRow.enabled
    )
    return list(session.scalars(select(AlertRow.deployment_no).where(_UNRESOLVED).union(stale)))


@frozen
class OpenAlerts:
    deployment_id: str
    kind: RuleKind
    state: AlertState
    count: int


def open_alerts(session: Session) -> list[OpenAlerts]:
    acknowledged = AlertRow.acknowledged_at.is_not(None)
    counted = (
        select(DeploymentRow.id, AlertRow.kind, acknowledged, func.count())
        .join(DeploymentRow, DeploymentRow.no == AlertRow.deployment_no)
        .where(_UNRESOLVED)
        .group_by(DeploymentRow.id, AlertRow.kind, acknowledged)
    )
    return [
        OpenAlerts(
            deployment_id,
            RuleKind(kind),
            AlertState.ACKNOWLEDGED if is_acknowledged else AlertState.OPEN,
            count,
        )
        for deployment_id, kind, is_acknowledged, count in session.execute(counted)
    ]


def _digest_subject(subject: AlertSubject) -> str:
    # Names may be longer than the unique index takes.
    names = [subject.data, subject.metric, subject.attribute, subject.group]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _unresolved_in(span: Span) -> ColumnElement[bool]:
    """At some moment of the span."""
    return (AlertRow.opened_at < span.end) & (_UNRESOLVED | (AlertRow.resolved_at >= span.start))


def _in_state(state: AlertState | None) -> Sequence[ColumnElement[bool]]:
    states = {
        None: (),
        AlertState.OPEN: (_UNRESOLVED, AlertRow.acknowledged_at.is_(None)),
        AlertState.ACKNOWLEDGED: (_UNRESOLVED, AlertRow.acknowledged_at.is_not(None)),
        AlertState.RESOLVED: (AlertRow.resolved_at.is_not(None),),
    }
    return states[state]


def _change(
    session: Session, alert: Alert, values: dict[str, Any], *still: ColumnElement[bool]
) -> Alert | None:
    # Checked again: somebody may have acknowledged or resolved it since.
    statement = update(AlertRow).where(AlertRow.no == alert.no, *still).values(values).returning(AlertRow.no)
    no = session.scalar(statement)
    return None if no is None else _read(session, _SELECT.where(AlertRow.no == no))[0]


def _read(session: Session, statement: Select[Any]) -> list[Alert]:
    return [read_row(Alert, row, subject=read_row(AlertSubject, row)) for row in session.execute(statement)]


MAX_COMMENTS = 1_000


@frozen_by_name
class AlertComment:
    """One comment. `author` is a key's id, or `user:` and a name."""

    no: int
    id: str
    author: str
    text: str
    created_at: datetime


def put_comment(
    session: Session, alert: Alert, comment_id: str, *, by: str, text: str
) -> tuple[AlertComment, bool]:
    """Returns the comment of that id, and whether this call stored it."""
    values = {"alert_no": alert.no, "id": comment_id, "author": by, "text": text}
    once = (
        insert(AlertCommentRow)
        .values(values)
        .on_conflict_do_nothing(index_elements=[AlertCommentRow.alert_no, AlertCommentRow.id])
    )
    is_new = session.scalar(once.returning(AlertCommentRow.no)) is not None
    count = select(func.count()).select_from(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no)
    if is_new and session.scalars(count).one() > MAX_COMMENTS:
        raise Conflict(
            f"Alert {alert.id} has {MAX_COMMENTS:,} comments, which is the most that one may have."
        )
    row = session.scalars(
        select(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no, AlertCommentRow.id == comment_id)
    ).one()
    if (row.author, row.text) != (by, text):
        raise Conflict(f"Alert {alert.id} has another comment of the id {comment_id}. Send a new id.")
    return read_row(AlertComment, row), is_new


def comments_page(session: Session, alert: Alert, paging: Paging) -> list[AlertComment]:
    statement = select(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no)
    return [
        read_row(AlertComment, row)
        for row in session.scalars(page_oldest(statement, AlertCommentRow.no, paging))
    ]
