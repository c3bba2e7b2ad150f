"""Life of an alert; each step queues its own notifications."""

import structlog
from sqlalchemy.orm import Session

from ..base.errors import Conflict
from ..database.binary_rows import read_row
from ..deployments.monitor.queries import find_monitor
from ..domain.alert import (
    Alert,
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
from ..domain.check import CheckRun, Scope
from ..evidence.count_hours import FollowedEra
from ..evidence.figure_state import FigureState, number_hour
from ..evidence.queries.eras import followed_deployment, lock_evidence
from ..evidence.queries.figure_states import Closure, add_closure, find_era_figures, replace_state
from ..evidence.summarise import summarise
from .alert_facts import Facts, facts_of_closing, join_recovery
from .channels.notification_queries import queue_notifications
from .queries import (
    acknowledge,
    alerts_to_remind,
    assign,
    close,
    get_alert,
    note_reminder,
    note_seen_again,
    open_alert,
    resolve,
    unresolved_about,
    unresolved_of_rule,
)
from .rules.queries import delete_rule, lock_alerts

log = structlog.get_logger(__name__)


def confirm(
    session: Session,
    rule: Rule,
    subject: AlertSubject,
    facts: Facts,
    *,
    alert: Alert | None,
    check: CheckRun | None,
) -> Alert | None:
    """Opens the rule's alert about the subject, or notes that `alert` was seen again; None if none was
    opened.
    """
    if alert is not None:
        note_seen_again(session, alert, facts, check)
        return None
    opened = open_alert(session, rule, subject, facts, check)
    if opened is not None:
        queue_notifications(session, opened, Event.OPENED)
        log.info(
            "alert_opened", alert=opened.id, deployment=opened.deployment_id, rule=rule.id, kind=opened.kind
        )
    return opened


def end(session: Session, alert: Alert, resolution: Resolution, recovery: Facts | None = None) -> None:
    facts = alert.facts if recovery is None else join_recovery(alert.facts, recovery)
    _tell_resolved(session, resolve(session, alert, resolution, facts), resolution)


def _tell_resolved(session: Session, alert: Alert | None, resolution: Resolution) -> None:
    if alert is not None:
        queue_notifications(session, alert, Event.RESOLVED)
        log.info(
            "alert_resolved",
            alert=alert.id,
            deployment=alert.deployment_id,
            rule=alert.rule_id,
            resolution=resolution,
        )


def remind(session: Session, deployment_no: int) -> None:
    for alert in alerts_to_remind(session, deployment_no):
        reminded = note_reminder(session, alert)
        if reminded is not None:
            queue_notifications(session, reminded, Event.REMINDED)


def record_acknowledgement(
    session: Session, alert: Alert, *, by: str, note: str | None
) -> tuple[Alert, bool]:
    """Returns the alert, and whether this call acknowledged it: the first person counts."""
    acknowledged = acknowledge(session, alert, by=by, note=note)
    if acknowledged is None:
        present = get_alert(session, alert.id)
        if present.state is AlertState.RESOLVED:
            raise Conflict(f"Alert {alert.id} is resolved; there is nothing left to acknowledge.")
        return present, False
    queue_notifications(session, acknowledged, Event.ACKNOWLEDGED)
    return acknowledged, True


def record_assignment(session: Session, alert: Alert, assignee: str | None) -> tuple[Alert, bool]:
    """Returns the alert, and whether this call assigned it.

    Raises:
        Conflict: it is resolved, and was not assigned to `assignee` before.
    """
    assigned = assign(session, alert, assignee)
    if assigned is not None:
        return assigned, True
    present = get_alert(session, alert.id)
    if present.assignee != assignee:
        raise Conflict(f"Alert {alert.id} is resolved; there is nothing left to assign.")
    return present, False


def close_by_hand(
    session: Session, alert: Alert, *, by: str, note: str, reason: ClosingReason | None = None
) -> tuple[Alert, bool]:
    """Closes an alert of evidence, and others about the figure; its evidence begins again with the next hour.

    Returns the alert, and whether this call closed it: the first person counts.
    """
    if alert.kind is not RuleKind.EVIDENCE:
        raise Conflict(
            f"Alert {alert.id} is of the kind {alert.kind}, which is resolved automatically; only evidence "
            "is closed by hand."
        )
    # Workers take the first lock alone, and never wait for either.
    lock_evidence(session, alert.deployment_no)
    lock_alerts(session, alert.deployment_no)
    present = get_alert(session, alert.id)
    if present.resolution is Resolution.CLOSED:
        return present, False
    if present.state is AlertState.RESOLVED:
        raise Conflict(f"Alert {alert.id} is resolved; there is nothing left to close.")
    _close_alarms(session, present)
    for unresolved in unresolved_about(session, present):
        closed = close(session, unresolved, facts_of_closing(unresolved), by=by, note=note, reason=reason)
        _tell_resolved(session, closed, Resolution.CLOSED)
    return get_alert(session, alert.id), True


def _close_alarms(session: Session, alert: Alert) -> None:
    """Ends what is open on the figure of an alert of evidence, if it is about the present era.

    The caller must hold the lock on the deployment's evidence: an hour added meanwhile would be lost.
    """
    monitor = find_monitor(session, alert.deployment_no)
    deployment = followed_deployment(session, alert.deployment_no)
    if monitor is None:
        return
    stored = find_era_figures(session, alert.deployment_no, deployment.model_revision)
    if stored is None or alert.facts.get("model_revision") != stored.era.model_revision:
        return
    followed = FollowedEra(deployment, monitor, stored.era)
    metrics = {metric.key: metric for metric in followed.metrics}
    for figure in stored.present:
        key = figure.key
        about = read_row(AlertSubject, key)
        if about == alert.subject and figure.state and followed.compares(figure):
            watched = metrics[figure.metric_key]
            state = FigureState.decode(figure.state, watched)
            for limit, follower in zip(watched.limits, state.followers, strict=True):
                if follower.open_episode is not None:
                    follower.close(number_hour(figure.until))
                    # Not the hour of the clock: ended hours may still wait to be counted, and they count
                    # after the closing.
                    closure = Closure(key=key, direction=watched.direction(limit), hour=figure.until)
                    add_closure(session, stored.era.no, closure, alert_no=alert.no)
            state.restart_interval(watched)
            replace_state(session, figure, state.encode(), summarise(watched, state))


def settle(session: Session, before: Rule, after: Rule) -> None:
    """Resolves alerts that the changed rule does not cover. The caller holds the lock on the alerts."""
    condition = after.content.condition
    for alert in unresolved_of_rule(session, after.no):
        if not after.content.enabled:
            end(session, alert, Resolution.RULE_DISABLED)
            continue
        if condition == before.content.condition:
            continue
        subject = alert.subject
        is_covered = alert.kind is after.content.kind
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
            end(session, alert, Resolution.RULE_CHANGED)


def withdraw(session: Session, rule: Rule) -> None:
    """Deletes the rule; its alerts are resolved and kept."""
    lock_alerts(session, rule.deployment_no)
    for alert in unresolved_of_rule(session, rule.no):
        end(session, alert, Resolution.RULE_DELETED)
    delete_rule(session, rule)
