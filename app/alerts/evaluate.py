"""Evaluates alerts: after checks, and as time passes.

A check is marked in the transaction that changes its alerts. Processes take turns for each deployment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import cast

import structlog
from psycopg import Error as PostgresError
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from ..base.errors import Unavailable
from ..base.values import name_value
from ..checks.queries import read_run
from ..checks.window.window_records import COPIED
from ..database.binary_rows import read_row
from ..database.engine import Database, current_time
from ..database.tables import DeploymentRow
from ..deployments.mitigation_queries import read_mitigation_settings
from ..deployments.monitor.queries import find_monitor, stored_on
from ..deployments.queries import hold_deployment
from ..domain.alert import (
    WHOLE_DEPLOYMENT,
    Alert,
    AlertSubject,
    EvidenceCondition,
    FailedChecksCondition,
    Resolution,
    Rule,
    RuleKind,
    StaleDataCondition,
    VerdictCondition,
)
from ..domain.check import CheckRun, CheckState, DataSet, Scope, Span
from ..domain.groups import GroupWords
from ..domain.mitigation import MitigationSettings
from ..domain.monitor import POOLED_GROUP, Monitor, find_comparison, split_group
from ..evidence.attribution.queries import queue_for_alert
from ..evidence.present_state import ComparisonState, DeploymentEvidence, look_at_evidence
from ..evidence.queries.eras import eras_with_alerts_due, take_alerts_due
from ..evidence.queries.figure_states import find_ended
from ..evidence.random_order import in_random_order
from ..statistics.e_values.state_words import State
from ..statistics.intervals.verdicts import ON_FAIRNESS, Verdict
from .alert_facts import (
    facts_of_evidence,
    facts_of_failures,
    facts_of_fair_evidence,
    facts_of_figure,
    facts_of_news,
    facts_of_silence,
    facts_of_success,
)
from .ended_check_queries import (
    deployments_with_ended_checks,
    earlier_verdicts,
    is_overtaken,
    newest_ends,
    newest_record_at,
    read_matching_figures,
    take_ended_check,
)
from .lifecycle import confirm, end, remind
from .queries import deployments_to_revisit, unresolved_of_rule
from .rules.queries import rule_by_no, rule_nos, try_lock_alerts

_PASSING = ("08", "40", "53", "57")
"""Classes of Postgres errors that are not the statement's fault."""

log = structlog.get_logger(__name__)


@contextmanager
def guarded(session: Session, **about: object) -> Iterator[None]:
    """Does one step; if a bug breaks it, it is rolled back and logged, for the next check."""
    try:
        with session.begin_nested():
            yield
    except Unavailable:
        raise
    except Exception as error:  # logged; others must go on
        # The database's fault: the same step may succeed the next time.
        if isinstance(error, DBAPIError):
            state = error.orig.sqlstate if isinstance(error.orig, PostgresError) else None
            may_pass = isinstance(error, OperationalError) and (state is None or state.startswith(_PASSING))
            if error.connection_invalidated or may_pass:
                raise
        log.exception("alerts_broke", **about)


def apply_rule(session: Session, rule: Rule, check: CheckRun) -> None:
    condition = rule.content.condition
    if isinstance(condition, VerdictCondition):
        if check.state is not CheckState.SUCCEEDED or check.carried_from or is_overtaken(session, check):
            return
        unresolved = {alert.subject: alert for alert in unresolved_of_rule(session, rule.no)}
        names = GroupWords.of(find_monitor(session, rule.deployment_no))
        for figure in read_matching_figures(session, check, condition):
            if figure.value is None or figure.carried_forward:
                continue
            # The group furthest out may differ from check to check.
            group = figure.group if condition.scope is Scope.GROUP else None
            figure = replace(figure, worst_of=None) if condition.scope is Scope.GROUP else figure  # noqa: PLW2901 - as the rule sees it
            subject = read_row(AlertSubject, figure, group=group)
            alert = unresolved.get(subject)
            if figure.verdict in condition.verdicts:
                if alert is not None:
                    in_a_row, since = _extend_row(alert, check)
                else:
                    needed = condition.checks_in_a_row - 1
                    scope = condition.scope
                    before = (
                        earlier_verdicts(session, check, subject, scope, verdicts=ON_FAIRNESS, limit=needed)
                        if needed
                        else []
                    )
                    moments = [
                        at for at, _ in takewhile(lambda judged: judged[1] in condition.verdicts, before)
                    ]
                    if len(moments) < needed:
                        continue
                    in_a_row = condition.checks_in_a_row
                    since = moments[-1] if moments else figure.at
                facts = facts_of_figure(figure, check, in_a_row=in_a_row, since=since, names=names)
                confirm(session, rule, subject, facts, alert=alert, check=check)
            elif figure.verdict == Verdict.FAIR and alert is not None:
                recovery = facts_of_figure(figure, check, in_a_row=1, since=figure.at, names=names)
                end(session, alert, Resolution.RECOVERED, recovery)
    elif isinstance(condition, FailedChecksCondition):
        _count_failures(session, rule, condition, check)


def _count_failures(session: Session, rule: Rule, condition: FailedChecksCondition, check: CheckRun) -> None:
    ends = newest_ends(session, check, limit=condition.checks_in_a_row)
    if not ends or ends[0].no != check.no:  # this check says nothing, or a later one did
        return
    alert = next(iter(unresolved_of_rule(session, rule.no)), None)
    if check.failure is None:
        if alert is not None:
            end(session, alert, Resolution.RECOVERED, facts_of_success(check))
        return
    failed = list(takewhile(lambda ended: ended.failure is not None, ends))
    if alert is not None:
        in_a_row, since = _extend_row(alert, check)
    elif len(failed) == condition.checks_in_a_row:
        in_a_row = len(failed)
        since = failed[-1].span.end
    else:
        return
    facts = facts_of_failures(failed, in_a_row=in_a_row, since=since)
    confirm(session, rule, WHOLE_DEPLOYMENT, facts, alert=alert, check=check)


def _extend_row(alert: Alert, check: CheckRun) -> tuple[int, datetime]:
    """Another check or attempt of the same hour does not add to the row."""
    count = cast("int", alert.facts["checks_in_a_row"])
    since = cast("str", alert.facts["since"])
    is_more = alert.facts["check_from"] != check.span.start.isoformat()
    return count + is_more, datetime.fromisoformat(since)


_MITIGATED = (DataSet.MITIGATED, DataSet.MITIGATED_LABELLED)


def is_watched(
    subject: AlertSubject, monitor: Monitor | None, mitigation: MitigationSettings, *, has_endpoint: bool
) -> bool:
    """Returns whether checks can still measure the subject; without a monitor there are none. Missing labels
    or records may come.
    """
    if monitor is None or subject.data is None:
        return monitor is not None
    is_unscored = subject.data in COPIED and not has_endpoint
    is_unmitigated = (
        subject.data in _MITIGATED
        and subject.attribute is not None
        and not mitigation.mitigates(subject.attribute)
    )
    if (
        is_unscored
        or is_unmitigated
        or subject.metric not in {metric.key for metric in stored_on(monitor, subject.data)}
    ):
        return False
    if subject.attribute is None:
        return True
    comparison = find_comparison(monitor, subject.attribute)
    if comparison is None or subject.group is None:
        return comparison is not None
    members = comparison.members(monitor)
    if subject.group == POOLED_GROUP:
        return True
    if len(members) == 1:
        return subject.group in {name_value(value) for value in members[0].monitored}
    return bool(split_group(subject.group, members))


AFTER_CHECKS = (RuleKind.VERDICT, RuleKind.FAILED_CHECKS)


def evaluate_ended_checks(database: Database) -> int:
    """Updates the alerts for ended checks, a deployment's in the order of spans; returns their number."""
    with database.transaction() as session:
        waiting = deployments_with_ended_checks(session)
    evaluated = 0
    for deployment_no in in_random_order(waiting):
        while True:
            with database.transaction() as session:
                if not try_lock_alerts(session, deployment_no):
                    break  # another process has them
                with session.begin_nested() as attempt:
                    check_no = take_ended_check(session, deployment_no)
                    if check_no is not None and not hold_deployment(session, deployment_no):
                        attempt.rollback()  # being deleted, or else still to be evaluated
                        check_no = None
                if check_no is None:
                    break
                for no in rule_nos(session, deployment_no, AFTER_CHECKS):
                    with guarded(session, rule_no=no, check_no=check_no):
                        apply_rule(session, rule_by_no(session, no), read_run(session, check_no))
            evaluated += 1
    return evaluated


def evaluate_passing_time(database: Database) -> None:
    """Sends reminders, and updates alerts on missing records and unwatched subjects."""
    with database.transaction() as session:
        concerned = deployments_to_revisit(session)
    for deployment_no in in_random_order(concerned):
        with database.transaction() as session:
            if try_lock_alerts(session, deployment_no) and hold_deployment(session, deployment_no):
                for no in rule_nos(session, deployment_no, [RuleKind.STALE_DATA]):
                    with guarded(session, rule_no=no):
                        _judge_silence(session, no)
                for no in rule_nos(session, deployment_no, [*AFTER_CHECKS, RuleKind.EVIDENCE]):
                    with guarded(session, rule_no=no):
                        monitor = find_monitor(session, deployment_no)
                        mitigation = read_mitigation_settings(session, deployment_no)
                        has_endpoint = session.get_one(DeploymentRow, deployment_no).endpoint is not None
                        for alert in unresolved_of_rule(session, no):
                            if not is_watched(alert.subject, monitor, mitigation, has_endpoint=has_endpoint):
                                end(session, alert, Resolution.NO_LONGER_WATCHED)
                with guarded(session, deployment_no=deployment_no):
                    remind(session, deployment_no)


def _judge_silence(session: Session, rule_no: int) -> None:
    rule = rule_by_no(session, rule_no)
    condition = rule.content.condition
    if not isinstance(condition, StaleDataCondition):
        return
    now = current_time(session)
    newest = newest_record_at(session, rule.deployment_no)
    since = newest or session.get_one(DeploymentRow, rule.deployment_no).created_at
    alert = next(iter(unresolved_of_rule(session, rule.no)), None)
    if now - since >= timedelta(hours=condition.hours):
        facts = facts_of_silence(newest, since=since, now=now)
        confirm(session, rule, WHOLE_DEPLOYMENT, facts, alert=alert, check=None)
    elif alert is not None:
        end(session, alert, Resolution.RECOVERED, None if newest is None else facts_of_news(newest, now=now))


def evaluate_evidence(database: Database) -> int:
    """Updates the alerts of deployments whose evidence has changed; returns their number."""
    with database.transaction() as session:
        waiting = eras_with_alerts_due(session)
    for deployment_no in in_random_order(waiting):
        with database.transaction() as session:
            if not try_lock_alerts(session, deployment_no) or not hold_deployment(session, deployment_no):
                continue
            # In the deciding transaction: a crash leaves them due.
            take_alerts_due(session, deployment_no)
            evidence = look_at_evidence(session, deployment_no)
            if evidence is None:
                continue
            for no in rule_nos(session, deployment_no, [RuleKind.EVIDENCE]):
                with guarded(session, rule_no=no):
                    _apply(session, no, evidence)
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
        if (
            alert.facts.get("model_revision") != evidence.model_revision
            or alert.facts.get("comparison_id") in ended
        ):
            end(session, alert, Resolution.SUPERSEDED)
            del unresolved[subject]
    by_subject: dict[AlertSubject, list[ComparisonState]] = {}
    for state in evidence.comparisons:
        subject = read_row(AlertSubject, state)
        if state.group is not None and condition.covers(subject):
            by_subject.setdefault(subject, []).append(state)
    for subject, sides in by_subject.items():
        if any(side.is_stale for side in sides):
            continue
        present = unresolved.get(subject)
        opened = next((side for side in sides if side.state is State.UNFAIR), None)
        if opened is not None:
            confirmed = confirm(
                session, rule, subject, facts_of_evidence(opened, evidence), alert=present, check=None
            )
            if confirmed is not None and opened.since is not None and opened.alarm_at is not None:
                # A worker reads the records: that takes too long here.
                span = Span(start=opened.since, end=opened.alarm_at)
                queue_for_alert(session, confirmed.deployment_no, span, alert_no=confirmed.no)
        elif present is not None:
            end(
                session,
                present,
                Resolution.RECOVERED,
                facts_of_fair_evidence(sides, GroupWords.of(evidence.monitor)),
            )
