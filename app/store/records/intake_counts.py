"""Calls through the gateway or by events, by hour."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.intake import IntakeCount
from ..database.conditions import within
from ..database.rows import read_row
from ..deployments.deployments import find_numbers
from ..tables import IntakeCountRow as Row


def add_counts(session: Session, counts: Sequence[IntakeCount]) -> None:
    """Adds to the counts, without deployments that were deleted."""
    if not counts:
        return
    numbers = {one.deployment_no for one in counts}
    present = find_numbers(session, numbers)
    rows = [
        {
            "deployment_no": one.deployment_no,
            "hour": one.hour,
            "source": one.source,
            "outcome": one.outcome,
            "count": one.count,
            "reason": one.reason,
        }
        # Processes lock rows in one order.
        for one in sorted(counts, key=lambda one: (one.deployment_no, one.hour, one.source, one.outcome))
        if one.deployment_no in present
    ]
    if not rows:
        return
    insertion = insert(Row)
    new = insertion.excluded
    added = {"count": Row.count + new.count, "reason": func.coalesce(new.reason, Row.reason)}
    keys = ["deployment_no", "hour", "source", "outcome"]
    session.execute(insertion.on_conflict_do_update(index_elements=keys, set_=added), rows)


def intake_hours(
    session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None, limit: int
) -> dict[datetime, list[IntakeCount]]:
    """Returns at most `limit` hours in [since, until) with their counts, newest first."""
    hours = (
        select(Row.hour)
        .where(Row.deployment_no == deployment_no, *within(Row.hour, since, until))
        .distinct()
        .order_by(Row.hour.desc())
        .limit(limit)
    )
    statement = select(Row).where(Row.deployment_no == deployment_no, Row.hour.in_(hours))
    found: dict[datetime, list[IntakeCount]] = {}
    for row in session.scalars(statement.order_by(Row.hour.desc(), Row.source, Row.outcome)):
        found.setdefault(row.hour, []).append(read_row(IntakeCount, row))
    return found
