"""Balanced count tables of checks of whole hours."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from ...base.frozen import frozen
from ...database.tables import CheckRow, CheckTableRow
from ...domain.check import CheckState, DataSet, Span
from .eras import Era

_WHOLE_HOUR = text("span_end = span_start + interval '1 hour' AND span_start = date_trunc('hour', span_start, 'UTC')")


@frozen(kw_only=True)
class BalancedTable:
    hour: datetime
    attribute: str
    check_no: int
    cells: dict[str, Any]


def balanced_tables(session: Session, deployment_no: int, era: Era, span: Span) -> Sequence[BalancedTable]:
    """Returns the tables of the span's hours, of each hour's newest check in the era."""
    newest = (
        select(CheckRow.no, CheckRow.span_start)
        .ext(distinct_on(CheckRow.span_start))
        # An earlier version of the monitor compared the same, or the hour does not count.
        .where(
            *_of_era(deployment_no, era),
            CheckRow.monitor_version <= era.monitor_version,
            CheckRow.span_start >= span.start,
            CheckRow.span_start < span.end,
        )
        # DISTINCT ON keeps the newest check of each hour.
        .order_by(CheckRow.span_start, CheckRow.no.desc())
        .subquery()
    )
    rows = session.execute(
        select(newest.c.span_start, CheckTableRow.attribute, newest.c.no, CheckTableRow.cells)
        .join(CheckTableRow, CheckTableRow.check_no == newest.c.no)
        .where(CheckTableRow.data == DataSet.BALANCED, CheckTableRow.part == "span")
    )
    return [BalancedTable(hour=hour, attribute=attribute, check_no=no, cells=cells) for hour, attribute, no, cells in rows]


def checked_hours(session: Session, deployment_no: int, era: Era) -> Sequence[datetime]:
    checked = (*_of_era(deployment_no, era), CheckRow.monitor_version == era.monitor_version)
    return session.scalars(select(CheckRow.span_start).where(*checked).distinct()).all()


def _of_era(deployment_no: int, era: Era) -> tuple[Any, ...]:
    return (
        CheckRow.deployment_no == deployment_no,
        CheckRow.state == CheckState.SUCCEEDED,
        CheckRow.model_revision == era.model_revision,
        _WHOLE_HOUR,
    )
