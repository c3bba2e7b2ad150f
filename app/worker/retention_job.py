"""Applies the policies of retention and performs requested erasures."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

from ..database.engine import Database
from ..retention.erase import perform_erasures
from ..retention.expire import apply_policies
from ..sources.tables.own_files import NO_PLACES, OwnPlaces
from .looks import delayed_as

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
