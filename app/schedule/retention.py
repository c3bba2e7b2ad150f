"""Applies the policies of retention and performs requested erasures."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from ..batch.own_files import NO_PLACES, OwnPlaces
from ..errors import Unavailable
from ..retention.erasing import perform_erasures
from ..retention.expiring import apply_policies
from ..store.database.engine import Database

SECONDS_BETWEEN_RUNS: Final = 3600

SECONDS_BETWEEN_LOOKS: Final = 10

POLICIES, _PEOPLE = 4540261150, 4540261151
"""Advisory locks of the two jobs."""

log = structlog.get_logger(__name__)


def look_for_aged_records(database: Database, places: OwnPlaces = NO_PLACES) -> None:
    """Erases what is past its retention."""
    try:
        with alone(database, POLICIES) as is_alone:
            if is_alone:
                apply_policies(database, places)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("retention_delayed", error=str(error))


def look_for_erasures(database: Database) -> None:
    """Performs the requested erasures."""
    try:
        with alone(database, _PEOPLE) as is_alone:
            if is_alone:
                perform_erasures(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("erasure_delayed", error=str(error))


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
