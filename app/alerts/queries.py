"""Alerts and their figures: opened once, seen again, reminded of, acknowledged, resolved; and comments."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, func, literal_column, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ..base.errors import Conflict, NotFound
from ..base.values import frozen, frozen_by_name
from ..database.binary_rows import equal, list_column_values, page_newest, page_oldest, read_row
from ..database.tables import AlertCommentRow, AlertFigureRow, AlertRow, CheckRow, DeploymentRow
from ..domain.alert import (
    WHOLE_DEPLOYMENT,
    Alert,
    AlertFigure,
    AlertKind,
    AlertState,
    AlertSubject,
    ClosingReason,
    Event,
    Resolution,
    Rule,
    RuleKind,
)
from ..domain.check import CheckRun, DataSet, Span
from ..domain.paging import Paging
from .alert_facts import Facts, join_recovery
from .gravity import rank_figure

MAX_ALERTS_OF_SPAN = 10_000

_IS_UNRESOLVED: ColumnElement[bool] = AlertRow.resolved_at.is_(None)
_IS_OPEN: ColumnElement[bool] = AlertFigureRow.ended_at.is_(None)
_IS_OF_ALERT: ColumnElement[bool] = AlertFigureRow.alert_no == AlertRow.no
_FIGURES = (
    select(func.jsonb_agg(func.to_jsonb(literal_column("alert_figures"))))
    .where(_IS_OF_ALERT)
    .correlate(AlertRow)
    .scalar_subquery()
)
_SELECT: Select[Any] = select(
    AlertRow.__table__,
    DeploymentRow.id.label("deployment_id"),
    DeploymentRow.name.label("deployment_name"),
    _FIGURES.label("figures"),
).join(DeploymentRow, DeploymentRow.no == AlertRow.deployment_no)


@frozen_by_name
class AlertFilter:
    """Alerts to list; None filters nothing. `span` filters those that were unresolved in it."""

    deployment_no: int | None = None
    deployment_id: str | None = None
    state: AlertState | None = None
    attribute: str | None = None
    span: Span | None = None


def page_alerts(session: Session, filters: AlertFilter, paging: Paging) -> list[Alert]:
    columns = {
        AlertRow.deployment_no: filters.deployment_no,
        DeploymentRow.id: filters.deployment_id,
        AlertRow.attribute: filters.attribute,
    }
    conditions = [*equal(columns), *_in_state(filters.state)]
    if filters.span is not None:
        conditions.append(_was_unresolved_in(filters.span))
    return _read_alerts(session, page_newest(_SELECT.where(*conditions), AlertRow.no, paging))


def get_alert(session: Session, alert_id: str) -> Alert:
    alerts = _read_alerts(session, _SELECT.where(AlertRow.id == alert_id))
    if not alerts:
        raise NotFound("alert", alert_id)
    return alerts[0]


def read_alerts_by_no(session: Session, nos: Sequence[int]) -> list[Alert]:
    return _read_alerts(session, _SELECT.where(AlertRow.no.in_(nos)).order_by(AlertRow.no))


def read_alerts_between(
    session: Session,
    deployment_no: int,
    span: Span,
    *,
    metric: str | None = None,
    data: DataSet | None = None,
    checks: Span | None = None,
) -> list[Alert]:
    """Alerts that were unresolved in the span, newest first, at most `MAX_ALERTS_OF_SPAN`.

    With `checks` also those opened by a check whose span ends in `checks` (half-open).
    """
    condition = _was_unresolved_in(span)
    if checks is not None:
        ends_in_checks = (
            CheckRow.deployment_no == deployment_no,
            CheckRow.span_end >= checks.start,
            CheckRow.span_end < checks.end,
        )
        opened = AlertFigureRow.opened_check_no.in_(select(CheckRow.no).where(*ends_in_checks))
        condition |= exists().where(_IS_OF_ALERT, opened)
    conditions = [AlertRow.deployment_no == deployment_no, condition]
    of_figures = equal({AlertFigureRow.metric: metric, AlertFigureRow.data: data})
    if of_figures:
        conditions.append(exists().where(_IS_OF_ALERT, *of_figures))
    return _read_alerts(
        session, _SELECT.where(*conditions).order_by(AlertRow.no.desc()).limit(MAX_ALERTS_OF_SPAN)
    )


def read_present_alerts(
    session: Session, deployment_no: int, *, opened_in: Span | None = None
) -> list[Alert]:
    """Unresolved alerts, then others opened in the span (half-open), newest first, at most
    `MAX_ALERTS_OF_SPAN`.
    """
    shown = [_IS_UNRESOLVED]
    if opened_in is not None:
        shown.append((AlertRow.opened_at >= opened_in.start) & (AlertRow.opened_at < opened_in.end))
    statement = _SELECT.where(AlertRow.deployment_no == deployment_no, or_(*shown))
    return _read_alerts(
        session, statement.order_by(~_IS_UNRESOLVED, AlertRow.no.desc()).limit(MAX_ALERTS_OF_SPAN)
    )


def read_open_figures_of_rule(session: Session, rule_no: int) -> list[AlertFigure]:
    statement = select(AlertFigureRow).where(AlertFigureRow.rule_no == rule_no, _IS_OPEN)
    return [read_row(AlertFigure, row) for row in session.scalars(statement.order_by(AlertFigureRow.no))]


def find_unresolved(
    session: Session,
    deployment_no: int,
    kind: AlertKind,
    attribute: str | None = None,
    group: str | None = None,
) -> Alert | None:
    conditions = (
        AlertRow.deployment_no == deployment_no,
        AlertRow.subject == _digest_subject(kind, attribute, group),
    )
    return next(iter(_read_alerts(session, _SELECT.where(*conditions, _IS_UNRESOLVED))), None)


def open_figure(
    session: Session, rule: Rule, subject: AlertSubject, facts: Facts, check: CheckRun | None
) -> AlertFigure | None:
    """None if the figure was in this alert before."""
    kind = find_alert_kind(rule.content.kind, subject)
    about = {"attribute": subject.attribute, "group": subject.group}
    digest = _digest_subject(kind, **about)
    # The unique index decides between workers.
    alert: dict[str, Any] = {
        "deployment_no": rule.deployment_no,
        "kind": kind,
        "subject": digest,
        "opened_at": func.now(),
    }
    session.execute(
        insert(AlertRow)
        .values(alert | about)
        .on_conflict_do_nothing(
            index_elements=[AlertRow.deployment_no, AlertRow.subject], index_where=_IS_UNRESOLVED
        )
    )
    alert_no = select(AlertRow.no).where(
        AlertRow.deployment_no == rule.deployment_no, AlertRow.subject == digest, _IS_UNRESOLVED
    )
    check_no = None if check is None else check.no
    seen: dict[str, Any] = {"facts": facts, "last_seen_at": func.now(), "last_check_no": check_no}
    values: dict[str, Any] = {
        "alert_no": alert_no.scalar_subquery(),
        "rule_no": rule.no,
        "rule_id": rule.id,
        "rule_name": rule.content.name,
        "kind": rule.content.kind,
        "subject": _digest_subject(subject.data, subject.metric, subject.attribute, subject.group),
        "opened_at": func.now(),
        "opened_check_no": check_no,
        **seen,
        **list_column_values(subject),
    }
    insertion = insert(AlertFigureRow).values(values)
    upsert = insertion.on_conflict_do_update(
        index_elements=[AlertFigureRow.alert_no, AlertFigureRow.rule_no, AlertFigureRow.subject],
        set_={**seen, "ended_at": None, "resolution": None},
    )
    row = session.scalars(
        upsert.returning(AlertFigureRow), execution_options={"populate_existing": True}
    ).one()
    is_new = session.scalar(select(AlertFigureRow.opened_at == func.now()).where(AlertFigureRow.no == row.no))
    return read_row(AlertFigure, row) if is_new else None


def find_alert_kind(kind: RuleKind, subject: AlertSubject) -> AlertKind:
    if kind is RuleKind.EVIDENCE and subject == WHOLE_DEPLOYMENT:
        return AlertKind.SOME_GROUP
    return AlertKind.UNFAIR if kind in {RuleKind.VERDICT, RuleKind.EVIDENCE} else AlertKind(kind.value)


def note_seen_again(session: Session, figure: AlertFigure, facts: Facts, check: CheckRun | None) -> None:
    values: dict[str, Any] = {"facts": facts, "last_seen_at": func.now()}
    values |= {} if check is None else {"last_check_no": check.no}
    _change_figure(session, figure, values)


def end_figure(
    session: Session, figure: AlertFigure, resolution: Resolution, recovery: Facts | None = None
) -> None:
    facts = figure.facts if recovery is None else join_recovery(figure.facts, recovery)
    _change_figure(session, figure, {"ended_at": func.now(), "resolution": resolution, "facts": facts})


def resolve_ended(session: Session, deployment_no: int) -> None:
    """The resolution is that of the figure that ended last."""
    statement = """
        UPDATE alerts a SET resolved_at = now(), resolution = (
            SELECT f.resolution FROM alert_figures f WHERE f.alert_no = a.no
            ORDER BY f.ended_at DESC, f.no LIMIT 1)
        WHERE a.deployment_no = :no AND a.resolved_at IS NULL
          AND NOT EXISTS (SELECT FROM alert_figures f WHERE f.alert_no = a.no AND f.ended_at IS NULL)"""
    session.execute(text(statement), {"no": deployment_no})


def list_changed(session: Session, deployment_no: int) -> dict[Event, list[Alert]]:
    """Alerts that this transaction opened, reminded of or resolved, by event."""
    # `now()` is that of the whole transaction.
    statement = """
        SELECT no, event FROM (
            SELECT a.no, CASE
                   WHEN a.resolved_at = now() THEN 'resolved'
                   WHEN a.reminded_at = now() THEN 'reminded'
                   WHEN EXISTS (SELECT FROM alert_figures f WHERE f.alert_no = a.no AND f.opened_at = now())
                   THEN 'opened' END AS event
            FROM alerts a
            WHERE a.deployment_no = :no AND (a.resolved_at IS NULL OR a.resolved_at = now())) e
        WHERE event IS NOT NULL"""
    events = {no: Event(name) for no, name in session.execute(text(statement), {"no": deployment_no})}
    alerts = read_alerts_by_no(session, list(events)) if events else []
    return {
        event: [alert for alert in alerts if events[alert.no] is event]
        for event in (Event.OPENED, Event.REMINDED, Event.RESOLVED)
    }


def note_reminders(session: Session, deployment_no: int) -> None:
    """Reminds of alerts that nobody acknowledged in the hours of their rule."""
    # On the database's clock: the machines' clocks differ.
    statement = """
        UPDATE alerts a SET reminded_at = now()
        WHERE a.deployment_no = :no AND a.resolved_at IS NULL AND a.acknowledged_at IS NULL AND EXISTS (
            SELECT FROM alert_figures f JOIN alert_rules r ON r.no = f.rule_no
            WHERE f.alert_no = a.no AND f.ended_at IS NULL
              AND coalesce(a.reminded_at, a.opened_at)
                  + CAST(r.config->>'remind_after_hours' AS float) * interval '1 hour' <= now())"""
    session.execute(text(statement), {"no": deployment_no})


def name_alert(session: Session, alert: Alert, attribute: str, group: str) -> None:
    about = {"attribute": attribute, "group": group}
    digest = _digest_subject(AlertKind.UNFAIR, **about)
    _change_alert(session, alert, {"kind": AlertKind.UNFAIR, "subject": digest, **about}, _IS_UNRESOLVED)


def acknowledge(session: Session, alert: Alert, *, by: str, note: str | None) -> Alert | None:
    values = {
        "acknowledged_at": func.now(),
        "acknowledged_by": by,
        "note": note,
        "assignee": func.coalesce(AlertRow.assignee, by),
        "assigned_at": func.coalesce(AlertRow.assigned_at, func.now()),
    }
    return _change_alert(session, alert, values, _IS_UNRESOLVED, AlertRow.acknowledged_at.is_(None))


def assign(session: Session, alert: Alert, assignee: str | None) -> Alert | None:
    values = {"assignee": assignee, "assigned_at": None if assignee is None else func.now()}
    return _change_alert(session, alert, values, _IS_UNRESOLVED, AlertRow.assignee.is_distinct_from(assignee))


def note_change(session: Session, alert: Alert, change: dict[str, object]) -> Alert | None:
    return _change_alert(session, alert, {"change": change})


def close(session: Session, alert: Alert, *, by: str, note: str, reason: ClosingReason | None) -> None:
    _change_alert(
        session, alert, {"closed_by": by, "closing_note": note, "closing_reason": reason}, _IS_UNRESOLVED
    )


def list_deployments_to_revisit(session: Session) -> list[int]:
    statement = """
        SELECT deployment_no FROM alerts WHERE resolved_at IS NULL
        UNION SELECT deployment_no FROM alert_rules WHERE enabled AND kind IN ('stale_data', 'late_labels')"""
    return list(session.scalars(text(statement)))


@frozen
class OpenAlerts:
    deployment_id: str
    kind: AlertKind
    state: AlertState
    count: int


def count_open_alerts(session: Session) -> list[OpenAlerts]:
    statement = """
        SELECT d.id AS deployment_id, a.kind, count(*),
               CASE WHEN a.acknowledged_at IS NULL THEN 'open' ELSE 'acknowledged' END AS state
        FROM alerts a JOIN deployments d ON d.no = a.deployment_no WHERE a.resolved_at IS NULL
        GROUP BY 1, 2, 4"""
    return [read_row(OpenAlerts, row, count=row[2]) for row in session.execute(text(statement))]


def _digest_subject(*names: str | None, **names_by_column: str | None) -> str:
    # Its length is fixed: names may be longer than a unique index takes.
    return hashlib.sha256(json.dumps([*names, *names_by_column.values()]).encode()).hexdigest()


def _was_unresolved_in(span: Span) -> ColumnElement[bool]:
    return (AlertRow.opened_at < span.end) & (_IS_UNRESOLVED | (AlertRow.resolved_at >= span.start))


def _in_state(state: AlertState | None) -> Sequence[ColumnElement[bool]]:
    states = {
        None: (),
        AlertState.OPEN: (_IS_UNRESOLVED, AlertRow.acknowledged_at.is_(None)),
        AlertState.ACKNOWLEDGED: (_IS_UNRESOLVED, AlertRow.acknowledged_at.is_not(None)),
        AlertState.RESOLVED: (AlertRow.resolved_at.is_not(None),),
    }
    return states[state]


def _change_alert(
    session: Session, alert: Alert, values: dict[str, Any], *conditions: ColumnElement[bool]
) -> Alert | None:
    # The conditions are checked again: somebody may have acknowledged or resolved it since.
    statement = (
        update(AlertRow).where(AlertRow.no == alert.no, *conditions).values(values).returning(AlertRow.no)
    )
    no = session.scalar(statement)
    return None if no is None else _read_alerts(session, _SELECT.where(AlertRow.no == no))[0]


def _change_figure(session: Session, figure: AlertFigure, values: dict[str, Any]) -> None:
    session.execute(update(AlertFigureRow).where(AlertFigureRow.no == figure.no, _IS_OPEN).values(values))


def _read_alerts(session: Session, statement: Select[Any]) -> list[Alert]:
    alerts = [read_row(Alert, row) for row in session.execute(statement)]
    return [replace(alert, figures=tuple(sorted(alert.figures, key=rank_figure))) for alert in alerts]


MAX_COMMENTS = 1_000
"""Of one alert."""


@frozen_by_name
class AlertComment:
    no: int
    id: str
    author: str
    text: str
    created_at: datetime


def put_comment(
    session: Session, alert: Alert, comment_id: str, *, by: str, text: str
) -> tuple[AlertComment, bool]:
    """The flag is true if it is new. Raises Conflict if the id is that of another comment, or there are too
    many.
    """
    values = {"alert_no": alert.no, "id": comment_id, "author": by, "text": text}
    insertion = (
        insert(AlertCommentRow)
        .values(values)
        .on_conflict_do_nothing(index_elements=[AlertCommentRow.alert_no, AlertCommentRow.id])
    )
    is_new = session.scalar(insertion.returning(AlertCommentRow.no)) is not None
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


def page_comments(session: Session, alert: Alert, paging: Paging) -> list[AlertComment]:
    statement = select(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no)
    return [
        read_row(AlertComment, row)
        for row in session.scalars(page_oldest(statement, AlertCommentRow.no, paging))
    ]
