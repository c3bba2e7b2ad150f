"""Connections to Postgres, its migrations and its restoring."""
