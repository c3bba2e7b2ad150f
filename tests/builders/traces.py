"""Traces of a record or a person in a database, looked for in every column of every table."""

import psycopg
from psycopg import sql

from tests.databases import libpq

_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""


def tables_with(url: str, text: str) -> set[str]:
    """The tables of which a row holds the text."""
    with psycopg.connect(libpq(url)) as connection:
        names = [name for (name,) in connection.execute(_TABLES)]
        return {
            name
            for name in names
            if connection.execute(
                sql.SQL("SELECT 1 FROM {} AS t WHERE strpos(t::text, %s) > 0 LIMIT 1").format(sql.Identifier(name)), [text]
            ).fetchone()
        }


def tables_with_number(url: str, record_no: int) -> set[str]:
    """The tables with a column `record_no` that has the number."""
    with psycopg.connect(libpq(url)) as connection:
        names = connection.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'record_no'"
        ).fetchall()
        return {
            name
            for (name,) in names
            if connection.execute(sql.SQL("SELECT 1 FROM {} WHERE record_no = %s").format(sql.Identifier(name)), [record_no]).fetchone()
        }


def rows_of(url: str, *tables: str) -> dict[str, list[tuple[object, ...]]]:
    """All rows of these tables, in a fixed order."""
    with psycopg.connect(libpq(url)) as connection:
        return {
            table: connection.execute(sql.SQL("SELECT t::text FROM {} AS t ORDER BY 1").format(sql.Identifier(table))).fetchall()
            for table in tables
        }
