"""Brings a database to the schema this version of the program expects."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from ...errors import SetupError
from ..tables import Row
from .engine import Database, public_address

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


@cache
def newest_revision() -> str | None:
    """Returns the revision of the schema that this version of the program expects."""
    # Alembic runs every migration's module to find it. Each start of a service and each look at its readiness asks.
    return ScriptDirectory.from_config(alembic_config()).get_current_head()


def is_known(revision: str) -> bool:
    """Returns whether this version of the program has the revision of the schema, so that it can bring it up to date."""
    return any(revision == script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions())


def alembic_config() -> Config:
    """Returns Alembic's configuration."""
    # Inside the installed package; in the repository, next to it.
    package = Path(__file__).resolve().parents[2]
    installed = package / "migrations"
    config = Config()
    config.set_main_option("script_location", str(installed if installed.exists() else package.parent / "migrations"))
    config.attributes["metadata"] = Row.metadata
    return config
