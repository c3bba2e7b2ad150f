"""Runs the jobs of the clock. Any number of processes may run a ticker."""

from collections.abc import Sequence

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy.exc import SQLAlchemyError

from ..access.audit.event_queries import AuditEvent, audit_line, seal_events
from ..alerts.channels.notification_queries import forget_old
from ..base.clock import utc_now
from ..base.errors import Unavailable
from ..checks.schedule.missed_hours import queue_missed
from ..checks.schedule.worker_queries import BEAT_SECONDS
from ..checks.window.window import NO_TABLES, TablePlaces
from ..database.engine import Database, current_time
from ..database.leased_rows import shorten_waits
from ..database.partitions import ensure_coming_months
from ..intake.volume.arrival_queries import fold_arrivals
from ..sources.stored.minute_counts import fold_counts
from ..sources.tables.own_files import OwnPlaces
from . import late_files, looks
from .clock_watch import watch_clock

log = structlog.get_logger(__name__)

TICK_SECOND = 35
"""Second of each minute: a little after an hour's check has become due."""

ALERTS_SECOND = 50

MAX_JOBS = 12
"""Jobs of `start_ticker`, and `look_for_reports` of the worker: each may hold a connection."""


def start_ticker(
    database: Database, *, worker_id: str, places: TablePlaces = NO_TABLES
) -> BackgroundScheduler:
    """Starts a scheduler that ticks now and every minute, and sends heartbeats, until shut down."""
    scheduler = BackgroundScheduler(
        timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    )
    now = utc_now()
    worker = (database, worker_id)
    scheduler.add_job(looks.beat, "interval", worker, seconds=BEAT_SECONDS, next_run_time=now)
    scheduler.add_job(tick, "cron", (database,), second=TICK_SECOND, next_run_time=now)
    scheduler.add_job(looks.look_at_the_clock, "cron", (database,), second=ALERTS_SECOND)
    pauses = {
        looks.look_for_ended_checks: 5,
        looks.look_for_evidence: 10,
        looks.look_for_ended_days: 60,
        looks.look_for_scans: 10,
    }
    for look, pause in pauses.items():
        scheduler.add_job(look, "interval", (database,), seconds=pause)
    own_files = (database, OwnPlaces(places.roots, places.answers))
    scheduler.add_job(looks.look_for_erasures, "interval", own_files, seconds=10)
    scheduler.add_job(looks.look_for_aged_records, "interval", own_files, hours=1, next_run_time=now)
    if places.roots:
        scheduler.add_job(
            late_files.look_for_late_files,
            "interval",
            (database, places.roots),
            minutes=1,
            next_run_time=now,
        )
        # A job of its own: it may read files for minutes.
        scheduler.add_job(
            looks.look_for_evidence, "interval", (database, places), id="evidence-in-files", minutes=1
        )
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
            queued = looks.queue_due_checks(session, now) + queue_missed(session)
        with database.transaction() as session:
            nightly = looks.queue_due_attributions(session, now)
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
