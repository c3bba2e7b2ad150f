"""The tick: once a minute, what is due is queued; beside it alerts are worked out. Any number of processes may tick beside each other."""

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.exc import SQLAlchemyError

from app.clock import utc_now
from app.domain.workers import BEAT_SECONDS
from app.errors import Unavailable
from app.schedule import alerting
from app.schedule.due import queue_due_checks
from app.schedule.heartbeat import beat
from app.store.checks import current_time
from app.store.engine import Database
from app.store.notifications import forget_old
from app.store.partitions import ensure_coming_months

SECOND = 35
"""Of each minute: a little after an hour's check has become due."""

JOBS = 4
"""How many jobs the ticker may do at the same time, each with a connection."""

log = structlog.get_logger(__name__)


def started_ticker(database: Database, *, worker_id: str) -> BackgroundScheduler:
    """Returns a scheduler that ticks now and every minute and gives the worker's heartbeat, in threads of its own, until its shutdown."""
    scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None})
    scheduler.add_job(beat, IntervalTrigger(seconds=BEAT_SECONDS), (database, worker_id), next_run_time=utc_now())
    scheduler.add_job(tick, CronTrigger(second=SECOND, timezone="UTC"), (database,), next_run_time=utc_now())
    scheduler.add_job(alerting.look_for_ended_checks, IntervalTrigger(seconds=alerting.SECONDS_BETWEEN_LOOKS), (database,))
    scheduler.add_job(alerting.look_at_the_clock, CronTrigger(second=alerting.SECOND, timezone="UTC"), (database,))
    scheduler.start()
    return scheduler


def tick(database: Database) -> None:
    """Queues due checks, makes the coming months' partitions, and forgets old notifications.

    A database that is away now is asked again next time.
    """
    try:
        with database.transaction() as session:
            now = current_time(session)
            queued = queue_due_checks(session, now)
        with database.transaction() as session:
            ensure_coming_months(session, now)
        with database.transaction() as session:
            forget_old(session)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("tick_failed", error=str(error))
        return
    if queued:
        log.info("checks_queued", count=queued)
