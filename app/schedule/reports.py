"""Queues the reports of ended periods, and makes all that are queued."""

import uuid

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..domain.report_schedules import SETTLING
from ..errors import LeaseLost, Unavailable
from ..store.database.engine import Database
from ..store.database.sealer import Sealer
from ..store.reports.schedules import queue_due_reports

SECONDS_BETWEEN_LOOKS = 10

log = structlog.get_logger(__name__)


def look_for_reports(database: Database, sealer: Sealer) -> None:
    """Queues the reports that are due and makes all that are queued."""
    # The libraries that draw take memory, and most workers never make a report.
    from ..reports.regulator.keeping import make_next_report  # noqa: PLC0415 - above

    try:
        with database.transaction() as session:
            queued = queue_due_reports(session, settling=SETTLING)
        if queued:
            log.info("reports_queued", count=queued)
        while make_next_report(database, sealer, token=str(uuid.uuid4())):
            log.info("report_kept")
    except LeaseLost as error:
        log.warning("report_lost", error=str(error))
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("report_delayed", error=str(error))
    except Exception:  # logged; tried again when the lease has run out
        log.exception("report_broke")
