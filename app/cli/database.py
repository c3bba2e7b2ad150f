"""The database of a command: the operator's own, else the embedded one, running for as long as the command needs it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from app.clock import utc_now
from app.embedded import embedded_postgres
from app.settings import Settings
from app.store.engine import Database
from app.store.migrate import upgrade
from app.store.partitions import ensure_coming_months


@contextlib.contextmanager
def ready_database(settings: Settings) -> Iterator[Database]:
    """A migrated database. An embedded one that runs is used; else it is started and, after the block, stopped.

    Raises:
        SetupError: the embedded database does not start, or DATABASE_URL cannot be read.
        Unavailable: the database does not answer.
    """
    with _url(settings) as url:
        database = Database(url, pool_size=1)
        try:
            migrate(database)
            yield database
        finally:
            database.close()


def migrate(database: Database) -> None:
    """Bring the schema up to date, with partitions for the coming months."""
    upgrade(database)
    with database.transaction() as session:
        ensure_coming_months(session, utc_now())


@contextlib.contextmanager
def _url(settings: Settings) -> Iterator[str]:
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    with embedded_postgres(Path(settings.data_dir)) as url:
        yield url
