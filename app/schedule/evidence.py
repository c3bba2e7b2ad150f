"""Updates the evidence: soon after a check or an import, and once an hour."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..checks.sources import TablePlaces
from ..errors import Unavailable
from ..store.database.engine import Database
from ..tracking.updating import update_evidence
from .due import GRACE

SECONDS_BETWEEN_LOOKS = 10

SECONDS_BETWEEN_LOOKS_AT_FILES = 60
"""Pause between two updates on records in files [s]."""

log = structlog.get_logger(__name__)


def look_for_evidence(database: Database, places: TablePlaces | None = None) -> None:
    """Updates the evidence on records in files at `places`, or else on logged ones."""
    try:
        done = update_evidence(database, grace=GRACE, places=places)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("evidence_delayed", error=str(error))
        return
    if done:
        log.info("evidence_updated", steps=done)
