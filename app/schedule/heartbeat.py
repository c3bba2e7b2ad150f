"""Heartbeat of a worker."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..domain.workers import FORGOTTEN_AFTER
from ..errors import Unavailable
from ..store.checks.workers import record_beat
from ..store.database.engine import Database

log = structlog.get_logger(__name__)


def beat(database: Database, worker_id: str) -> None:
    """Records that the worker is alive."""
    try:
        with database.transaction() as session:
            record_beat(session, worker_id, forgotten_after=FORGOTTEN_AFTER)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("heartbeat_delayed", error=str(error))
