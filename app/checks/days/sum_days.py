"""Adds up days that are over, so that a year is read as 366 rows.

A change of a day's check takes the sums back in its own transaction (a trigger, migration 0046), and the
day is added up again.
"""

from datetime import datetime, timedelta
from itertools import groupby

import structlog
from sqlalchemy.orm import Session

from .day_queries import keep_checks, postpone_day, take_changed_day
from .measurement_queries import DayTable, day_tables, store_day_tables
from .roll_up import sum_days

SETTLED = timedelta(minutes=5)
"""Pause after the last change of a day's checks."""

log = structlog.get_logger(__name__)


def keep_next_day(session: Session, *, now: datetime, settled: timedelta = SETTLED) -> bool:
    """Adds up the ended day that changed first; whether there was one.

    Never waits for another transaction: a day being written to is left to a later call, and so is one with
    an unreadable count table, lest it hold up all others.
    """
    changed = take_changed_day(session, before=now - settled, today=now)
    if changed is None:
        return False
    sums = []
    try:
        for outcomes, members in groupby(
            day_tables(session, changed.deployment_no, changed.day), key=lambda table: table.outcomes
        ):
            sums += [DayTable(outcomes, table) for table in sum_days(table for _, table in members)]
    except (KeyError, TypeError, ValueError) as error:
        log.warning(
            "day_not_added_up",
            deployment_no=changed.deployment_no,
            day=changed.day.isoformat(),
            error=repr(error),
        )
        postpone_day(session, changed)
        return True
    store_day_tables(session, changed.deployment_no, changed.day, sums)
    keep_checks(session, changed.deployment_no, changed.day)
    return True
