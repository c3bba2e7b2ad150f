"""Brings a database to the schema this version of the program expects."""

from pathlib import Path

from alembic import command
from alembic.config import Config

import migrations
from app.store.engine import Database


def upgrade(database: Database) -> None:
    """Applies what is missing; a second process doing the same waits for the first and finds nothing left to do."""
    with database.engine.begin() as connection:
        # One number, known to nobody else, keeps two services that start at once from migrating at once.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(4540261126)")
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def alembic_config() -> Config:
    """Alembic's configuration, found beside the installed `migrations` package."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config
