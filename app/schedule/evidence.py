"""Updates the evidence over time: soon after a check or an import, and once an hour. Runs next to the checks, never within one."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..checks.sources import TablePlaces
from ..errors import Unavailable
from ..store.database.engine import Database
from ..tracking.updating import update_evidence
from .due import GRACE

SECONDS_BETWEEN_LOOKS = 10
"""Max seconds between the end of a check, an import or an hour and the update of the evidence."""

SECONDS_BETWEEN_LOOKS_AT_FILES = 60
"""Pause between two updates of the evidence on records in files [s]."""

log = structlog.get_logger(__name__)


def look_for_evidence(database: Database, places: TablePlaces | None = None) -> None:
    """Updates the evidence of all deployments: with `places` of those whose records lie in files there, else of those that log them.

    If the database is away, the next call tries again.
    """
    try:
        done = update_evidence(database, grace=GRACE, places=places)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("evidence_delayed", error=str(error))
        return
    if done:
        log.info("evidence_updated", steps=done)
