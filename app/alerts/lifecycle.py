"""Life of an alert and its figures; each step queues its own notifications. Work of people is recorded."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import structlog
from sqlalchemy import ColumnElement, exists, func, not_, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from ..access.audit.activity_queries import record_activity
from ..base.clock import HOUR
from ..base.errors import Conflict
from ..base.values import frozen
from ..checks.queries import SELECT_RUNS, build_run
from ..checks.result_queries import build_measurement, is_of_scope
from ..database.binary_rows import read_row
from ..database.tables import CheckRow, MeasurementRow
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import Deployments
from ..domain.alert import (
    Alert,
    AlertFigure,
    AlertKind,
    AlertState,
    AlertSubject,
    ClosingReason,
    Event,
    EvidenceCondition,
    Resolution,
    Rule,
    RuleKind,
    VerdictCondition,
)
from ..domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, Measurement, Scope, Span
from ..evidence.figure_state import FigureState, number_hour
from ..evidence.queries.eras import lock_evidence, note_progress, read_followed_deployment
from ..evidence.queries.figure_states import Closure, StoredFigure, add_closure, find_era_figures
from ..evidence.tell_state import RECENT_HOURS, CountedHours, choose_start, store_figures
from ..evidence.watched_figures import FollowedEra, WatchedMetric
from ..statistics.intervals.verdicts import ON_FAIRNESS
from .alert_facts import CLOSURE_FACTS, Facts
from .channels.notification_queries import queue_notifications
from .queries import (
    acknowledge,
    assign,
    close,
    end_figure,
    list_changed,
    note_seen_again,
    open_figure,
    read_alerts_by_no,
    read_open_figures_of_rule,
    resolve_ended,
)
from .rules.rule_queries import delete_rule, lock_alerts

log = structlog.get_logger(__name__)


def confirm_figure(
    session: Session,
    rule: Rule,
    subject: AlertSubject,
    facts: Facts,
    *,
    figure: AlertFigure | None,
    check: CheckRun | None,
) -> AlertFigure | None:
    """Without a `figure` opens one, and returns it unless it was open before."""
    if figure is not None:
        note_seen_again(session, figure, facts, check)
        return None
    return open_figure(session, rule, subject, facts, check)


def finish_changes(session: Session, deployment_no: int) -> None:
    """Resolves alerts whose figures have all ended, and queues what this transaction did: one notification of
    each kind for a channel.
    """
    resolve_ended(session, deployment_no)
    for event, alerts in list_changed(session, deployment_no).items():
        queue_notifications(session, event, alerts)
        for alert in alerts:
            log.info(
                "alert_changed",
                change=event,
                alert=alert.id,
                deployment=alert.deployment_id,
                kind=alert.kind,
                resolution=alert.resolution,
            )


def close_by_hand(
    session: Session, alerts: Sequence[Alert], *, by: str, note: str, reason: ClosingReason | None = None
) -> list[Alert]:
    """Closes alerts; evidence of every figure of theirs begins again with the next hour.

    Returns those that this call closed: the first person counts, and resolved ones stay as they are. Raises
    Conflict if an unresolved one has no figure of evidence.
    """
    nos = sorted({alert.deployment_no for alert in alerts})
    for deployment_no in nos:
        # Workers take the first lock alone, and never wait for either.
        lock_evidence(session, deployment_no)
        lock_alerts(session, deployment_no)
    unresolved = [
        alert
        for alert in read_alerts_by_no(session, [alert.no for alert in alerts])
        if alert.state is not AlertState.RESOLVED
    ]
    for alert in unresolved:
        if alert.find(RuleKind.EVIDENCE) is None:
            raise Conflict(
                f"Alert {alert.id} has no figure of evidence and is resolved automatically; only evidence is "
                "closed by hand."
            )
        _close_alarms(session, alert)
        close(session, alert, by=by, note=note, reason=reason)
        for figure in alert.figures:
            if figure.ended_at is None:
                end_figure(session, figure, Resolution.CLOSED, CLOSURE_FACTS)
    for deployment_no in nos:
        finish_changes(session, deployment_no)
    return read_alerts_by_no(session, [alert.no for alert in unresolved])


def _close_alarms(session: Session, alert: Alert) -> None:
    """Ends the open alarms on the figures of an alert, if it is about the present era.

    The caller must hold the lock on the deployment's evidence: an hour added meanwhile would be lost.
    """
    monitor = find_monitor(session, alert.deployment_no)
    deployment = read_followed_deployment(session, alert.deployment_no)
    if monitor is None:
        return
    era_figures = find_era_figures(session, alert.deployment_no, deployment.model_revision)
    open_figures = [
        figure for figure in alert.figures if figure.kind is RuleKind.EVIDENCE and figure.ended_at is None
    ]
    if era_figures is None or all(
        figure.facts.get("model_revision") != era_figures.era.model_revision for figure in open_figures
    ):
        return
    era = era_figures.era
    is_some_group = alert.kind is AlertKind.SOME_GROUP and era.open_alarm is not None
    if is_some_group and era.counted_until is not None:
        ended = replace(era.alarms[-1], ended=number_hour(era.counted_until) - 1, end="closed")
        era = replace(era, alarms=[*era.alarms[:-1], ended])
        note_progress(session, era.no, alarms=era.alarms)
    subjects = {figure.subject for figure in open_figures}
    followed = FollowedEra(deployment, monitor, era)
    metrics = {metric.key: metric for metric in followed.metrics}
    figures = []
    for figure in era_figures.present:
        if not figure.state or not followed.compares(figure):
            continue
        watched = metrics[figure.metric_key]
        state = FigureState.decode(figure.state, watched)
        figures.append((figure, state))
        if is_some_group:
            for follower in state.followers:
                follower.end_some_group()
        elif read_row(AlertSubject, figure.key) in subjects:
            _close_alarm(session, figure, watched, state, era_no=era.no, alert_no=alert.no)
    starts = [
        (figure, choose_start([state], figure.until - RECENT_HOURS * HOUR, figure.until))
        for figure, state in figures
    ]
    store_figures(session, followed, figures, CountedHours.read(session, era.no, starts))


def _close_alarm(
    session: Session,
    figure: StoredFigure,
    watched: WatchedMetric,
    state: FigureState,
    *,
    era_no: int,
    alert_no: int,
) -> None:
    for limit, follower in zip(watched.limits, state.followers, strict=True):
        if follower.open_episode is not None:
            follower.close(number_hour(figure.until))
            # Not the hour of the clock: ended hours may still wait to be counted, and they count after the
            # closing.
            closure = Closure(key=figure.key, direction=watched.get_direction(limit), hour=figure.until)
            add_closure(session, era_no, closure, alert_no=alert_no)
    state.restart_interval(watched)


def end_uncovered_figures(session: Session, before: Rule, after: Rule) -> None:
    """Ends the open figures that the rule, as it is now, would not open."""
    condition = after.content.condition
    for figure in read_open_figures_of_rule(session, after.no):
        if not after.content.enabled:
            end_figure(session, figure, Resolution.RULE_DISABLED)
            continue
        if condition == before.content.condition:
            continue
        subject = figure.subject
        is_covered = figure.kind is after.content.kind
        if is_covered and isinstance(condition, VerdictCondition):
            is_covered = (
                condition.scope is (Scope.WORST if subject.group is None else Scope.GROUP)
                and subject.data in condition.data
                and subject.metric in condition.metrics
                and (condition.attributes is None or subject.attribute in condition.attributes)
            )
        if is_covered and isinstance(condition, EvidenceCondition):
            is_covered = condition.covers(subject)
        if not is_covered:
            end_figure(session, figure, Resolution.RULE_CHANGED)
    finish_changes(session, after.deployment_no)


def withdraw_rule(session: Session, rule: Rule) -> None:
    lock_alerts(session, rule.deployment_no)
    for figure in read_open_figures_of_rule(session, rule.no):
        end_figure(session, figure, Resolution.RULE_DELETED)
    finish_changes(session, rule.deployment_no)
    delete_rule(session, rule)


@frozen(eq=False)
class AlertWork:
    """Work of a person on alerts, recorded in the audit trail.

    Each function returns how many alerts it changed; resolved ones stay as they are.
    """

    session: Session
    deployments: Deployments
    actor: str

    def acknowledge(self, alerts: Iterable[Alert], note: str | None) -> int:
        changed = []
        for alert in _sort_alerts(alerts):
            acknowledged = acknowledge(self.session, alert, by=self.actor, note=note)
            if acknowledged is not None:
                changed.append(acknowledged)
        queue_notifications(self.session, Event.ACKNOWLEDGED, changed)
        return self._record("alert.acknowledged", changed, {"note": note})

    def assign(self, alerts: Iterable[Alert], assignee: str | None) -> int:
        changed = [
            alert for alert in _sort_alerts(alerts) if assign(self.session, alert, assignee) is not None
        ]
        return self._record("alert.assigned", changed, {"assignee": assignee})

    def close(self, alerts: Sequence[Alert], note: str, reason: ClosingReason | None) -> int:
        """Raises Conflict if one has no evidence."""
        for deployment_id in sorted({alert.deployment_id for alert in alerts}):
            self.deployments.get_for_change(deployment_id)
        closed = close_by_hand(self.session, alerts, by=self.actor, note=note, reason=reason)
        return self._record(
            "alert.closed", closed, {"note": note, "reason": None if reason is None else reason.value}
        )

    def _record(self, action: str, alerts: Sequence[Alert], details: dict[str, object]) -> int:
        for alert in alerts:
            deployment = self.deployments.get_by_no(alert.deployment_no)
            record_activity(self.session, self.actor, action, deployment, subject=alert.id, details=details)
        return len(alerts)


def _sort_alerts(alerts: Iterable[Alert]) -> list[Alert]:
    return sorted({alert.no: alert for alert in alerts}.values(), key=lambda alert: alert.no)


_NEXT_DUE = text("""
    SELECT no FROM checks
    WHERE alerts_due
      AND no = (
          SELECT no FROM checks
          WHERE deployment_no = :deployment_no AND alerts_due
          ORDER BY span_end, no
          LIMIT 1)
    FOR NO KEY UPDATE SKIP LOCKED
""")
"""The first check, unless it is locked: no later one comes before it, and a deployment may take minutes to be
deleted.
"""


def list_deployments_with_ended_checks(session: Session) -> list[int]:
    return list(session.scalars(select(CheckRow.deployment_no).where(CheckRow.alerts_due).distinct()))


def take_ended_check(session: Session, deployment_no: int) -> int | None:
    """Returns the check whose span ends first, noted as decided; locked ones are left."""
    no: int | None = session.scalar(_NEXT_DUE, {"deployment_no": deployment_no})
    if no is None:
        return None
    session.execute(update(CheckRow).where(CheckRow.no == no).values(alerts_due=False))
    return no


def count_checks_waiting_for_alerts(session: Session, deployment_no: int, ends: Span) -> int:
    statement = """
        SELECT count(*) FROM checks
        WHERE deployment_no = :no AND alerts_due AND span_end >= :start AND span_end < :end"""
    return session.scalar(text(statement), {"no": deployment_no, "start": ends.start, "end": ends.end}) or 0


def is_overtaken(session: Session, check: CheckRun) -> bool:
    """True if a later check with results of its own is decided."""
    later = tuple_(CheckRow.span_end, CheckRow.no) > tuple_(check.span.end, check.no)
    return bool(
        session.scalar(
            select(
                exists().where(
                    *_is_decided(check),
                    CheckRow.state == CheckState.SUCCEEDED,
                    CheckRow.window["carried_from"].as_string().is_(None),
                    later,
                )
            )
        )
    )


def read_matching_figures(
    session: Session, check: CheckRun, condition: VerdictCondition
) -> list[Measurement]:
    conditions = [
        MeasurementRow.check_no == check.no,
        MeasurementRow.data.in_(condition.data),
        MeasurementRow.metric.in_(condition.metrics),
        is_of_scope(condition.scope),
    ]
    if condition.attributes is not None:
        conditions.append(MeasurementRow.attribute.in_(condition.attributes))
    return [
        build_measurement(row)
        for row in session.scalars(select(MeasurementRow).where(*conditions).order_by(MeasurementRow.no))
    ]


def read_earlier_verdicts(
    session: Session, check: CheckRun, subject: AlertSubject, scope: Scope, *, limit: int
) -> list[tuple[datetime, str]]:
    """Reads those of each hour's last check, newest first."""
    conditions = (
        MeasurementRow.deployment_no == check.deployment_no,
        MeasurementRow.metric == subject.metric,
        MeasurementRow.data == subject.data,
        is_of_scope(scope),
        # NULL means all records together.
        MeasurementRow.attribute.is_not_distinct_from(subject.attribute),
        MeasurementRow.verdict.in_(ON_FAIRNESS),
        not_(MeasurementRow.carried_forward),
        CheckRow.span_start < check.span.start,
        *_is_decided(check),
    )
    if scope is Scope.GROUP:
        conditions = (*conditions, MeasurementRow.group == subject.group)
    statement = (
        select(MeasurementRow.at, MeasurementRow.verdict)
        .join(CheckRow, CheckRow.no == MeasurementRow.check_no)
        .where(*conditions)
    )
    newest_first = (CheckRow.span_start.desc(), MeasurementRow.at.desc(), MeasurementRow.no.desc())
    rows = session.execute(
        statement.ext(distinct_on(CheckRow.span_start)).order_by(*newest_first).limit(limit)
    )
    return [(at, str(verdict)) for at, verdict in rows]


def read_newest_ends(session: Session, check: CheckRun, *, limit: int) -> list[CheckRun]:
    """The newest hour first; of each hour the last one."""
    ended = CheckRow.state.in_((CheckState.SUCCEEDED, CheckState.INSUFFICIENT_DATA, CheckState.FAILED))
    statement = SELECT_RUNS.where(*_is_decided(check), ended)
    newest_first = (CheckRow.span_start.desc(), CheckRow.span_end.desc(), CheckRow.no.desc())
    rows = session.execute(
        statement.ext(distinct_on(CheckRow.span_start)).order_by(*newest_first).limit(limit)
    )
    return [build_run(*row) for row in rows]


def _is_decided(check: CheckRun) -> Sequence[ColumnElement[bool]]:
    """Conditions on this check, and on those whose alerts are evaluated."""
    return (
        CheckRow.deployment_no == check.deployment_no,
        CheckRow.trigger.in_(PRESENT_TRIGGERS),
        CheckRow.span_start <= func.now(),
        or_(not_(CheckRow.alerts_due), CheckRow.no == check.no),
    )
