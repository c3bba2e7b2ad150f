"""Adds up days that are over: their checks, and the count tables of their hours, so that a year is read as 366 rows.

A change of a check of the day takes the sums back in its own transaction (a trigger, migration 0046), and the day is added up again.
"""

from datetime import datetime, timedelta
from itertools import groupby

import structlog
from sqlalchemy.orm import Session

from ..store.checks.check_days import keep_checks, postpone_day, take_changed_day
from ..store.checks.measurements import DayTable, day_tables, store_day_tables
from .rollups import sum_days

SETTLED = timedelta(minutes=5)
"""Pause after the last change of a day's checks, so that days of many late checks are not added up after each of them."""

log = structlog.get_logger(__name__)


def keep_next_day(session: Session, *, now: datetime, settled: timedelta = SETTLED) -> bool:
    """Adds up one ended day that has changed since it was added up, the one that changed first; returns whether there was one.

    Never waits for another transaction: a day that one is writing to is left to a later call. So is, with a warning in the log, one with a
    count table that cannot be read, lest it hold up all others: its series are read from the checks, and say what is wrong.
    """
    changed = take_changed_day(session, before=now - settled, today=now)
    if changed is None:
        return False
    sums = []
    try:
        for outcomes, members in groupby(day_tables(session, changed.deployment_no, changed.day), key=lambda one: one.outcomes):
            sums += [DayTable(outcomes, one) for one in sum_days(table for _, table in members)]
    except (KeyError, TypeError, ValueError) as error:
        log.warning("day_not_added_up", deployment_no=changed.deployment_no, day=changed.day.isoformat(), error=repr(error))
        postpone_day(session, changed)
        return True
    store_day_tables(session, changed.deployment_no, changed.day, sums)
    keep_checks(session, changed.deployment_no, changed.day)
    return True
