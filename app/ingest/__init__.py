"""Payload and feedback logging."""

from .requests import LogRequest
from .service import Ingestion

__all__ = ["Ingestion", "LogRequest"]
