"""The worker's ticker and its jobs, the looks. If the database is away, the next look goes on."""

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from apscheduler.events import EVENT_SCHEDULER_SHUTDOWN
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.base import BaseScheduler
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..access.audit.event_queries import AuditEvent, seal_events, write_audit_line
from ..alerts.channels.notification_queries import delete_old_notifications
from ..alerts.evaluate import evaluate_ended_checks, evaluate_evidence, evaluate_passing_time
from ..base.clock import HOUR, floor_to_day, floor_to_hour, monotonic_seconds, utc_now
from ..base.errors import InvalidInput, LeaseLost, SetupError, Unavailable
from ..checks.days.roll_up import add_up_next_day
from ..checks.queries import queue_scheduled
from ..checks.schedule.missed_hours import queue_missed_hours
from ..checks.schedule.worker_queries import BEAT_SECONDS, record_beat
from ..checks.window.window import NO_TABLES, TablePlaces
from ..database.binary_rows import shorten_waits
from ..database.engine import Database, Sealer, current_time
from ..database.partitions import ensure_coming_months
from ..deployments.listed_file_queries import (
    PAYLOAD,
    DeploymentTables,
    find_deployments_with_tables,
    queue_changed_batches,
    queue_changed_spans,
    read_stored_files,
    store_listing,
)
from ..deployments.listed_files import find_changes, read_hours
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import hold_deployment
from ..domain.check import Span
from ..domain.deployment import PayloadTable, TableFormat
from ..domain.monitor import Schedule
from ..evidence.attribution.queries import queue_nightly
from ..evidence.queries.hour_counts import find_counted_hours, find_last_counted
from ..evidence.subgroups.scan_deployment import run_next_scan
from ..evidence.update import update_evidence
from ..intake.volume.arrival_queries import fold_arrivals
from ..reports.kept.schedules import SETTLING, queue_due_reports
from ..retention.erase import perform_erasures
from ..retention.expire import apply_policies
from ..sources.stored.window_queries import fold_counts, note_changed_hours
from ..sources.tables.allowed_locations import Root
from ..sources.tables.own_files import NO_PLACES, OwnPlaces

LOOK_SECONDS = 5.0

SET_BACK_TOLERANCE = timedelta(seconds=2)
"""Smaller corrections of the clock need no action."""


class ClockWatch:
    """Notices when the machine's clock is set back: jobs would wait for the times that they had."""

    def __init__(
        self,
        scheduler: BaseScheduler,
        *,
        now: Callable[[], datetime] = utc_now,
        elapsed: Callable[[], float] = monotonic_seconds,
    ) -> None:
        self._scheduler = scheduler
        self._now = now
        self._elapsed = elapsed
        self._seen_at = now()
        self._seen_elapsed = elapsed()

    def look(self) -> None:
        """Runs all jobs now if the clock was set back since the last look."""
        now = self._now()
        elapsed = self._elapsed()
        set_back = self._seen_at + timedelta(seconds=elapsed - self._seen_elapsed) - now
        self._seen_at = now
        self._seen_elapsed = elapsed
        if set_back <= SET_BACK_TOLERANCE:
            return
        log.warning("clock_set_back", seconds=round(set_back.total_seconds(), 1))
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=now)


def watch_clock(scheduler: BaseScheduler) -> None:
    ended = threading.Event()
    watch = ClockWatch(scheduler)

    def keep_looking() -> None:
        while not ended.wait(LOOK_SECONDS):
            watch.look()

    scheduler.add_listener(lambda _event: ended.set(), EVENT_SCHEDULER_SHUTDOWN)
    threading.Thread(target=keep_looking, name="clock", daemon=True).start()


GRACE = timedelta(seconds=30)
"""Time after an hour; longer than any write that could still add records to it."""

MISSED_HOURS_LIMIT = 72
"""Hours that are made up for after downtime; older ones stay unchecked."""


def queue_due_checks(session: Session, now: datetime) -> int:
    """Queues due checks, oldest hour first, on the database's clock; returns their number.

    A monitor gets each ended hour or day (UTC) since its schedule was switched on once, also if calls are
    concurrent.
    """
    latest = floor_to_hour(now - GRACE) - HOUR
    return queue_scheduled(
        session, earliest=latest - (MISSED_HOURS_LIMIT - 1) * HOUR, latest=latest, grace=GRACE
    )


def queue_due_attributions(session: Session, now: datetime) -> int:
    """Of the last ended day (UTC); returns their number. Concurrent calls queue none twice."""
    midnight = floor_to_day(now - GRACE)
    return queue_nightly(session, night=Span(start=midnight - timedelta(days=1), end=midnight))


MAX_DAYS_AT_ONCE = 300
"""Days that one look adds up: after an upgrade there are years of them."""

log = structlog.get_logger(__name__)


@contextmanager
def log_delay(event: str) -> Iterator[None]:
    try:
        yield
    except (Unavailable, SQLAlchemyError) as error:
        log.warning(event, error=str(error))


@contextmanager
def _log_end(work: str) -> Iterator[None]:
    lost = f"{work}_lost"
    broke = f"{work}_broke"
    try:
        with log_delay(f"{work}_delayed"):
            yield
    except LeaseLost as error:
        log.warning(lost, error=str(error))
    except Exception:  # logged; tried again when the lease has run out
        log.exception(broke)


def beat(database: Database, worker_id: str) -> None:
    with log_delay("heartbeat_delayed"), database.transaction() as session:
        record_beat(session, worker_id)


def look_for_ended_checks(database: Database) -> None:
    with log_delay("alerts_delayed"):
        checks = evaluate_ended_checks(database)
        evaluate_evidence(database)
        if checks:
            log.info("checks_evaluated", count=checks)


def look_at_clock(database: Database) -> None:
    with log_delay("alerts_delayed"):
        evaluate_passing_time(database)


def look_for_ended_days(database: Database) -> None:
    days = 0
    with log_delay("days_delayed"):
        while days < MAX_DAYS_AT_ONCE:
            with database.transaction() as session:
                if not add_up_next_day(session, now=current_time(session)):
                    break
            days += 1
    if days:
        log.info("days_added_up", count=days)


def look_for_evidence(database: Database, places: TablePlaces | None = None) -> None:
    with log_delay("evidence_delayed"):
        steps = update_evidence(database, grace=GRACE, places=places)
        if steps:
            log.info("evidence_updated", steps=steps)


def look_for_scans(database: Database) -> None:
    with _log_end("subgroup_scan"):
        while run_next_scan(database, token=str(uuid.uuid4())):
            log.info("subgroups_scanned")


def look_for_reports(database: Database, sealer: Sealer) -> None:
    # The libraries that draw take memory, and most workers never make a report.
    from ..reports.regulator.regulator_report import make_next_report  # noqa: PLC0415 - above

    with _log_end("report"):
        with database.transaction() as session:
            queued = queue_due_reports(session, settling=SETTLING)
        if queued:
            log.info("reports_queued", count=queued)
        while make_next_report(database, sealer, token=str(uuid.uuid4())):
            log.info("report_kept")


POLICIES_LOCK = 4540261150
_ERASURES_LOCK = 4540261151
"""Advisory locks of the jobs that only one process does at a time."""


def look_for_aged_records(database: Database, places: OwnPlaces = NO_PLACES) -> None:
    with log_delay("retention_delayed"), hold_job_alone(database, POLICIES_LOCK) as is_alone:
        if is_alone:
            apply_policies(database, places)


def look_for_erasures(database: Database, places: OwnPlaces = NO_PLACES) -> None:
    with log_delay("erasure_delayed"), hold_job_alone(database, _ERASURES_LOCK) as is_alone:
        if is_alone:
            perform_erasures(database, places)


@contextmanager
def hold_job_alone(database: Database, lock: int) -> Iterator[bool]:
    """The lock ends with its connection, too."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        is_alone = bool(connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": lock}))
        try:
            yield is_alone
        finally:
            if is_alone:
                connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": lock})


def look_for_late_files(database: Database, roots: Sequence[Root]) -> int:
    queued = 0
    with log_delay("listing_failed"):
        with database.transaction() as session:
            deployments = find_deployments_with_tables(session)
        for deployment in deployments:
            for side, table in deployment.tables.items():
                if table.format is not TableFormat.JDBC:
                    queued += _list_table(database, deployment, side, roots)
    if queued:
        log.info("checks_queued_for_files", count=queued)
    return queued


def _list_table(database: Database, deployment: DeploymentTables, side: str, roots: Sequence[Root]) -> int:
    table = deployment.tables[side]
    with database.transaction() as session:
        stored = read_stored_files(session, deployment.no, side)
        counted_until = find_last_counted(session, deployment.no)
    try:
        # Outside of a transaction: it may take minutes.
        changes = find_changes(table, roots, side, stored)
    except (InvalidInput, SetupError) as error:
        log.warning("table_not_listed", deployment=deployment.id, reason=str(error))
        return 0
    if not changes.files:
        return 0
    hours: set[datetime] = set()
    if isinstance(table, PayloadTable) and counted_until is not None:
        unreadable = set[str]()
        for file in changes.new:
            hours_of_file = read_hours(table, file, counted_until)
            if hours_of_file is None:
                unreadable.add(file.path)
                log.warning(
                    "file_not_listed",
                    deployment=deployment.id,
                    path=file.path,
                    reason="its times cannot be read",
                )
            else:
                hours |= hours_of_file
        changes = changes.without(unreadable)
    with database.transaction() as session:
        # Another worker may have listed it meanwhile.
        if (
            not hold_deployment(session, deployment.no, alone=True)
            or read_stored_files(session, deployment.no, side) != stored
        ):
            return 0
        store_listing(
            session, deployment.no, side, new=changes.new, removed=[file.path for file in changes.replaced]
        )
        monitor = find_monitor(session, deployment.no)
        if monitor is not None:
            # A label counts in the hour of its record, which its horizon says how far back to look for.
            horizon = timedelta(hours=0 if side == PAYLOAD else monitor.evidence.label_horizon_hours)
            spans = [
                Span(start=file.oldest - horizon, end=file.newest)
                for file in (changes.replaced if side == PAYLOAD else changes.files)
                if file.oldest is not None and file.newest is not None
            ]
            note_changed_hours(
                session, deployment.no, sorted({*hours, *find_counted_hours(session, deployment.no, spans)})
            )
        if monitor is None or monitor.schedule is Schedule.OFF:
            return 0
        if monitor.schedule is Schedule.BATCH:
            return queue_changed_batches(
                session,
                deployment.no,
                sorted({file.batch for file in changes.files if file.batch is not None}),
            )
        return queue_changed_spans(session, deployment.no, side, changes.files)


TICK_SECOND = 35
"""A little after an hour's check has become due."""

ALERTS_SECOND = 50

MAX_JOBS = 12
"""Jobs of `start_ticker`, and `look_for_reports` of the worker: each may hold a connection."""


def start_ticker(
    database: Database, *, worker_id: str, places: TablePlaces = NO_TABLES
) -> BackgroundScheduler:
    scheduler = BackgroundScheduler(
        timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    )
    now = utc_now()
    worker = (database, worker_id)
    scheduler.add_job(beat, "interval", worker, seconds=BEAT_SECONDS, next_run_time=now)
    scheduler.add_job(tick, "cron", (database,), second=TICK_SECOND, next_run_time=now)
    scheduler.add_job(look_at_clock, "cron", (database,), second=ALERTS_SECOND)
    pauses = {look_for_ended_checks: 5, look_for_evidence: 10, look_for_ended_days: 60, look_for_scans: 10}
    for look, pause in pauses.items():
        scheduler.add_job(look, "interval", (database,), seconds=pause)
    own_files = (database, OwnPlaces(places.roots, places.answers))
    scheduler.add_job(look_for_erasures, "interval", own_files, seconds=10)
    scheduler.add_job(look_for_aged_records, "interval", own_files, hours=1, next_run_time=now)
    if places.roots:
        scheduler.add_job(
            look_for_late_files, "interval", (database, places.roots), minutes=1, next_run_time=now
        )
        # A job of its own: it may read files for minutes.
        scheduler.add_job(
            look_for_evidence, "interval", (database, places), id="evidence-in-files", minutes=1
        )
    scheduler.start()
    watch_clock(scheduler)
    return scheduler


def tick(database: Database) -> None:
    try:
        with database.transaction() as session:
            shorten_waits(session)
            now = current_time(session)
            queued = queue_due_checks(session, now) + queue_missed_hours(session)
        with database.transaction() as session:
            nightly = queue_due_attributions(session, now)
        with database.transaction() as session:
            ensure_coming_months(session, now)
        for clean_up in (delete_old_notifications, fold_counts, fold_arrivals):
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
    """Call it after the commit. By copies, `evenhand audit verify` notices a cut end of the chain."""
    for event in sealed:
        try:
            print(write_audit_line(event), flush=True)  # noqa: T201 - does nothing without a standard output
        except OSError as error:
            log.warning("audit_not_printed", position=event.position, error=str(error))
            return
