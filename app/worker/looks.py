"""Jobs of the ticker that look for work. If the database is away, the next look goes on."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..alerts.evaluate import evaluate_ended_checks, evaluate_evidence, evaluate_passing_time
from ..base.clock import HOUR, floor_to_day, floor_to_hour
from ..base.errors import LeaseLost, Unavailable
from ..checks.days.roll_up import keep_next_day
from ..checks.queries import queue_scheduled
from ..checks.schedule.worker_queries import record_beat
from ..checks.window.window import TablePlaces
from ..database.engine import Database, Sealer, current_time
from ..domain.check import Span
from ..evidence.attribution.queries import queue_nightly
from ..evidence.subgroups.scan_deployment import run_next_scan
from ..evidence.update import update_evidence
from ..reports.kept.queries import queue_due_reports
from ..reports.kept.schedules import SETTLING
from ..retention.erase import perform_erasures
from ..retention.expire import apply_policies
from ..sources.tables.own_files import NO_PLACES, OwnPlaces

GRACE = timedelta(seconds=30)
"""Time between the end of an hour and its check: longer than any write that could still add records to
that hour.
"""

MISSED_HOURS_LIMIT = 72
"""Max hours that are checked after downtime, the newest; older ones stay unchecked."""


def queue_due_checks(session: Session, now: datetime) -> int:
    """Queues the checks due at `now` on the database's clock, oldest hour first; returns their number.

    A monitor gets each ended hour or day (UTC) since its schedule was switched on once, also if calls are
    concurrent.
    """
    latest = floor_to_hour(now - GRACE) - HOUR
    return queue_scheduled(
        session, earliest=latest - (MISSED_HOURS_LIMIT - 1) * HOUR, latest=latest, grace=GRACE
    )


def queue_due_attributions(session: Session, now: datetime) -> int:
    """Queues the last ended day's (UTC) attribution of each monitor that wants one; returns their number.

    Concurrent calls queue nothing twice. Missed nights are not made up for.
    """
    midnight = floor_to_day(now - GRACE)
    return queue_nightly(session, night=Span(start=midnight - timedelta(days=1), end=midnight))


MOST_AT_ONCE = 300
"""Max days of one look: after an upgrade there are years of them."""

log = structlog.get_logger(__name__)


@contextmanager
def delayed_as(event: str) -> Iterator[None]:
    """Logs that event if the database is away."""
    try:
        yield
    except (Unavailable, SQLAlchemyError) as error:
        log.warning(event, error=str(error))


@contextmanager
def _ending_as(work: str) -> Iterator[None]:
    lost = f"{work}_lost"
    broke = f"{work}_broke"
    try:
        with delayed_as(f"{work}_delayed"):
            yield
    except LeaseLost as error:
        log.warning(lost, error=str(error))
    except Exception:  # logged; tried again when the lease has run out
        log.exception(broke)


def beat(database: Database, worker_id: str) -> None:
    with delayed_as("heartbeat_delayed"), database.transaction() as session:
        record_beat(session, worker_id)


def look_for_ended_checks(database: Database) -> None:
    with delayed_as("alerts_delayed"):
        checks = evaluate_ended_checks(database)
        evaluate_evidence(database)
        if checks:
            log.info("checks_evaluated", count=checks)


def look_at_the_clock(database: Database) -> None:
    """Sends reminders, and looks for missing records."""
    with delayed_as("alerts_delayed"):
        evaluate_passing_time(database)


def look_for_ended_days(database: Database) -> None:
    days = 0
    with delayed_as("days_delayed"):
        while days < MOST_AT_ONCE:
            with database.transaction() as session:
                if not keep_next_day(session, now=current_time(session)):
                    break
            days += 1
    if days:
        log.info("days_added_up", count=days)


def look_for_evidence(database: Database, places: TablePlaces | None = None) -> None:
    """Updates the evidence on records in files at `places`, or else on logged ones."""
    with delayed_as("evidence_delayed"):
        steps = update_evidence(database, grace=GRACE, places=places)
        if steps:
            log.info("evidence_updated", steps=steps)


def look_for_scans(database: Database) -> None:
    with _ending_as("subgroup_scan"):
        while run_next_scan(database, token=str(uuid.uuid4())):
            log.info("subgroups_scanned")


def look_for_reports(database: Database, sealer: Sealer) -> None:
    """Queues the reports that are due and makes all that are queued."""
    # The libraries that draw take memory, and most workers never make a report.
    from ..reports.regulator.regulator_report import make_next_report  # noqa: PLC0415 - above

    with _ending_as("report"):
        with database.transaction() as session:
            queued = queue_due_reports(session, settling=SETTLING)
        if queued:
            log.info("reports_queued", count=queued)
        while make_next_report(database, sealer, token=str(uuid.uuid4())):
            log.info("report_kept")


POLICIES, _PEOPLE = 4540261150, 4540261151


def look_for_aged_records(database: Database, places: OwnPlaces = NO_PLACES) -> None:
    with delayed_as("retention_delayed"), alone(database, POLICIES) as is_alone:
        if is_alone:
            apply_policies(database, places)


def look_for_erasures(database: Database, places: OwnPlaces = NO_PLACES) -> None:
    with delayed_as("erasure_delayed"), alone(database, _PEOPLE) as is_alone:
        if is_alone:
            perform_erasures(database, places)


@contextmanager
def alone(database: Database, lock: int) -> Iterator[bool]:
    """Yields whether this process alone does the job. The lock ends with its connection, too."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        is_alone = bool(connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": lock}))
        try:
            yield is_alone
        finally:
            if is_alone:
                connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": lock})
