"""Runs the jobs of the clock. Any number of processes may run a ticker."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog
from apscheduler.events import EVENT_SCHEDULER_SHUTDOWN
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.exc import SQLAlchemyError

from ..access.audit.event_queries import AuditEvent, audit_line, seal_events
from ..alerts.channels.notification_queries import forget_old
from ..base.clock import monotonic_seconds, utc_now
from ..base.errors import Unavailable
from ..checks.schedule.worker_queries import BEAT_SECONDS
from ..checks.window.window import NO_TABLES, TablePlaces
from ..database.engine import Database, current_time
from ..database.leased_rows import shorten_waits
from ..database.partitions import ensure_coming_months
from ..intake.volume.arrival_queries import fold_arrivals
from ..sources.stored.minute_counts import fold_counts
from ..sources.tables.own_files import OwnPlaces
from . import late_files, looks
from .looks import queue_due_attributions, queue_due_checks

LOOK_SECONDS = 5.0

TOLERANCE = timedelta(seconds=2)
"""A clock corrected bit by bit is not set back."""

log = structlog.get_logger(__name__)


class ClockWatch:
    """Compares the machine's clock with a monotonic one."""

    def __init__(
        self,
        scheduler: BaseScheduler,
        *,
        now: Callable[[], datetime] = utc_now,
        elapsed: Callable[[], float] = monotonic_seconds,
    ) -> None:
        self._scheduler, self._now, self._elapsed = scheduler, now, elapsed
        self._seen_at, self._seen_elapsed = now(), elapsed()

    def look(self) -> None:
        """Runs all jobs now if the clock was set back since the last look."""
        now = self._now()
        elapsed = self._elapsed()
        set_back = self._seen_at + timedelta(seconds=elapsed - self._seen_elapsed) - now
        self._seen_at, self._seen_elapsed = now, elapsed
        if set_back <= TOLERANCE:
            return
        log.warning("clock_set_back", seconds=round(set_back.total_seconds(), 1))
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=now)


def watch_clock(scheduler: BaseScheduler) -> None:
    ended = threading.Event()
    watch = ClockWatch(scheduler)

    def look_again_and_again() -> None:
        while not ended.wait(LOOK_SECONDS):
            watch.look()

    scheduler.add_listener(lambda _event: ended.set(), EVENT_SCHEDULER_SHUTDOWN)
    threading.Thread(target=look_again_and_again, name="clock", daemon=True).start()


SECOND = 35
"""Second of each minute: a little after an hour's check has become due."""

ALERTS_SECOND = 50

JOBS = 12


def start_ticker(
    database: Database, *, worker_id: str, places: TablePlaces = NO_TABLES
) -> BackgroundScheduler:
    """Starts a scheduler that ticks now and every minute, and sends heartbeats, until shut down."""
    scheduler = BackgroundScheduler(
        timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    )
    scheduler.add_job(
        looks.beat, IntervalTrigger(seconds=BEAT_SECONDS), (database, worker_id), next_run_time=utc_now()
    )
    scheduler.add_job(tick, CronTrigger(second=SECOND, timezone="UTC"), (database,), next_run_time=utc_now())
    scheduler.add_job(looks.look_at_the_clock, CronTrigger(second=ALERTS_SECOND, timezone="UTC"), (database,))
    seconds = {
        looks.look_for_ended_checks: 5,
        looks.look_for_evidence: 10,
        looks.look_for_ended_days: 60,
        looks.look_for_scans: 10,
    }
    for look, pause in seconds.items():
        scheduler.add_job(look, IntervalTrigger(seconds=pause), (database,))
    hourly = IntervalTrigger(hours=1)
    own_places = OwnPlaces(places.roots, places.answers)
    scheduler.add_job(looks.look_for_erasures, IntervalTrigger(seconds=10), (database, own_places))
    scheduler.add_job(looks.look_for_aged_records, hourly, (database, own_places), next_run_time=utc_now())
    if places.roots:
        minutely = IntervalTrigger(seconds=60)
        scheduler.add_job(
            late_files.look_for_late_files, minutely, (database, places.roots), next_run_time=utc_now()
        )
        # A job of its own: it may read files for minutes.
        scheduler.add_job(looks.look_for_evidence, minutely, (database, places), id="evidence-in-files")
    scheduler.start()
    watch_clock(scheduler)
    return scheduler


def tick(database: Database) -> None:
    """Queues what is due, creates partitions, deletes old notifications, adds up counts, seals and prints
    audit events.
    """
    try:
        with database.transaction() as session:
            shorten_waits(session)
            now = current_time(session)
            queued = queue_due_checks(session, now)
        with database.transaction() as session:
            nightly = queue_due_attributions(session, now)
        with database.transaction() as session:
            ensure_coming_months(session, now)
        for clean_up in (forget_old, fold_counts, fold_arrivals):
            with database.transaction() as session:
                clean_up(session)
        with database.transaction() as session:
            sealed = seal_events(session)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("tick_failed", error=str(error))
        return
    _print_events(sealed)
    if queued:
        log.info("checks_queued", count=queued)
    if nightly:
        log.info("attributions_queued", count=nightly)


def _print_events(sealed: Sequence[AuditEvent]) -> None:
    """Call it after the commit. By copies outside the database, `evenhand audit verify` notices a cut end
    of the chain.
    """
    for event in sealed:
        try:
            print(audit_line(event), flush=True)  # noqa: T201 - does nothing without a standard output
        except OSError as error:
            log.warning("audit_not_printed", position=event.position, error=str(error))
            return
