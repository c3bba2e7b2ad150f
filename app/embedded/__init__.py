"""A real Postgres of our own, for one machine. Does not know the tables."""

from .dumps import dump, load, rows_in, tables_in
from .server import EmbeddedPostgres, embedded_postgres

__all__ = ["EmbeddedPostgres", "dump", "embedded_postgres", "load", "rows_in", "tables_in"]
