"""The life of an alert: opened, seen again, reminded of, acknowledged, resolved. Each step queues its notifications with itself."""

import structlog
from sqlalchemy.orm import Session

from app.alerts.facts import Facts
from app.domain.alerts import Alert, AlertState, Condition, Event, Resolution, Rule, Subject, VerdictCondition
from app.domain.checks import CheckRun, Scope
from app.errors import Conflict
from app.store.alert_rules import delete_rule, lock_alerts
from app.store.alerts import acknowledge, get_alert, note_reminder, open_alert, resolve, see_again, to_be_reminded, unresolved_of_rule
from app.store.notifications import queue_notifications

log = structlog.get_logger(__name__)


def uphold(session: Session, rule: Rule, subject: Subject, facts: Facts, *, alert: Alert | None, check: CheckRun | None) -> None:
    """Opens the rule's alert about the subject or, where `alert` is open already, notes that it still holds."""
    if alert is not None:
        see_again(session, alert, facts, check)
        return
    opened = open_alert(session, rule, subject, facts, check)
    if opened is not None:
        queue_notifications(session, opened, Event.OPENED)
        log.info("alert_opened", alert=opened.id, deployment=opened.deployment_id, rule=rule.id, kind=opened.kind.value)


def end(session: Session, alert: Alert, resolution: Resolution, recovery: Facts | None = None) -> None:
    """Resolves the alert. `recovery` is what shows that it has passed, kept beside what it was about."""
    facts = alert.facts if recovery is None else {**alert.facts, "sentence": recovery["sentence"], "recovery": recovery}
    resolved = resolve(session, alert, resolution, facts)
    if resolved is not None:
        queue_notifications(session, resolved, Event.RESOLVED)
        log.info("alert_resolved", alert=alert.id, deployment=alert.deployment_id, rule=alert.rule_id, resolution=resolution.value)


def remind(session: Session, deployment_no: int) -> None:
    """Reminds people of the deployment's alerts that are open for long and that nobody took on."""
    for alert in to_be_reminded(session, deployment_no):
        reminded = note_reminder(session, alert)
        if reminded is not None:
            queue_notifications(session, reminded, Event.REMINDED)


def take_on(session: Session, alert: Alert, *, by: str, note: str | None) -> tuple[Alert, bool]:
    """The alert, acknowledged by that person, and whether it was not before: the first one who takes it on counts.

    Raises:
        Conflict: it is resolved, so there is nothing left to take on.
    """
    taken = acknowledge(session, alert, by=by, note=note)
    if taken is None:
        present = get_alert(session, alert.id)
        if present.state is AlertState.RESOLVED:
            raise Conflict(f"Alert {alert.id} is resolved; there is nothing left to acknowledge.")
        return present, False
    queue_notifications(session, taken, Event.ACKNOWLEDGED)
    return taken, True


def settle(session: Session, before: Rule, after: Rule) -> None:
    """Resolves the alerts that the rule, as it is now, would not open. Hold the lock on the deployment's alerts."""
    for alert in unresolved_of_rule(session, after.no):
        if not after.content.enabled:
            end(session, alert, Resolution.RULE_DISABLED)
        elif before.content.condition != after.content.condition and not _is_covered(alert, after.content.condition, after):
            end(session, alert, Resolution.RULE_CHANGED)


def withdraw(session: Session, rule: Rule) -> None:
    """Deletes the rule; its alerts are resolved and stay."""
    lock_alerts(session, rule.deployment_no)
    for alert in unresolved_of_rule(session, rule.no):
        end(session, alert, Resolution.RULE_DELETED)
    delete_rule(session, rule)


def _is_covered(alert: Alert, condition: Condition, rule: Rule) -> bool:
    if alert.kind is not rule.content.kind:
        return False
    if not isinstance(condition, VerdictCondition):
        return True
    subject = alert.subject
    scope = Scope.WORST if subject.group is None else Scope.GROUP
    return (
        scope is condition.scope
        and subject.data in condition.data
        and subject.metric in condition.metrics
        and (condition.attributes is None or subject.attribute in condition.attributes)
    )
