"""Connections to the database, its migrations and its restoring."""
