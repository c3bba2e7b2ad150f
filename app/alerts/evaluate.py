"""Evaluates alerts: after checks, and as time passes.

A check is marked in the transaction that changes its alerts. Processes take turns for each deployment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import cast

import structlog
from psycopg import Error as PostgresError
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.errors import Unavailable
from ..base.values import name_value
from ..checks.queries import read_run
from ..checks.window.window_records import COPIED_DATA
from ..database.binary_rows import read_row
from ..database.engine import Database, current_time
from ..database.tables import DeploymentRow
from ..deployments.mitigation_queries import read_mitigation_settings
from ..deployments.monitor.queries import find_monitor, list_stored_metrics
from ..deployments.queries import hold_deployment
from ..domain.alert import (
    WHOLE_DEPLOYMENT,
    AlertFigure,
    AlertKind,
    AlertSubject,
    EvidenceCondition,
    FailedChecksCondition,
    LateLabelsCondition,
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
from ..evidence.figure_state import find_hour_start
from ..evidence.present_state import ComparisonState, DeploymentEvidence, read_deployment_evidence
from ..evidence.queries.eras import find_eras_with_alerts_due, take_alerts_due
from ..evidence.queries.figure_states import find_ended_ids
from ..evidence.random_order import in_random_order
from ..statistics.e_values.state_words import State
from ..statistics.intervals.verdicts import Verdict
from .alert_facts import (
    build_evidence_facts,
    build_failure_facts,
    build_fair_evidence_facts,
    build_figure_facts,
    build_labels_again_facts,
    build_late_labels_facts,
    build_new_record_facts,
    build_silence_facts,
    build_some_group_end_facts,
    build_some_group_facts,
    build_success_facts,
)
from .lateness import (
    MIN_WAIT,
    find_newest_record_at,
    find_usual_gap,
    find_wait,
    read_hours_with_records,
    read_label_shares,
)
from .lifecycle import (
    confirm_figure,
    finish_changes,
    is_overtaken,
    list_deployments_with_ended_checks,
    read_earlier_verdicts,
    read_matching_figures,
    read_newest_ends,
    take_ended_check,
)
from .queries import (
    end_figure,
    find_unresolved,
    list_deployments_to_revisit,
    name_alert,
    note_reminders,
    read_open_figures_of_rule,
)
from .rules.rule_queries import list_rule_nos, read_rule_by_no, try_lock_alerts

_TRANSIENT_ERROR_CLASSES = ("08", "40", "53", "57")
"""Classes of Postgres errors that are not the statement's fault."""

log = structlog.get_logger(__name__)


@contextmanager
def guard_step(session: Session, **about: object) -> Iterator[None]:
    """Rolls the step back and logs its error, so that the others go on. Raises errors that may pass."""
    try:
        with session.begin_nested():
            yield
    except Unavailable:
        raise
    except Exception as error:  # logged; others must go on
        # The database's fault: the same step may succeed the next time.
        if isinstance(error, DBAPIError):
            state = error.orig.sqlstate if isinstance(error.orig, PostgresError) else None
            may_pass = isinstance(error, OperationalError) and (
                state is None or state.startswith(_TRANSIENT_ERROR_CLASSES)
            )
            if error.connection_invalidated or may_pass:
                raise
        log.exception("alerts_broke", **about)


def apply_rule(session: Session, rule: Rule, check: CheckRun) -> None:
    condition = rule.content.condition
    if isinstance(condition, VerdictCondition):
        if (
            check.state is CheckState.SUCCEEDED
            and not check.carried_from
            and not is_overtaken(session, check)
        ):
            _apply_verdict_rule(session, rule, condition, check)
    elif isinstance(condition, FailedChecksCondition):
        _apply_failure_rule(session, rule, condition, check)


def _apply_verdict_rule(session: Session, rule: Rule, condition: VerdictCondition, check: CheckRun) -> None:
    figures = {figure.subject: figure for figure in read_open_figures_of_rule(session, rule.no)}
    names = GroupWords.of(find_monitor(session, rule.deployment_no))
    for stored in read_matching_figures(session, check, condition):
        if stored.value is None or stored.carried_forward:
            continue
        is_of_group = condition.scope is Scope.GROUP
        measurement = replace(stored, worst_of=None) if is_of_group else stored
        # The group furthest out may differ from check to check.
        subject = read_row(AlertSubject, measurement, group=measurement.group if is_of_group else None)
        figure = figures.get(subject)
        if measurement.verdict in condition.verdicts:
            if figure is not None:
                in_a_row, since = _extend_row(figure, check)
            else:
                in_a_row = condition.checks_in_a_row
                earlier = _read_row_before(session, check, subject, condition)
                if len(earlier) + 1 < in_a_row:
                    continue
                since = earlier[-1] if earlier else measurement.at
            facts = build_figure_facts(measurement, check, in_a_row=in_a_row, since=since, names=names)
            confirm_figure(session, rule, subject, facts, figure=figure, check=check)
        elif measurement.verdict == Verdict.FAIR and figure is not None:
            facts = build_figure_facts(measurement, check, in_a_row=1, since=measurement.at, names=names)
            end_figure(session, figure, Resolution.RECOVERED, facts)


def _read_row_before(
    session: Session, check: CheckRun, subject: AlertSubject, condition: VerdictCondition
) -> list[datetime]:
    """Times of the checks right before this one that the condition holds for, newest first."""
    needed = condition.checks_in_a_row - 1
    if not needed:
        return []
    earlier = read_earlier_verdicts(session, check, subject, condition.scope, limit=needed)
    return [at for at, _ in takewhile(lambda earlier: earlier[1] in condition.verdicts, earlier)]


def _apply_failure_rule(
    session: Session, rule: Rule, condition: FailedChecksCondition, check: CheckRun
) -> None:
    ends = read_newest_ends(session, check, limit=condition.checks_in_a_row)
    if not ends or ends[0].no != check.no:  # this check says nothing, or a later one did
        return
    figure = next(iter(read_open_figures_of_rule(session, rule.no)), None)
    if check.failure is None:
        if figure is not None:
            end_figure(session, figure, Resolution.RECOVERED, build_success_facts(check))
        return
    failed = list(takewhile(lambda ended: ended.failure is not None, ends))
    if figure is not None:
        in_a_row, since = _extend_row(figure, check)
    elif len(failed) == condition.checks_in_a_row:
        in_a_row = len(failed)
        since = failed[-1].span.end
    else:
        return
    facts = build_failure_facts(failed, in_a_row=in_a_row, since=since)
    confirm_figure(session, rule, WHOLE_DEPLOYMENT, facts, figure=figure, check=check)


def _extend_row(figure: AlertFigure, check: CheckRun) -> tuple[int, datetime]:
    """Another check of the same hour does not add to it."""
    count = cast("int", figure.facts["checks_in_a_row"])
    since = cast("str", figure.facts["since"])
    is_more = figure.facts["check_from"] != check.span.start.isoformat()
    return count + is_more, datetime.fromisoformat(since)


_MITIGATED = (DataSet.MITIGATED, DataSet.MITIGATED_LABELLED)


def is_watched(
    subject: AlertSubject, monitor: Monitor | None, mitigation: MitigationSettings, *, has_endpoint: bool
) -> bool:
    """True if checks can still measure the subject. Labels or records that are missing may come."""
    if monitor is None or subject.data is None:
        return monitor is not None
    is_unscored = subject.data in COPIED_DATA and not has_endpoint
    is_unmitigated = (
        subject.data in _MITIGATED
        and subject.attribute is not None
        and not mitigation.mitigates(subject.attribute)
    )
    if (
        is_unscored
        or is_unmitigated
        or subject.metric not in {metric.key for metric in list_stored_metrics(monitor, subject.data)}
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


_CHECK_RULES = (RuleKind.VERDICT, RuleKind.FAILED_CHECKS)


def evaluate_ended_checks(database: Database) -> int:
    """Evaluates the ended checks of each deployment in the order of their spans; returns their number."""
    with database.transaction() as session:
        waiting = list_deployments_with_ended_checks(session)
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
                for no in list_rule_nos(session, deployment_no, _CHECK_RULES):
                    with guard_step(session, rule_no=no, check_no=check_no):
                        apply_rule(session, read_rule_by_no(session, no), read_run(session, check_no))
                with guard_step(session, check_no=check_no):
                    finish_changes(session, deployment_no)
            evaluated += 1
    return evaluated


def evaluate_passing_time(database: Database) -> None:
    """Judges absent records and labels, ends what nothing watches, and reminds."""
    with database.transaction() as session:
        nos = list_deployments_to_revisit(session)
    for deployment_no in in_random_order(nos):
        with database.transaction() as session:
            if not try_lock_alerts(session, deployment_no) or not hold_deployment(session, deployment_no):
                continue
            for no in list_rule_nos(session, deployment_no, [RuleKind.STALE_DATA, RuleKind.LATE_LABELS]):
                with guard_step(session, rule_no=no):
                    _apply_absence_rule(session, read_rule_by_no(session, no))
            for no in list_rule_nos(session, deployment_no, [*_CHECK_RULES, RuleKind.EVIDENCE]):
                with guard_step(session, rule_no=no):
                    _end_unwatched(session, deployment_no, no)
            with guard_step(session, deployment_no=deployment_no):
                note_reminders(session, deployment_no)
                finish_changes(session, deployment_no)


def _end_unwatched(session: Session, deployment_no: int, rule_no: int) -> None:
    monitor = find_monitor(session, deployment_no)
    mitigation = read_mitigation_settings(session, deployment_no)
    has_endpoint = session.get_one(DeploymentRow, deployment_no).endpoint is not None
    for figure in read_open_figures_of_rule(session, rule_no):
        if not is_watched(figure.subject, monitor, mitigation, has_endpoint=has_endpoint):
            end_figure(session, figure, Resolution.NO_LONGER_WATCHED)


def _apply_absence_rule(session: Session, rule: Rule) -> None:
    condition = rule.content.condition
    now = current_time(session)
    figure = next(iter(read_open_figures_of_rule(session, rule.no)), None)
    if isinstance(condition, LateLabelsCondition):
        labels = read_label_shares(session, rule.deployment_no)
        if labels is not None and labels.is_late:
            facts = build_late_labels_facts(labels, now=now)
            confirm_figure(session, rule, WHOLE_DEPLOYMENT, facts, figure=figure, check=None)
        elif labels is not None and figure is not None:
            end_figure(session, figure, Resolution.RECOVERED, build_labels_again_facts(labels, now=now))
    if not isinstance(condition, StaleDataCondition):
        return
    newest = find_newest_record_at(session, rule.deployment_no)
    since = newest or session.get_one(DeploymentRow, rule.deployment_no).created_at
    usual = None
    is_late = condition.hours is not None and now - since >= condition.hours * HOUR
    if condition.hours is None and now - since >= MIN_WAIT:
        hours = read_hours_with_records(session, rule.deployment_no)
        usual = find_usual_gap(hours)
        is_late = now - since >= find_wait(hours) * HOUR
    if is_late:
        facts = build_silence_facts(newest, since=since, now=now, usual_hours=usual)
        confirm_figure(session, rule, WHOLE_DEPLOYMENT, facts, figure=figure, check=None)
    elif figure is not None:
        end_figure(
            session,
            figure,
            Resolution.RECOVERED,
            None if newest is None else build_new_record_facts(newest, now=now),
        )


def evaluate_evidence(database: Database) -> int:
    """Evaluates evidence that has changed; returns the number of deployments."""
    with database.transaction() as session:
        waiting = find_eras_with_alerts_due(session)
    for deployment_no in in_random_order(waiting):
        with database.transaction() as session:
            if not try_lock_alerts(session, deployment_no) or not hold_deployment(session, deployment_no):
                continue
            # In the deciding transaction: a crash leaves them due.
            take_alerts_due(session, deployment_no)
            evidence = read_deployment_evidence(session, deployment_no)
            if evidence is None:
                continue
            with guard_step(session, deployment_no=deployment_no):
                _end_some_group(session, deployment_no, evidence)
            for no in list_rule_nos(session, deployment_no, [RuleKind.EVIDENCE]):
                with guard_step(session, rule_no=no):
                    _apply_evidence_rule(session, no, evidence)
            with guard_step(session, deployment_no=deployment_no):
                finish_changes(session, deployment_no)
    return len(waiting)


_RESOLUTION_OF_END = {"named": Resolution.NAMED, "resolved": Resolution.RECOVERED}


def _end_some_group(session: Session, deployment_no: int, evidence: DeploymentEvidence) -> None:
    """Ends the alert on some group with its alarm. Once a group is named, the alert becomes that on the
    group.
    """
    alert = find_unresolved(session, deployment_no, AlertKind.SOME_GROUP)
    if alert is None:
        return
    is_same_model = alert.facts["model_revision"] == evidence.model_revision
    since = alert.facts["since"]
    alarms = (alarm for alarm in evidence.era.alarms if find_hour_start(alarm.opened).isoformat() == since)
    alarm = next(alarms, None) if is_same_model else None
    if alarm is not None and alarm.ended is None:
        return
    resolution = _RESOLUTION_OF_END.get("" if alarm is None else str(alarm.end), Resolution.SUPERSEDED)
    for figure in alert.figures:
        if figure.ended_at is None:
            end_figure(session, figure, resolution, build_some_group_end_facts(alarm, resolution))
    unfair = [
        state
        for state in evidence.comparisons
        if state.state is State.UNFAIR
        and state.group is not None
        and find_unresolved(session, deployment_no, AlertKind.UNFAIR, state.attribute, state.group) is None
    ]
    if resolution is Resolution.NAMED and unfair:
        strongest = max(unfair, key=lambda state: state.log_evidence)
        name_alert(session, alert, strongest.attribute, str(strongest.group))


def _apply_evidence_rule(session: Session, rule_no: int, evidence: DeploymentEvidence) -> None:
    rule = read_rule_by_no(session, rule_no)
    condition = rule.content.condition
    if not isinstance(condition, EvidenceCondition):
        return
    figures = {figure.subject: figure for figure in read_open_figures_of_rule(session, rule.no)}
    some_group = figures.pop(WHOLE_DEPLOYMENT, None)
    ids = [str(figure.facts.get("comparison_id")) for figure in figures.values()]
    ended_ids = find_ended_ids(session, ids)
    for subject, figure in list(figures.items()):
        if (
            figure.facts.get("model_revision") != evidence.model_revision
            or figure.facts.get("comparison_id") in ended_ids
        ):
            end_figure(session, figure, Resolution.SUPERSEDED)
            del figures[subject]
    sides_of: dict[AlertSubject, list[ComparisonState]] = {}
    is_about_all = True
    for state in evidence.comparisons:
        subject = read_row(AlertSubject, state)
        is_about_all &= condition.covers(subject)
        if state.group is not None and condition.covers(subject):
            sides_of.setdefault(subject, []).append(state)
    alarm = evidence.era.open_alarm
    # It may be a comparison that the rule is not about.
    if alarm is not None and is_about_all:
        facts = build_some_group_facts(evidence, alarm)
        confirm_figure(session, rule, WHOLE_DEPLOYMENT, facts, figure=some_group, check=None)
    for subject, sides in sides_of.items():
        if any(side.is_stale for side in sides):
            continue
        open_figure = figures.get(subject)
        unfair = next((side for side in sides if side.state is State.UNFAIR), None)
        if unfair is not None:
            facts = build_evidence_facts(unfair, evidence)
            opened = confirm_figure(session, rule, subject, facts, figure=open_figure, check=None)
            if opened is not None and unfair.since is not None and unfair.alarm_at is not None:
                # A worker reads the records: that takes too long here.
                span = Span(start=unfair.since, end=unfair.alarm_at)
                queue_for_alert(session, rule.deployment_no, span, alert_no=opened.alert_no)
        elif open_figure is not None:
            names = GroupWords.of(evidence.monitor)
            end_figure(session, open_figure, Resolution.RECOVERED, build_fair_evidence_facts(sides, names))
