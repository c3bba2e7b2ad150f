"""Evaluates alerts: soon after a check, and once a minute."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..alerts.accumulated import evaluate_evidence
from ..alerts.evaluating import evaluate_ended_checks, evaluate_passing_time
from ..errors import Unavailable
from ..store.database.engine import Database

SECONDS_BETWEEN_LOOKS = 5
"""Max seconds between a check and its alerts."""

SECOND = 50

log = structlog.get_logger(__name__)


def look_for_ended_checks(database: Database) -> None:
    """Evaluates the alerts of ended checks, and of changed evidence."""
    try:
        done = evaluate_ended_checks(database)
        evaluate_evidence(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("alerts_delayed", error=str(error))
        return
    if done:
        log.info("checks_evaluated", count=done)


def look_at_the_clock(database: Database) -> None:
    """Sends reminders, and looks for missing records."""
    try:
        evaluate_passing_time(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("alerts_delayed", error=str(error))
