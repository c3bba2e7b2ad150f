"""Stored texts that may quote a record: what a model answered, and the reasons of rejections."""

from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from .record_traces import QUOTES_RECORDS


def forget_quotations(session: Session, deployment_no: int, *, before: datetime | None) -> dict[str, int]:
    """Empties those of before that time, or all; returns counts by table."""
    counts = {}
    for table, quotation in QUOTES_RECORDS.items():
        aged = "" if before is None else f" AND {quotation.time} < :before"
        values = {"no": deployment_no} | ({} if before is None else {"before": before})
        column = quotation.column
        emptied = session.execute(
            text(
                f"UPDATE {table} SET {column} = NULL WHERE deployment_no = :no AND {column} IS NOT NULL{aged}"  # noqa: S608 - constants
            ),
            values,
        )
        counts[table] = emptied.rowcount  # type: ignore[attr-defined]
    return {table: count for table, count in counts.items() if count}
