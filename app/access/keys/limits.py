"""Limits of an API key, and what it uses."""

from datetime import datetime
from enum import StrEnum

from ...base.frozen import frozen_by_name

BURST_SECONDS = 2.0
"""Seconds' worth of a rate that may come at once after a pause."""


class KeyLimit(StrEnum):
    """One kind of limit."""

    REQUESTS = "requests"
    RECORDS = "records"
    STORAGE = "storage"


@frozen_by_name
class KeyLimits:
    """Limits of one key; None: no limit. `max_bytes` bounds the bytes of all records that it ever sends."""

    requests_per_second: float | None = None
    records_per_second: float | None = None
    max_bytes: int | None = None


@frozen_by_name
class KeyUse:
    """Requests to log records, records and bytes that were stored, refused requests."""

    requests: int = 0
    records: int = 0
    bytes: int = 0
    refused: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
