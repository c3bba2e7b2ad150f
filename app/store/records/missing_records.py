"""Counts of records that Evenhand did not get."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.checks import Span
from ...domain.missing_records import MissingHour, MissingRecords, MissingTotals
from ..database.conditions import within
from ..tables import MissingRecordRow as Row

_RATE = case((Row.left_out > 0, Row.sample_rate))
_SUMS = (
    func.coalesce(func.sum(Row.not_received), 0).label("not_received"),
    func.coalesce(func.sum(Row.left_out), 0).label("left_out"),
    func.min(_RATE).label("lowest_rate"),
    func.max(_RATE).label("highest_rate"),
)


def put_missing(session: Session, deployment_no: int, sender: str, sample_rate: float, totals: Sequence[MissingTotals]) -> None:
    """Stores a sender's totals. They only grow, so messages may repeat, in any order."""
    if not totals:
        return
    insertion = insert(Row)
    new = insertion.excluded
    rows = [
        {
            "deployment_no": deployment_no,
            "hour": one.hour,
            "sender": sender,
            "not_received": one.not_received,
            "left_out": one.left_out,
            "sample_rate": sample_rate,
        }
        # Requests lock rows in one order.
        for one in sorted(totals, key=lambda one: one.hour)
    ]
    raised = {
        "not_received": func.greatest(Row.not_received, new.not_received),
        "left_out": func.greatest(Row.left_out, new.left_out),
    }
    grows = or_(Row.not_received < new.not_received, Row.left_out < new.left_out)
    session.execute(insertion.on_conflict_do_update(index_elements=["deployment_no", "hour", "sender"], set_=raised, where=grows), rows)


def missing_in(session: Session, deployment_no: int, hours: Span) -> MissingRecords:
    row = session.execute(select(*_SUMS).where(Row.deployment_no == deployment_no, *within(Row.hour, hours.start, hours.end))).one()
    return MissingRecords(**_members(row))


def missing_hours(
    session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None, limit: int
) -> Sequence[MissingHour]:
    """Returns at most `limit` hours in [since, until) with missing records, newest first."""
    statement = select(Row.hour, func.count().label("senders"), *_SUMS)
    missing = statement.where(Row.deployment_no == deployment_no, *within(Row.hour, since, until))
    rows = session.execute(missing.group_by(Row.hour).order_by(Row.hour.desc()).limit(limit))
    return [MissingHour(hour=row.hour, senders=row.senders, **_members(row)) for row in rows]


def _members(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row of the sums
    return {
        # Sums of 64 bits are numerics to the database.
        "not_received": int(row.not_received),
        "left_out": int(row.left_out),
        "lowest_rate": row.lowest_rate,
        "highest_rate": row.highest_rate,
    }
