"""Databases of commit 7ba08965, whose schema the first migration creates.

`schema.sql.gz` is pg_dump's text of its empty database. `rows.sql.gz` has 2 checks, 16 records and a few rows of everything else that its
`evenhand example` stores, and made-up rows of the tables that the example does not use.
"""

import gzip
from pathlib import Path

import psycopg
from alembic import command

from app.database.engine import Database
from app.database.migrations import build_alembic_config

REVISION = "0049"


def read_fixture(name: str) -> str:
    """Returns the text of a dump."""
    return gzip.decompress((Path(__file__).parent / name).read_bytes()).decode()


def create_schema(database: Database) -> None:
    """Creates its tables in an empty database."""
    with database.engine.begin() as connection:
        config = build_alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, REVISION)


def create_filled(database: Database) -> None:
    """Creates its tables and rows in an empty database."""
    create_schema(database)
    with psycopg.connect(database.url) as connection:
        # The data mart of the migration is among the rows, and so are the days that a trigger would note.
        connection.execute("SET session_replication_role = replica; DELETE FROM openscale_data_marts")
        connection.execute(read_fixture("rows.sql.gz").encode())
