"""The heartbeat of a worker: it tells everybody who looks at the database that checks run and alerts are sent."""

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.errors import Unavailable
from app.store.engine import Database
from app.store.workers import record_beat

log = structlog.get_logger(__name__)


def beat(database: Database, worker_id: str) -> None:
    """Notes that the worker is there. A database that is away now is asked again next time."""
    try:
        with database.transaction() as session:
            record_beat(session, worker_id)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("heartbeat_delayed", error=str(error))
