"""The monthly partitions of the payload table."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

_PARTITIONS = text(
    "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'payload_records'::regclass"
)

MONTHS_AHEAD = 3


def _name_partition(year: int, month: int) -> str:
    return f"payload_records_{year:04}_{month:02}"


def ensure_coming_months(session: Session, now: datetime) -> None:
    first = now.year * 12 + now.month - 1
    ensure_months(session, ((no // 12, no % 12 + 1) for no in range(first, first + MONTHS_AHEAD + 1)))


def ensure_months(session: Session, months: Iterable[tuple[int, int]]) -> None:
    """(year, month). Attaching a finished table stops no readers and writers of the others."""
    existing = set(session.scalars(_PARTITIONS))
    for year, month in sorted(set(months)):
        name = _name_partition(year, month)
        if name in existing:
            continue
        # Two processes may find the same month absent.
        session.execute(text("SELECT pg_advisory_xact_lock(4540261127)"))
        if session.scalar(text("SELECT to_regclass(:name)"), {"name": name}) is not None:
            continue
        start = f"{year:04}-{month:02}-01 00:00+00"
        end = f"{year + month // 12:04}-{month % 12 + 1:02}-01 00:00+00"
        session.execute(text(f"CREATE TABLE {name} (LIKE payload_records INCLUDING DEFAULTS)"))
        session.execute(
            text(
                f"ALTER TABLE payload_records ATTACH PARTITION {name} FOR VALUES FROM ('{start}') TO "
                f"('{end}')"
            )
        )


def count_months_ahead(session: Session, now: datetime) -> int:
    existing = set(session.scalars(_PARTITIONS))
    count = 0
    month = now.year * 12 + now.month
    while _name_partition(month // 12, month % 12 + 1) in existing:
        count = count + 1
        month = month + 1
    return count
