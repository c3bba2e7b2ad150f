"""Runs a real Postgres of our own, for one machine. It knows nothing of tables: `store` does."""

from app.embedded.server import EmbeddedPostgres, embedded_postgres

__all__ = ["EmbeddedPostgres", "embedded_postgres"]
