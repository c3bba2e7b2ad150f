"""Databases of earlier releases."""

from alembic import command

from app.store.database.engine import Database
from app.store.database.migrate import alembic_config


def migrate_to(database: Database, revision: str) -> None:
    """Applies the migrations up to that one."""
    with database.engine.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
