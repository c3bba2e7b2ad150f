"""Working out alerts: after checks, and as time passes.

Each ended check is looked at once: that it was is noted in the transaction that changes its alerts, so that a process may die at any
point. Any number of processes may do this beside each other; a lock makes them take turns for each deployment. No check waits for it.
"""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import structlog
from psycopg import Error as PostgresError
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.alerts.conditions import apply_rule
from app.alerts.facts import facts_of_news, facts_of_silence
from app.alerts.lifecycle import end, remind, uphold
from app.alerts.watching import Watch, is_watched
from app.domain.alerts import WHOLE_DEPLOYMENT, Resolution, RuleKind, StaleDataCondition
from app.errors import Unavailable
from app.store.alert_rules import hold_deployment, rule_by_no, rule_nos, try_lock_alerts
from app.store.alerts import passing_time_matters, unresolved_of_rule
from app.store.check_runs import read_run
from app.store.checks import current_time
from app.store.ended_checks import deployments_with_ended_checks, newest_record_at, take_ended_check
from app.store.engine import Database
from app.store.mitigation import settings_of
from app.store.monitors import monitor_of
from app.store.tables import DeploymentRow

AFTER_CHECKS = (RuleKind.VERDICT, RuleKind.FAILED_CHECKS, RuleKind.ENDPOINT_ERRORS)

_PASSING = ("08", "40", "53", "57")
"""Classes of Postgres' errors that say nothing against the statement: connection, rollback, resources, operator."""

log = structlog.get_logger(__name__)


def evaluate_ended_checks(database: Database) -> int:
    """Works out the alerts of all ended checks, those of a deployment in the order of their spans, and says how many checks that were.

    Raises:
        Unavailable: the database went away; what is left over is done next time.
    """
    with database.transaction() as session:
        waiting = deployments_with_ended_checks(session)
    done = 0
    for deployment_no in _in_turn(waiting):
        while _evaluate_next(database, deployment_no):
            done += 1
    return done


def evaluate_passing_time(database: Database) -> None:
    """Reminds people, and works out what no check is needed for: missing records, and what is no longer watched.

    Raises:
        Unavailable: the database went away; what is left over is done next time.
    """
    with database.transaction() as session:
        concerned = passing_time_matters(session)
    for deployment_no in _in_turn(concerned):
        with database.transaction() as session:
            if try_lock_alerts(session, deployment_no) and hold_deployment(session, deployment_no):
                _look_at_the_clock(session, deployment_no)


def _in_turn(deployment_nos: list[int]) -> list[int]:
    """In another order each time: one that the database gives up on ends the round, and the same ones must not always be behind it."""
    return random.sample(deployment_nos, len(deployment_nos))


def _evaluate_next(database: Database, deployment_no: int) -> bool:
    """Whether there was a check to look at, and nobody else is at it."""
    with database.transaction() as session:
        if not try_lock_alerts(session, deployment_no):
            return False
        check_no = _taken(session, deployment_no)
        if check_no is None:
            return False
        for no in rule_nos(session, deployment_no, AFTER_CHECKS):
            _guarded(session, partial(_apply, session, no, check_no), rule_no=no, check_no=check_no)
    return True


def _taken(session: Session, deployment_no: int) -> int | None:
    with session.begin_nested() as attempt:
        check_no = take_ended_check(session, deployment_no)
        if check_no is None or hold_deployment(session, deployment_no):
            return check_no
        attempt.rollback()  # it is being deleted; should that fail, the check is still to be looked at
    return None


def _look_at_the_clock(session: Session, deployment_no: int) -> None:
    for no in rule_nos(session, deployment_no, [RuleKind.STALE_DATA]):
        _guarded(session, partial(_look_for_records, session, no), rule_no=no)
    for no in rule_nos(session, deployment_no, AFTER_CHECKS):
        _guarded(session, partial(_let_go, session, no, deployment_no), rule_no=no)
    _guarded(session, partial(remind, session, deployment_no), deployment_no=deployment_no)


def _apply(session: Session, rule_no: int, check_no: int) -> None:
    apply_rule(session, rule_by_no(session, rule_no), read_run(session, check_no))


def _look_for_records(session: Session, rule_no: int) -> None:
    rule = rule_by_no(session, rule_no)
    condition = rule.content.condition
    if not isinstance(condition, StaleDataCondition):
        return
    now, newest = current_time(session), newest_record_at(session, rule.deployment_no)
    since = newest or session.get_one(DeploymentRow, rule.deployment_no).created_at
    alert = next(iter(unresolved_of_rule(session, rule.no)), None)
    if now - since >= timedelta(hours=condition.hours):
        facts = facts_of_silence(newest, since=since, now=now)
        uphold(session, rule, WHOLE_DEPLOYMENT, facts, alert=alert, check=None)
    elif alert is not None:
        end(session, alert, Resolution.RECOVERED, None if newest is None else facts_of_news(newest, now=now))


def _let_go(session: Session, rule_no: int, deployment_no: int) -> None:
    watch = Watch(
        monitor=monitor_of(session, deployment_no),
        has_endpoint=session.get_one(DeploymentRow, deployment_no).endpoint is not None,
        mitigation=settings_of(session, deployment_no),
    )
    for alert in unresolved_of_rule(session, rule_no):
        if not is_watched(alert.subject, watch):
            end(session, alert, Resolution.NO_LONGER_WATCHED)


def _guarded(session: Session, step: Callable[[], None], **about: object) -> None:
    """Does one step; if a fault of ours breaks it, nothing of it is kept, and the others are done all the same.

    So neither a check nor a rule can hold up all alerts for ever. What was missed is made up for by the next check, which judges anew.
    """
    try:
        with session.begin_nested():
            step()
    except Unavailable:
        raise
    except Exception as error:  # whatever nobody foresaw in one step must not end the others: logged with its traceback
        if isinstance(error, SQLAlchemyError) and _may_pass(error):
            raise
        log.exception("alerts_broke", **about)


def _may_pass(error: SQLAlchemyError) -> bool:
    """Whether the database itself was in the way, so that the same step may succeed the next time."""
    if not isinstance(error, DBAPIError):
        return False
    state = error.orig.sqlstate if isinstance(error.orig, PostgresError) else None
    return error.connection_invalidated or (isinstance(error, OperationalError) and (state is None or state.startswith(_PASSING)))
