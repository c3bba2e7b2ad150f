"""Jobs of the ticker that look for work. If the database is away, the next look goes on."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..alerts.evaluate import evaluate_ended_checks, evaluate_passing_time
from ..alerts.evidence_rules import evaluate_evidence
from ..base.errors import LeaseLost, Unavailable
from ..checks.days.sum_days import keep_next_day
from ..checks.schedule.worker_queries import record_beat
from ..checks.window.window_sources import TablePlaces
from ..database.engine import Database, current_time
from ..database.sealer import Sealer
from ..evidence.subgroups.scan_deployment import run_next_scan
from ..evidence.update import update_evidence
from ..reports.kept.queries import queue_due_reports
from ..reports.kept.schedules import SETTLING
from .due_work import GRACE

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
    lost, broke = f"{work}_lost", f"{work}_broke"
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
