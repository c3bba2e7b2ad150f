"""Applies the policies of retention and performs the erasures that were requested. One process of an installation does it at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from ..batch.own_files import NO_PLACES, OwnPlaces
from ..clock import monotonic_seconds
from ..errors import Unavailable
from ..retention.erasing import perform_erasures
from ..retention.expiring import apply_policies
from ..store.database.engine import Database
from ..store.retention.archives import archiving_since

SECONDS_BETWEEN_RUNS: Final = 3600
"""Seconds between two applications of the policies."""

SECONDS_BETWEEN_TRIES: Final = 60
"""Max seconds between the end of what kept the policies waiting and their application."""

SECONDS_BETWEEN_LOOKS: Final = 10
"""Max seconds between the request of an erasure and its start."""

_POLICIES, _PEOPLE = 4540261150, 4540261151
"""The advisory locks of the two jobs."""

log = structlog.get_logger(__name__)


class RetentionTurns:
    """Applies the policies once an hour; where something kept them waiting, at the next call after its end."""

    def __init__(self, database: Database, places: OwnPlaces = NO_PLACES) -> None:
        self._database = database
        self._places = places
        self._due_at = monotonic_seconds()

    def look(self) -> None:
        """Applies the policies if an hour has passed since they were applied."""
        if monotonic_seconds() >= self._due_at and look_for_aged_records(self._database, self._places):
            self._due_at = monotonic_seconds() + SECONDS_BETWEEN_RUNS


def look_for_aged_records(database: Database, places: OwnPlaces = NO_PLACES) -> bool:
    """Erases what is past its retention; returns whether this is done until the next hour, by this process or by another worker.

    If the database is away, or a command moves months of records, the next call goes on.
    """
    try:
        with _alone(database, _POLICIES) as is_alone:
            if is_alone:
                apply_policies(database, places)
                return True
        with database.transaction() as session:
            since = archiving_since(session)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("retention_delayed", error=str(error))
        return False
    if since is not None:
        log.warning("retention_waits", command="evenhand archives", since=since.isoformat(), next_try_in_seconds=SECONDS_BETWEEN_TRIES)
    return since is None


def look_for_erasures(database: Database) -> None:
    """Performs the erasures that were requested. If the database is away, the next call goes on."""
    try:
        with _alone(database, _PEOPLE) as is_alone:
            if is_alone:
                perform_erasures(database)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("erasure_delayed", error=str(error))


@contextmanager
def _alone(database: Database, lock: int) -> Iterator[bool]:
    """Yields whether this process is the only one that does the job until the block ends. The lock ends with its connection, too."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        is_alone = bool(connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": lock}))
        try:
            yield is_alone
        finally:
            if is_alone:
                connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": lock})
