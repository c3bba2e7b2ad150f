"""Faults of a database that no statement would name."""

from collections.abc import Iterator

from sqlalchemy import Connection

from ..base.frozen import frozen
from .engine import Database, public_address


@frozen
class DatabaseFault:
    words: str
    is_of_encoding: bool = False


def find_faults(database: Database) -> Iterator[DatabaseFault]:
    """Yields what makes the database unsuitable, and what to do. Raises Unavailable."""
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
            f"The database {public_address(database.url)} has the encoding {encoding}; Evenhand needs UTF8. "
            "Make another one:"
            " CREATE DATABASE evenhand ENCODING 'UTF8' TEMPLATE template0.",
            is_of_encoding=True,
        )
    if is_of_transactions:
        yield DatabaseFault(
            f"The database {public_address(database.url)} is reached by a pooler in transaction mode, which "
            "loses settings and prepared"
            " statements: set pool_mode = session for it (PgBouncer), or name the database itself."
        )


def _ask_process(connection: Connection) -> object:
    return connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
