"""Evaluates alerts: after checks, and as time passes.

A check is marked in the transaction that changes its alerts. Processes take turns for each deployment.
"""

from datetime import timedelta
from functools import partial

from sqlalchemy.orm import Session

from ..domain.alerts import WHOLE_DEPLOYMENT, Resolution, RuleKind, StaleDataCondition
from ..domain.turns import in_turn
from ..store.alerts.alert_rules import hold_deployment, rule_by_no, rule_nos, try_lock_alerts
from ..store.alerts.alerts import deployments_to_revisit, unresolved_of_rule
from ..store.checks.check_runs import read_run
from ..store.checks.checks import current_time
from ..store.checks.ended_checks import deployments_with_ended_checks, newest_record_at, take_ended_check
from ..store.database.engine import Database
from ..store.deployments.monitors import monitor_of
from ..store.mitigation.mitigation import settings_of
from ..store.tables import DeploymentRow
from .conditions import apply_rule
from .facts import facts_of_news, facts_of_silence
from .guarding import run_guarded
from .lifecycle import confirm, end, remind
from .watching import Watch, is_watched

AFTER_CHECKS = (RuleKind.VERDICT, RuleKind.FAILED_CHECKS, RuleKind.ENDPOINT_ERRORS)


def evaluate_ended_checks(database: Database) -> int:
    """Updates the alerts for ended checks, a deployment's in the order of spans; returns their number."""
    with database.transaction() as session:
        waiting = deployments_with_ended_checks(session)
    done = 0
    for deployment_no in in_turn(waiting):
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
                    run_guarded(session, partial(_apply_rule_to_check, session, no, check_no), rule_no=no, check_no=check_no)
            done += 1
    return done


def evaluate_passing_time(database: Database) -> None:
    """Sends reminders, and updates alerts on missing records and unwatched subjects."""
    with database.transaction() as session:
        concerned = deployments_to_revisit(session)
    for deployment_no in in_turn(concerned):
        with database.transaction() as session:
            if try_lock_alerts(session, deployment_no) and hold_deployment(session, deployment_no):
                for no in rule_nos(session, deployment_no, [RuleKind.STALE_DATA]):
                    run_guarded(session, partial(_judge_silence, session, no), rule_no=no)
                for no in rule_nos(session, deployment_no, [*AFTER_CHECKS, RuleKind.EVIDENCE]):
                    run_guarded(session, partial(_resolve_unwatched, session, no, deployment_no), rule_no=no)
                run_guarded(session, partial(remind, session, deployment_no), deployment_no=deployment_no)


def _apply_rule_to_check(session: Session, rule_no: int, check_no: int) -> None:
    apply_rule(session, rule_by_no(session, rule_no), read_run(session, check_no))


def _judge_silence(session: Session, rule_no: int) -> None:
    rule = rule_by_no(session, rule_no)
    condition = rule.content.condition
    if not isinstance(condition, StaleDataCondition):
        return
    now, newest = current_time(session), newest_record_at(session, rule.deployment_no)
    since = newest or session.get_one(DeploymentRow, rule.deployment_no).created_at
    alert = next(iter(unresolved_of_rule(session, rule.no)), None)
    if now - since >= timedelta(hours=condition.hours):
        facts = facts_of_silence(newest, since=since, now=now)
        confirm(session, rule, WHOLE_DEPLOYMENT, facts, alert=alert, check=None)
    elif alert is not None:
        end(session, alert, Resolution.RECOVERED, None if newest is None else facts_of_news(newest, now=now))


def _resolve_unwatched(session: Session, rule_no: int, deployment_no: int) -> None:
    watch = Watch(
        monitor=monitor_of(session, deployment_no),
        has_endpoint=session.get_one(DeploymentRow, deployment_no).endpoint is not None,
        mitigation=settings_of(session, deployment_no),
    )
    for alert in unresolved_of_rule(session, rule_no):
        if not is_watched(alert.subject, watch):
            end(session, alert, Resolution.NO_LONGER_WATCHED)
