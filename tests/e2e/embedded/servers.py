"""What the tests of this folder ask of a server and of processes."""

from pathlib import Path

import psycopg

from app.database.embedded.embedded_server import Postmaster, find_postmaster


def ask(url: str, statement: str) -> object:
    """The first column of the first row, in a transaction of its own."""
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None


def tell(url: str, statement: str) -> None:
    """Runs and commits one statement."""
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def running_on(data: Path) -> Postmaster:
    """The server of a data folder, which must be there."""
    running = find_postmaster(data)
    assert running is not None
    return running
