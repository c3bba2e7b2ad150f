"""Runs the jobs of the clock. Any number of processes may run a ticker."""

from collections.abc import Sequence

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.exc import SQLAlchemyError

from ..batch.own_files import OwnPlaces
from ..checks.sources import NO_TABLES, TablePlaces
from ..clock import utc_now
from ..domain.audit import AuditEvent, audit_line
from ..domain.retrying import KEPT
from ..domain.workers import BEAT_SECONDS
from ..errors import Unavailable
from ..store.alerts.notifications import forget_old
from ..store.checks.checks import current_time
from ..store.database.engine import Database
from ..store.database.partitions import ensure_coming_months
from ..store.people.audit_events import seal_events
from ..store.records.arrivals import fold_arrivals
from ..store.records.counts import fold_counts
from . import alerting, days, evidence, late_files, retention, subgroups
from .due import queue_due_attributions, queue_due_checks
from .heartbeat import beat
from .set_back import watch_clock

SECOND = 35
"""Second of each minute: a little after an hour's check has become due."""

JOBS = 12
"""Max jobs at the same time, each with a connection."""

log = structlog.get_logger(__name__)


def start_ticker(database: Database, *, worker_id: str, places: TablePlaces = NO_TABLES) -> BackgroundScheduler:
    """Starts a scheduler that ticks now and every minute, and sends heartbeats, until shut down."""
    scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None})
    scheduler.add_job(beat, IntervalTrigger(seconds=BEAT_SECONDS), (database, worker_id), next_run_time=utc_now())
    scheduler.add_job(tick, CronTrigger(second=SECOND, timezone="UTC"), (database,), next_run_time=utc_now())
    scheduler.add_job(alerting.look_for_ended_checks, IntervalTrigger(seconds=alerting.SECONDS_BETWEEN_LOOKS), (database,))
    scheduler.add_job(alerting.look_at_the_clock, CronTrigger(second=alerting.SECOND, timezone="UTC"), (database,))
    scheduler.add_job(evidence.look_for_evidence, IntervalTrigger(seconds=evidence.SECONDS_BETWEEN_LOOKS), (database,))
    scheduler.add_job(days.look_for_ended_days, IntervalTrigger(seconds=days.SECONDS_BETWEEN_LOOKS), (database,))
    scheduler.add_job(subgroups.look_for_scans, IntervalTrigger(seconds=subgroups.SECONDS_BETWEEN_LOOKS), (database,))
    scheduler.add_job(retention.look_for_erasures, IntervalTrigger(seconds=retention.SECONDS_BETWEEN_LOOKS), (database,))
    hourly = IntervalTrigger(seconds=retention.SECONDS_BETWEEN_RUNS)
    own = OwnPlaces(places.roots, places.answers)
    scheduler.add_job(retention.look_for_aged_records, hourly, (database, own), next_run_time=utc_now())
    if places.roots:
        looks = IntervalTrigger(seconds=late_files.SECONDS_BETWEEN_LOOKS)
        scheduler.add_job(late_files.look_for_late_files, looks, (database, places.roots), next_run_time=utc_now())
        # A job of its own: it may read files for minutes.
        counts = IntervalTrigger(seconds=evidence.SECONDS_BETWEEN_LOOKS_AT_FILES)
        scheduler.add_job(evidence.look_for_evidence, counts, (database, places), id="evidence-in-files")
    scheduler.start()
    watch_clock(scheduler)
    return scheduler


def tick(database: Database) -> None:
    """Queues what is due, creates partitions, deletes old notifications, adds up counts, seals and prints audit events."""
    try:
        with database.transaction() as session:
            now = current_time(session)
            queued = queue_due_checks(session, now)
        with database.transaction() as session:
            nightly = queue_due_attributions(session, now)
        with database.transaction() as session:
            ensure_coming_months(session, now)
        with database.transaction() as session:
            forget_old(session, kept=KEPT)
        with database.transaction() as session:
            fold_counts(session)
        with database.transaction() as session:
            fold_arrivals(session)
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
    """Call it after the commit. By copies outside the database, `evenhand audit verify` notices a cut end of the chain."""
    for event in sealed:
        try:
            print(audit_line(event), flush=True)  # noqa: T201 - does nothing without a standard output
        except OSError as error:
            log.warning("audit_not_printed", position=event.position, error=str(error))
            return
