"""Runs the scans for subgroups that were requested."""

import uuid

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LeaseLost, Unavailable
from ..store.database.engine import Database
from ..tracking.subgroups.scanning import run_next_scan

SECONDS_BETWEEN_LOOKS = 10

log = structlog.get_logger(__name__)


def look_for_scans(database: Database) -> None:
    """Runs all queued scans."""
    try:
        while run_next_scan(database, token=str(uuid.uuid4())):
            log.info("subgroups_scanned")
    except LeaseLost as error:
        log.warning("subgroup_scan_lost", error=str(error))
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("subgroup_scan_delayed", error=str(error))
    except Exception:  # logged; tried again when the lease has run out
        log.exception("subgroup_scan_broke")
