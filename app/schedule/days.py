"""Adds up ended days of checks once a minute."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..checks.ended_days import keep_next_day
from ..errors import Unavailable
from ..store.checks.checks import current_time
from ..store.database.engine import Database

SECONDS_BETWEEN_LOOKS = 60

MOST_AT_ONCE = 300
"""Max days of one look: after an upgrade there are years of them."""

log = structlog.get_logger(__name__)


def look_for_ended_days(database: Database) -> None:
    """Adds up days that are over, each in its own transaction."""
    done = 0
    try:
        while done < MOST_AT_ONCE:
            with database.transaction() as session:
                if not keep_next_day(session, now=current_time(session)):
                    break
            done += 1
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("days_delayed", error=str(error))
    if done:
        log.info("days_added_up", count=done)
