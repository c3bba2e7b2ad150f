"""Adds up ended days of checks once a minute, so that series of a year are read by day."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..checks.ended_days import keep_next_day
from ..errors import Unavailable
from ..store.checks.checks import current_time
from ..store.database.engine import Database

SECONDS_BETWEEN_LOOKS = 60

MOST_AT_ONCE = 300
"""Max days that one look adds up; after an upgrade there are years of them, and checks share the processors."""

log = structlog.get_logger(__name__)


def look_for_ended_days(database: Database) -> None:
    """Adds up days that are over, each in its own transaction. If the database is away, the next call goes on."""
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
