"""Limits of API keys, and their use. No foreign keys, so that a write waits for nobody; ids of keys are never used again."""

from datetime import datetime

from sqlalchemy import BigInteger, func
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class KeyLimitsRow(Row):
    """Limits of one key; NULL: none. `max_bytes` bounds all records that it ever sends."""

    __tablename__ = "key_limits"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    requests_per_second: Mapped[float | None]
    records_per_second: Mapped[float | None]
    max_bytes: Mapped[int | None] = mapped_column(BigInteger)


class KeyUseRow(Row):
    """Use of the ingestion routes by one key since it was first seen."""

    __tablename__ = "key_use"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    requests: Mapped[int] = mapped_column(BigInteger)
    records: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    refused: Mapped[int] = mapped_column(BigInteger)
    first_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_at: Mapped[datetime] = mapped_column(server_default=func.now())
