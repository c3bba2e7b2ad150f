"""Brings a database to this version's schema, and finds what makes one unsuitable."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ..base.errors import SetupError
from ..base.values import frozen
from .engine import Database, name_address
from .tables import Row

if TYPE_CHECKING:
    from alembic.config import Config

TAKE_MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(4540261126);"

OLDEST_COMMIT = "7ba08965"

LOCK_TIMEOUT_SECONDS = 0.3
"""Later users of the table wait as long; after a second Postgres looks for deadlocks and ends a reader."""

FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 10.0

_MONTHS_IN_FILES = """
    SELECT string_agg(to_char(a.month AT TIME ZONE 'UTC', 'YYYY-MM'), ', ' ORDER BY a.month) || ' of ' || d.id
    FROM archived_months a JOIN deployments d ON d.no = a.deployment_no WHERE a.state = 'stored'
        GROUP BY d.id ORDER BY d.id
"""

_IN_USE_STATES = {"55P03", "40P01"}
"""SQLSTATEs: in use, deadlock."""

_OLDEST_TRANSACTION = """
    SELECT pid, application_name, xact_start FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND xact_start IS NOT NULL
    ORDER BY xact_start LIMIT 1
"""

log = structlog.get_logger("evenhand.database")


class _TablesInUse(Exception):
    """The migration changed nothing."""


def upgrade(database: Database) -> None:
    """Each migration in its own transaction gives way to users of its tables, and tries again.

    A second process waits for the first. Raises Unavailable, and SetupError of a database that is newer, too
    old, has months of records in files, or is unsuitable.
    """
    require_suitable(database)
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            if not _apply_next(database):
                return
            pause = FIRST_PAUSE_SECONDS
        except _TablesInUse:
            with database.operator_connection() as connection:
                oldest = connection.exec_driver_sql(_OLDEST_TRANSACTION).one_or_none()
            who = (
                {}
                if oldest is None
                else {"pid": oldest[0], "application": oldest[1], "since": oldest[2].isoformat()}
            )
            log.warning(
                "migration_waits",
                detail="Tables are in use, so the next migration gave way and changed nothing. "
                "If a transaction never ends, end its process of Postgres with pg_terminate_backend(pid).",
                again_in_seconds=pause,
                **({"oldest_transaction": who} if who else {}),
            )
            sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)


def require_suitable(database: Database) -> None:
    """Raises SetupError for a pooler in transaction mode, and another encoding of an unused database."""
    with database.operator_connection() as connection:
        is_used = read_revision(connection) is not None
    for fault in find_faults(database):
        if not (fault.is_of_encoding and is_used):
            raise SetupError(fault.words)


@frozen
class DatabaseFault:
    words: str
    is_of_encoding: bool = False


def find_faults(database: Database) -> Iterator[DatabaseFault]:
    with database.operator_connection() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        # Inside, so that a connection that is refused is named as well.
        with database.engine.connect() as first, database.engine.connect() as second:
            before = _ask_process(first)
            first.commit()
            _ask_process(second)
            # The process changes once another connection has begun a transaction on it.
            is_of_transactions = _ask_process(first) != before
    if encoding != "UTF8":
        yield DatabaseFault(
            f"The database {name_address(database.url)} has the encoding {encoding}; Evenhand needs UTF8. "
            "Make another one: CREATE DATABASE evenhand ENCODING 'UTF8' TEMPLATE template0.",
            is_of_encoding=True,
        )
    if is_of_transactions:
        yield DatabaseFault(
            f"The database {name_address(database.url)} is reached by a pooler in transaction mode, which "
            "loses settings and prepared"
            " statements: set pool_mode = session for it (PgBouncer), or name the database itself."
        )


def _ask_process(connection: Connection) -> object:
    return connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()


def _apply_next(database: Database) -> bool:
    with database.operator_connection() as connection:
        connection.exec_driver_sql(TAKE_MIGRATION_LOCK)
        revision = read_revision(connection)
        if revision == find_newest_revision():
            return False
        if revision is not None and is_too_old(revision):
            raise SetupError(
                f"The database {name_address(database.url)} has the schema {revision}, of an early version "
                f"of Evenhand: migrate it with commit {OLDEST_COMMIT} first. Nothing was changed."
            )
        # Alembic takes a third of a second to load.
        from alembic import command  # noqa: PLC0415
        from alembic.util import CommandError  # noqa: PLC0415

        config = build_alembic_config()
        config.attributes["connection"] = connection
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(1000 * LOCK_TIMEOUT_SECONDS)}")
        try:
            require_no_months_in_files(connection, locked=True)
            revisions = _list_revisions()
            # Nobody uses a new database. Alembic refuses an unknown revision.
            target = revisions[revisions.index(revision) + 1] if revision in revisions else "head"
            command.upgrade(config, target)
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) in _IN_USE_STATES:
                raise _TablesInUse from error
            raise
        except CommandError as error:
            raise SetupError(
                f"The database {name_address(database.url)} has the schema of another version of "
                f"Evenhand: {error}. Start that version."
            ) from error
    return True


def require_no_months_in_files(connection: Connection, *, locked: bool = False) -> None:
    """Requires that no month of records is in files; `locked`: until the transaction ends.

    Raises:
        SetupError: some are: the files of commit 7ba08965 hold the only copy.
    """
    if connection.exec_driver_sql("SELECT to_regclass('archived_months')").scalar() is None:
        return
    if locked:
        connection.exec_driver_sql("LOCK TABLE archived_months IN SHARE MODE")
    months = connection.exec_driver_sql(_MONTHS_IN_FILES).scalars().all()
    if months:
        raise SetupError(
            f"Files hold the only copy of records of {'; '.join(months)}, and this version does not read "
            f"them: bring them back with `evenhand archives` of commit {OLDEST_COMMIT} before you migrate."
        )


def read_revision(connection: Connection) -> str | None:
    """None of a database without Evenhand."""
    if connection.exec_driver_sql("SELECT to_regclass('alembic_version')").scalar() is None:
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def find_newest_revision() -> str:
    return _list_revisions()[-1]


def is_newer(revision: str) -> bool:
    return revision > find_newest_revision()


def is_too_old(revision: str) -> bool:
    return not is_newer(revision) and revision not in _list_revisions()


@cache
def _list_revisions() -> tuple[str, ...]:
    """Lists revisions by file names, in order: Alembic would run every file to find them."""
    return tuple(
        sorted(
            file.name.partition("_")[0]
            for file in (_find_migrations_folder() / "versions").glob("[0-9]*_*.py")
        )
    )


def _find_migrations_folder() -> Path:
    package = Path(__file__).resolve().parents[1]
    installed = package / "migrations"
    return installed if installed.exists() else package.parent / "migrations"


def build_alembic_config() -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(_find_migrations_folder()))
    config.attributes["metadata"] = Row.metadata
    return config
