"""The tick: once a minute, what is due is queued. Any number of processes may tick beside each other."""

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from sqlalchemy.exc import SQLAlchemyError

from app.clock import utc_now
from app.errors import Unavailable
from app.schedule.due import queue_due_checks
from app.store.checks import current_time
from app.store.engine import Database
from app.store.partitions import ensure_coming_months

SECOND = 35
"""Of each minute: a little after an hour's check has become due."""

log = structlog.get_logger(__name__)


def started_ticker(database: Database) -> BackgroundScheduler:
    """A scheduler that ticks now and every minute, in a thread of its own, until it is shut down."""
    scheduler = BackgroundScheduler(timezone="UTC")
    every_minute = CronTrigger(second=SECOND, timezone="UTC")
    scheduler.add_job(tick, every_minute, (database,), coalesce=True, max_instances=1, misfire_grace_time=None, next_run_time=utc_now())
    scheduler.start()
    return scheduler


def tick(database: Database) -> None:
    """Queues due checks and makes the coming months' partitions. A database that is away now is asked again next time."""
    try:
        with database.transaction() as session:
            now = current_time(session)
            queued = queue_due_checks(session, now)
        with database.transaction() as session:
            ensure_coming_months(session, now)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("tick_failed", error=str(error))
        return
    if queued:
        log.info("checks_queued", count=queued)
