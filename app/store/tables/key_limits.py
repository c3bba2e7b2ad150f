"""Limits of API keys, and their use. No foreign keys, so that a write waits for nobody; ids of keys are never used again."""

from sqlalchemy.orm import Mapped

from .base import Int64, Row, StoredAt, TextKey


class KeyLimitsRow(Row):
    """Limits of one key; NULL: none. `max_bytes` bounds all records that it ever sends."""

    __tablename__ = "key_limits"

    key_id: Mapped[TextKey]
    requests_per_second: Mapped[float | None]
    records_per_second: Mapped[float | None]
    max_bytes: Mapped[Int64 | None]


class KeyUseRow(Row):
    """Use of the ingestion routes by one key since it was first seen."""

    __tablename__ = "key_use"

    key_id: Mapped[TextKey]
    requests: Mapped[Int64]
    records: Mapped[Int64]
    bytes: Mapped[Int64]
    refused: Mapped[Int64]
    first_at: Mapped[StoredAt]
    last_at: Mapped[StoredAt]
