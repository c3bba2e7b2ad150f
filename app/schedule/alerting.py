"""When alerts are worked out: soon after a check, and once a minute for what only time brings. Beside the checks, never within one."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.alerts.evaluating import evaluate_ended_checks, evaluate_passing_time
from app.errors import Unavailable
from app.store.engine import Database

SECONDS_BETWEEN_LOOKS = 5
"""How long the end of a check waits for its alerts to be worked out, at most."""

SECOND = 50
"""Of each minute, when passing time is looked at."""

log = structlog.get_logger(__name__)


def look_for_ended_checks(database: Database) -> None:
    """Works out the alerts of the checks that ended. A database that is away now is asked again next time."""
    try:
        done = evaluate_ended_checks(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("alerts_delayed", error=str(error))
        return
    if done:
        log.info("checks_evaluated", count=done)


def look_at_the_clock(database: Database) -> None:
    """Reminds people, and looks for missing records. A database that is away now is asked again next time."""
    try:
        evaluate_passing_time(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("alerts_delayed", error=str(error))
