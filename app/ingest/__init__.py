"""Payload and feedback logging: accepts batches, stores each record id exactly once, says what became of every record."""

from app.ingest.requests import LogRequest
from app.ingest.service import Ingestion

__all__ = ["Ingestion", "LogRequest"]
