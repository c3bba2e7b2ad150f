"""Rules about evidence: the detector's alarm opens an alert, its return inside the limit resolves it."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy.orm import Session

from ..database.engine import Database
from ..deployments.queries import hold_deployment
from ..domain.alert import Alert, AlertSubject, EvidenceCondition, Resolution, Rule, RuleKind
from ..domain.check import Span
from ..domain.group_words import GroupWords
from ..evidence.attribution.queries import queue_for_alert
from ..evidence.deployment_turns import in_turn
from ..evidence.present_state import ComparisonState, DeploymentEvidence, look_at_evidence
from ..evidence.queries.eras import eras_with_alerts_due, take_alerts_due
from ..evidence.queries.figure_states import find_ended
from ..statistics.e_values.state_words import State
from .alert_facts import facts_of_evidence, facts_of_fair_evidence
from .guard import run_guarded
from .lifecycle import confirm, end
from .queries import unresolved_of_rule
from .rules.queries import rule_by_no, rule_nos, try_lock_alerts


def evaluate_evidence(database: Database) -> int:
    """Updates the alerts of deployments whose evidence has changed; returns their number."""
    with database.transaction() as session:
        waiting = eras_with_alerts_due(session)
    for deployment_no in in_turn(waiting):
        with database.transaction() as session:
            if not try_lock_alerts(session, deployment_no) or not hold_deployment(session, deployment_no):
                continue
            # In the deciding transaction: a crash leaves them due.
            take_alerts_due(session, deployment_no)
            evidence = look_at_evidence(session, deployment_no)
            if evidence is None:
                continue
            for no in rule_nos(session, deployment_no, [RuleKind.EVIDENCE]):
                run_guarded(session, partial(_apply, session, no, evidence), rule_no=no)
    return len(waiting)


def _apply(session: Session, rule_no: int, evidence: DeploymentEvidence) -> None:
    rule = rule_by_no(session, rule_no)
    condition = rule.content.condition
    if not isinstance(condition, EvidenceCondition):
        return
    unresolved = {alert.subject: alert for alert in unresolved_of_rule(session, rule.no)}
    # Another model revision, or another comparison.
    ended = find_ended(session, [str(alert.facts.get("comparison_id")) for alert in unresolved.values()])
    for subject, alert in list(unresolved.items()):
        if alert.facts.get("model_revision") != evidence.model_revision or alert.facts.get("comparison_id") in ended:
            end(session, alert, Resolution.SUPERSEDED)
            del unresolved[subject]
    by_subject: dict[AlertSubject, list[ComparisonState]] = {}
    for state in evidence.comparisons:
        subject = AlertSubject(data=state.data, metric=state.metric, attribute=state.attribute, group=state.group)
        if state.group is not None and condition.covers(subject):
            by_subject.setdefault(subject, []).append(state)
    for subject, sides in by_subject.items():
        _decide(session, rule, subject, sides, unresolved.get(subject), evidence)


def _decide(
    session: Session, rule: Rule, subject: AlertSubject, sides: Sequence[ComparisonState], alert: Alert | None, evidence: DeploymentEvidence
) -> None:
    if any(side.is_stale for side in sides):
        return
    opened = [side for side in sides if side.state is State.UNFAIR]
    if opened:
        confirmed = confirm(session, rule, subject, facts_of_evidence(opened[0], evidence), alert=alert, check=None)
        since, alarm_at = opened[0].since, opened[0].alarm_at
        if alert is None and confirmed is not None and since is not None and alarm_at is not None:
            # A worker reads the records: that takes too long here.
            queue_for_alert(session, confirmed.deployment_no, Span(start=since, end=alarm_at), alert_no=confirmed.no)
    elif alert is not None:
        end(session, alert, Resolution.RECOVERED, facts_of_fair_evidence(sides, GroupWords.of(evidence.monitor)))
