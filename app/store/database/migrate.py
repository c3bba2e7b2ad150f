"""Brings a database to the schema this version of the program expects."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ...errors import SetupError
from ..tables import Row
from .engine import Database, public_address

if TYPE_CHECKING:
    from alembic.config import Config

TAKE_MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(4540261126);"
"""Lock number of Evenhand's own: keeps two services that start at once from migrating at once, and from doing so in a restore."""


def upgrade(database: Database) -> None:
    """Applies what is missing; a second process doing the same waits for the first and finds nothing left to do.

    Raises:
        Unavailable: the database cannot be reached, or does not let us change its schema.
        SetupError: a newer version of the program has migrated it.
    """
    with database.operator_connection() as connection:
        # Held to the end of the transaction.
        connection.exec_driver_sql(TAKE_MIGRATION_LOCK)
        if revision_of(connection) == newest_revision():
            return
        # Alembic takes a third of a second to load, and a database is nearly always up to date.
        from alembic import command  # noqa: PLC0415
        from alembic.util import CommandError  # noqa: PLC0415

        config = alembic_config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise SetupError(
                f"The database {public_address(database.url)} has the schema of another version of Evenhand: {error}. Start that version."
            ) from error


def revision_of(connection: Connection) -> str | None:
    """Returns the schema's revision, or None if the database holds no Evenhand."""
    if connection.exec_driver_sql("SELECT to_regclass('alembic_version')").scalar() is None:
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def newest_revision() -> str:
    """Returns the revision of the schema that this version of the program expects."""
    return _revisions()[-1]


def is_known(revision: str) -> bool:
    """Returns whether this version of the program has the revision of the schema, so that it can bring it up to date."""
    return revision in _revisions()


@cache
def _revisions() -> tuple[str, ...]:
    """Returns the revisions in order. A migration's file name begins with its own: Alembic would run every file to find them."""
    return tuple(sorted(file.name.partition("_")[0] for file in (_migrations() / "versions").glob("[0-9]*_*.py")))


def _migrations() -> Path:
    """Returns the folder of the migrations: inside the installed package; in the repository, next to it."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "migrations"
    return installed if installed.exists() else package.parent / "migrations"


def alembic_config() -> "Config":
    """Returns Alembic's configuration."""
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(_migrations()))
    config.attributes["metadata"] = Row.metadata
    return config
