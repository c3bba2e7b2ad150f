"""Adds up the ended days of checks at once, as the ticker does within minutes."""

from datetime import datetime, timedelta

from app.checks.days.roll_up import add_up_next_day
from app.database.engine import Database

LONG_AGO = timedelta(days=-20_000)
"""A pause after the last change that has always passed: changes have the time of the database, and days of tests lie anywhere."""


def keep_days(database: Database, now: datetime) -> int:
    """Adds up every day that is over at that time and not added up; returns how many."""
    added = 0
    while keep_next(database, now):
        added += 1
    return added


def keep_next(database: Database, now: datetime) -> bool:
    """Adds up one of these days, if there is one."""
    with database.transaction() as session:
        return add_up_next_day(session, now=now, quiet_time=LONG_AGO)
