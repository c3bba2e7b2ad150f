"""Reads the database in SQL."""

from typing import Any

from sqlalchemy import text

from app.database.engine import Database


def rows(database: Database, statement: str) -> list[tuple[Any, ...]]:
    """What a query finds."""
    with database.transaction() as session:
        return [tuple(row) for row in session.execute(text(statement))]
