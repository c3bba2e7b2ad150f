"""Payload and feedback logging: stores each record id exactly once, returns a receipt for every record."""

from .requests import LogRequest
from .service import Ingestion

__all__ = ["Ingestion", "LogRequest"]
