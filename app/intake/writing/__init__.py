"""Durable bulk writes of records by COPY; concurrent requests share commits."""
