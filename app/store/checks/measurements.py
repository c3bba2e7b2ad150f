"""Series of measurements, and the count tables that roll-ups add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, cast, select, text, tuple_
from sqlalchemy.dialects.postgresql import JSONB, distinct_on
from sqlalchemy.orm import InstrumentedAttribute, Session

from ...domain.checks import CheckState, DataSet, Measurement, Scope
from ...domain.comparisons import Comparison
from ...domain.outcomes import OutcomeRule, outcome_texts
from ..tables import CheckRow, CheckTableRow, MeasurementRow
from .results import measurement_from, omit_columns, read_comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFilter:
    """Filter of measurements; an absent member lets all through. Times are half-open [since, until)."""

    metric: str | None = None
    data: DataSet | None = None
    scope: Scope | None = None
    attribute: str | None = None
    group: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement with its place in the series (for the cursor) and the check it comes from."""

    no: int
    check_id: str
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class HourTable:
    """One count table of one hour: only the records of that hour itself."""

    hour: datetime
    data: DataSet
    comparison: Comparison
    cells: dict[str, object]

    @property
    def attribute(self) -> str:
        """The comparison's label."""
        return self.comparison.label


def series(session: Session, deployment_no: int, wanted: SeriesFilter, *, after_no: int, limit: int) -> list[Point]:
    """Returns measurements oldest first, at most `limit`, after the one numbered `after_no` (0: from the start)."""
    columns = {
        MeasurementRow.metric: wanted.metric,
        MeasurementRow.data: wanted.data,
        MeasurementRow.scope: wanted.scope,
        MeasurementRow.attribute: wanted.attribute,
        MeasurementRow.group: wanted.group,
    }
    conditions = [MeasurementRow.deployment_no == deployment_no, *_between(MeasurementRow.at, wanted)]
    conditions += [column == value for column, value in columns.items() if value is not None]
    if after_no:
        # By time and number: many measurements have the same time.
        place = select(MeasurementRow.at, MeasurementRow.no).where(MeasurementRow.no == after_no).scalar_subquery()
        conditions.append(tuple_(MeasurementRow.at, MeasurementRow.no) > place)
    rows = session.execute(
        select(MeasurementRow, CheckRow.id)
        .join(CheckRow, CheckRow.no == MeasurementRow.check_no)
        .where(*conditions)
        .order_by(MeasurementRow.at, MeasurementRow.no)
        .limit(limit)
    )
    return [Point(row.no, check_id, measurement_from(row)) for row, check_id in rows]


def hour_tables(session: Session, deployment_no: int, wanted: SeriesFilter, *, outcomes: OutcomeRule, most: int) -> list[HourTable]:
    """Returns at most `most` tables of the whole hours that were checked, one check an hour (the newest), oldest hour first.

    Checks of other spans are left out: they overlap hours, and their records would be counted twice. So are hours counted under
    other favourable and unfavourable outcomes: what was counted as favourable then may be the opposite now.
    """
    newest = (
        select(CheckRow.no, CheckRow.span_start)
        .ext(distinct_on(CheckRow.span_start))
        .join(CheckTableRow, CheckTableRow.check_no == CheckRow.no)
        .where(
            CheckRow.deployment_no == deployment_no,
            CheckRow.state == CheckState.SUCCEEDED,
            text("span_end = span_start + interval '1 hour' AND span_start = date_trunc('hour', span_start, 'UTC')"),
            *_between(CheckRow.span_start, wanted),
            CheckRow.window["favourable"] == cast(outcome_texts(outcomes.favourable), JSONB),
            CheckRow.window["unfavourable"] == cast(outcome_texts(outcomes.unfavourable), JSONB),
        )
        # DISTINCT ON keeps the first row of each hour: that of the newest check.
        .order_by(CheckRow.span_start, CheckRow.no.desc())
        .subquery()
    )
    conditions: list[ColumnElement[bool]] = [CheckTableRow.part == "span"]
    if wanted.data is not None:
        conditions.append(CheckTableRow.data == wanted.data)
    if wanted.attribute is not None:
        conditions.append(CheckTableRow.attribute == wanted.attribute)
    rows = session.execute(
        select(newest.c.span_start, CheckTableRow.data, CheckTableRow.attribute, CheckTableRow.cells)
        .join(CheckTableRow, CheckTableRow.check_no == newest.c.no)
        .where(*conditions)
        .order_by(newest.c.span_start, CheckTableRow.data, CheckTableRow.attribute)
        .limit(most)
    )
    return [HourTable(hour, DataSet(data), read_comparison(attribute, cells), omit_columns(cells)) for hour, data, attribute, cells in rows]


def _between(column: InstrumentedAttribute[datetime], wanted: SeriesFilter) -> Sequence[ColumnElement[bool]]:
    bounds = [] if wanted.since is None else [column >= wanted.since]
    return bounds if wanted.until is None else [*bounds, column < wanted.until]
