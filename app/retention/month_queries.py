"""Months of payload records: detached without holding up writers, and dropped."""

import re
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from ..base.values import frozen
from ..database.engine import Database

_NAME = re.compile(r"payload_records_(\d{4})_(\d{2})")
_ENSURING = text("SELECT pg_advisory_xact_lock(4540261127)")


@frozen
class LogMonth:
    """Half-open. A detached month is no longer read or written; `is_pending`: detaching was broken off."""

    table: str
    start: datetime
    end: datetime
    is_attached: bool
    is_pending: bool


def log_months(session: Session) -> list[LogMonth]:
    rows = session.execute(
        text(
            """SELECT c.relname, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
               FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
                   AND i.inhparent = 'payload_records'::regclass
               WHERE c.relkind = 'r' AND c.relname LIKE 'payload_records_%'
                 AND c.relnamespace = (SELECT relnamespace FROM pg_class
                     WHERE oid = 'payload_records'::regclass)
               ORDER BY c.relname"""
        )
    )
    months = []
    for table, is_attached, is_pending in rows:
        if match := _NAME.fullmatch(table):
            year = int(match[1])
            month = int(match[2])
            start = datetime(year, month, 1, tzinfo=UTC)
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
            months.append(LogMonth(table, start, end, is_attached, is_pending))
    return months


def deployments_in(session: Session, month: LogMonth) -> list[int]:
    # One look into the index for each deployment.
    statement = (
        f"SELECT no FROM deployments d WHERE EXISTS (SELECT FROM {month.table} r WHERE "  # noqa: S608 - a table of ours
        "r.deployment_no = d.no) ORDER BY no"
    )
    return list(session.scalars(text(statement)))


def count_records_in(session: Session, month: LogMonth, deployment_no: int) -> int:
    statement = f"SELECT count(*) FROM {month.table} WHERE deployment_no = :no"  # noqa: S608 - a table of ours
    return int(session.scalar(text(statement), {"no": deployment_no}))


def detach_month(database: Database, month: LogMonth) -> None:
    """Waits for its readers; nobody waits for it. Raises DBAPIError if broken off; the next
    call finishes it.
    """
    # Postgres allows one pending detachment of a table.
    how = "FINALIZE" if month.is_pending else "CONCURRENTLY"
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"ALTER TABLE payload_records DETACH PARTITION {month.table} {how}"))


def attach_month(session: Session, month: LogMonth) -> None:
    session.execute(_ENSURING)
    bounds = f"FROM ('{month.start.isoformat()}') TO ('{month.end.isoformat()}')"
    session.execute(text(f"ALTER TABLE payload_records ATTACH PARTITION {month.table} FOR VALUES {bounds}"))


def drop_month(session: Session, month: LogMonth) -> None:
    session.execute(_ENSURING)
    session.execute(text(f"DROP TABLE {month.table}"))
