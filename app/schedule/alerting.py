"""Evaluates alerts: soon after a check, and once a minute for what depends on time alone. Runs next to the checks, never within one."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..alerts.accumulated import evaluate_evidence
from ..alerts.evaluating import evaluate_ended_checks, evaluate_passing_time
from ..errors import Unavailable
from ..store.database.engine import Database

SECONDS_BETWEEN_LOOKS = 5
"""Max seconds between the end of a check and the evaluation of its alerts."""

SECOND = 50
"""Second of each minute at which alerts that depend on time are evaluated."""

log = structlog.get_logger(__name__)


def look_for_ended_checks(database: Database) -> None:
    """Evaluates the alerts of the checks that ended, and of the evidence that has changed.

    If the database is away, the next call tries again.
    """
    try:
        done = evaluate_ended_checks(database)
        evaluate_evidence(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("alerts_delayed", error=str(error))
        return
    if done:
        log.info("checks_evaluated", count=done)


def look_at_the_clock(database: Database) -> None:
    """Sends reminders, and looks for missing records. If the database is away, the next call tries again."""
    try:
        evaluate_passing_time(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("alerts_delayed", error=str(error))
