"""Series of measurements, and the count tables of hours and days from which roll-ups are made.

Series of one metric are read straight from the driver, for speed.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

from psycopg.types.json import Jsonb
from sqlalchemy import delete, insert, select, tuple_
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import equal, read_rows, within
from ...database.tables import CheckRow, MeasurementRow, TableDayRow
from ...domain.check import DataSet, Measurement, Scope
from ...domain.monitor import Comparison, OutcomeRule, list_outcome_texts
from ...domain.paging import Paging
from ..result_queries import build_measurement, is_of_scope, name_columns, omit_columns, read_comparison
from .day_queries import DAY, Stretch, list_stretches_between


@frozen_by_name
class SeriesFilter:
    """Filter of measurements: an absent or empty member accepts all, times are half-open."""

    metrics: tuple[str, ...] = ()
    data: DataSet | None = None
    scope: Scope | None = None
    attribute: str | None = None
    group: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    check_no: int | None = None

    def accepts(self, measurement: Measurement) -> bool:
        return (
            (not self.metrics or measurement.metric in self.metrics)
            and self.data in (None, measurement.data)
            and self.attribute in (None, measurement.attribute)
            and self.group in (None, measurement.group)
            and (self.scope is None or measurement.is_of(self.scope))
        )


@frozen
class Point:
    """Measurement of a check; `no` is its number, after which a page continues."""

    no: int
    check_id: str
    measurement: Measurement


@frozen
class HourTable:
    """Count table of an hour, or the sum of `hours` of a day under the first of them."""

    hour: datetime
    data: DataSet
    comparison: Comparison
    cells: dict[str, Any]
    hours: int = 1

    @classmethod
    def read(cls, row: Sequence[Any]) -> Self:
        hour, data, attribute, cells, hours = row
        return cls(hour, DataSet(data), read_comparison(attribute, cells), omit_columns(cells), hours)


class CountedOutcomes(NamedTuple):
    """Outcome lists, as texts, by which a table was counted."""

    favourable: list[str]
    unfavourable: list[str]


class DayTable(NamedTuple):
    outcomes: CountedOutcomes
    table: HourTable


_NEWEST_CHECKS = """
    -- DISTINCT ON keeps the first row of each hour: that of the newest check.
    SELECT DISTINCT ON (span_start, favourable, unfavourable) no, span_start,
        "window"->'favourable' AS favourable, "window"->'unfavourable' AS unfavourable
    FROM unnest(%(firsts)s::timestamptz[], %(lasts)s::timestamptz[]) AS stretch (first, last)
    JOIN checks ON deployment_no = %(deployment_no)s
        AND span_start >= coalesce(first, '-infinity') AND span_start < coalesce(last, 'infinity')
    WHERE state IN ('succeeded', 'insufficient_data') AND span_end = span_start + interval '1 hour'
        AND span_start = date_trunc('hour', span_start, 'UTC') AND {of_outcomes}
        AND EXISTS (SELECT FROM check_tables WHERE check_no = no)
    ORDER BY span_start, favourable, unfavourable, no DESC
"""
_HAS_OUTCOMES = (
    """ "window"->'favourable' = %(favourable)s AND "window"->'unfavourable' = %(unfavourable)s """
)
_HAS_ANY_OUTCOMES = """ "window" ? 'favourable' AND "window" ? 'unfavourable' """
_IS_CHOSEN_TABLE = """
    (%(data)s::text IS NULL OR data = %(data)s) AND (%(attribute)s::text IS NULL OR attribute = %(attribute)s)
"""
_OPEN_HOURS = f"""
    SELECT span_start, data, attribute, cells, 1
    FROM ({_NEWEST_CHECKS.format(of_outcomes=_HAS_OUTCOMES)}) newest
    JOIN check_tables ON check_no = newest.no
    WHERE part = 'span' AND {_IS_CHOSEN_TABLE}
    ORDER BY span_start, data, attribute
    LIMIT %(limit)s
"""  # noqa: S608 - of constants only
_HOURS_OF_DAY = f"""
    SELECT span_start, data, attribute, cells, 1, favourable, unfavourable
    FROM ({_NEWEST_CHECKS.format(of_outcomes=_HAS_ANY_OUTCOMES)}) newest
    JOIN check_tables ON check_no = newest.no
    WHERE part = 'span'
    ORDER BY favourable, unfavourable, span_start, data, attribute
"""  # noqa: S608 - of constants only
_STORED_DAYS = f"""
    SELECT stored.day, hour, data, attribute, cells, hours
    FROM check_days stored
    LEFT JOIN table_days summed ON summed.deployment_no = stored.deployment_no AND summed.day = stored.day
        AND favourable = %(favourable)s AND unfavourable = %(unfavourable)s AND {_IS_CHOSEN_TABLE}
    WHERE stored.deployment_no = %(deployment_no)s AND is_kept
        AND stored.day >= coalesce(%(since)s::timestamptz, '-infinity')
        AND stored.day <= coalesce(%(until)s::timestamptz - interval '1 day', 'infinity')
"""  # noqa: S608 - of constants only


def page_points(session: Session, deployment_no: int, filters: SeriesFilter, paging: Paging) -> list[Point]:
    columns = {
        MeasurementRow.deployment_no: deployment_no,
        MeasurementRow.data: filters.data,
        MeasurementRow.attribute: filters.attribute,
        MeasurementRow.group: filters.group,
        MeasurementRow.check_no: filters.check_no,
    }
    conditions = [] if filters.scope is None else [is_of_scope(filters.scope)]
    conditions += [MeasurementRow.metric.in_(filters.metrics)] if filters.metrics else []
    conditions += [*within(MeasurementRow.at, filters.since, filters.until), *equal(columns)]
    if paging.after:
        # Many measurements have the same time.
        position = (
            select(MeasurementRow.at, MeasurementRow.no)
            .where(MeasurementRow.no == paging.after)
            .scalar_subquery()
        )
        conditions.append(tuple_(MeasurementRow.at, MeasurementRow.no) > position)
    rows = session.execute(
        select(MeasurementRow, CheckRow.id)
        .join(CheckRow, CheckRow.no == MeasurementRow.check_no)
        .where(*conditions)
        .order_by(MeasurementRow.at, MeasurementRow.no)
        .limit(paging.limit)
    )
    return [Point(row.no, check_id, build_measurement(row)) for row, check_id in rows]


def read_summed_tables(
    session: Session, deployment_no: int, filters: SeriesFilter, *, outcomes: OutcomeRule, limit: int
) -> list[HourTable]:
    """Reads the tables of checked hours, of the newest check of each, oldest first; of ended days their sums.

    Beyond `limit` tables some may be missing. Checks of other spans are left out, because they overlap hours,
    and those by other outcomes, which may mean the opposite.
    """
    values = {
        "deployment_no": deployment_no,
        "data": filters.data,
        "attribute": filters.attribute,
        "favourable": Jsonb(list_outcome_texts(outcomes.favourable)),
        "unfavourable": Jsonb(list_outcome_texts(outcomes.unfavourable)),
        "since": filters.since,
        "until": filters.until,
    }
    rows = read_rows(session, _STORED_DAYS, values)
    stretches = list_stretches_between(
        sorted({row[0] for row in rows}), Stretch(filters.since, filters.until)
    )
    times = {
        "firsts": [stretch.first for stretch in stretches],
        "lasts": [stretch.last for stretch in stretches],
        "limit": limit,
    }
    open_hours = [HourTable.read(row) for row in read_rows(session, _OPEN_HOURS, values | times)]
    tables = [*(HourTable.read(row[1:]) for row in rows if row[1] is not None), *open_hours]
    return sorted(tables, key=lambda table: (table.hour, table.data, table.comparison.label))


def read_day_tables(session: Session, deployment_no: int, day: datetime) -> list[DayTable]:
    """Reads the tables of the newest check of each hour, those of the same outcomes together."""
    values = {"deployment_no": deployment_no, "firsts": [day], "lasts": [day + DAY]}
    return [
        DayTable(CountedOutcomes(*row[5:]), HourTable.read(row[:5]))
        for row in read_rows(session, _HOURS_OF_DAY, values)
    ]


def store_day_tables(session: Session, deployment_no: int, day: datetime, tables: Sequence[DayTable]) -> None:
    session.execute(
        delete(TableDayRow).where(TableDayRow.deployment_no == deployment_no, TableDayRow.day == day)
    )
    rows = [
        {
            "deployment_no": deployment_no,
            "day": day,
            "data": table.data,
            "attribute": table.comparison.label,
            "favourable": outcomes.favourable,
            "unfavourable": outcomes.unfavourable,
            "hour": table.hour,
            "hours": table.hours,
            "cells": table.cells | name_columns(table.comparison),
        }
        for outcomes, table in tables
    ]
    if rows:
        session.execute(insert(TableDayRow), rows)


@frozen_by_name
class SeriesKey:
    """Selects a series of one metric; `attribute` None: of all records. The scope `worst` must be alone."""

    metric: str
    data: DataSet
    attribute: str | None
    scopes: tuple[Scope, ...]
    since: datetime | None = None
    until: datetime | None = None


StoredPoint = tuple[Any, ...]
"""check_no, scope, group, value, lower, upper, n, verdict, reason, carried_forward, lower_limit, upper_limit,
definition.

A class would cost as much as the read.
"""


class EndedRun(NamedTuple):
    """Check that succeeded, had too few records, or failed."""

    no: int
    id: str
    state: str
    span_start: datetime
    span_end: datetime
    reason: str | None
    monitor_version: int | None
    model_revision: str | None

    @property
    def is_hourly(self) -> bool:
        return self.span_end - self.span_start <= HOUR


class SpanCount(NamedTuple):
    """Numbers of a check's records in its span, and of `additional` ones (0 where carried forward)."""

    span_start: datetime
    span_end: datetime
    logged: int
    additional: int


# IS NOT DISTINCT FROM could not use the index.
_OF_SERIES = """
    FROM measurements
    WHERE deployment_no = %(deployment_no)s AND metric = %(metric)s AND data = %(data)s
        AND {of_attribute} AND {of_scopes}
        AND at >= coalesce(%(since)s, '-infinity'::timestamptz)
        AND at < coalesce(%(until)s, 'infinity'::timestamptz)
"""
_POINTS = (
    "SELECT check_no, {subject}, value, lower, upper, n, verdict, reason, carried_forward, lower_limit, "
    f"upper_limit, definition {_OF_SERIES} ORDER BY at, no"
)

_ENDED_CHECKS = """
    FROM checks
    WHERE deployment_no = %(deployment_no)s AND state IN ('succeeded', 'insufficient_data', 'failed')
        AND span_end >= coalesce(%(since)s, '-infinity'::timestamptz)
        AND span_end < coalesce(%(until)s, 'infinity'::timestamptz)
"""
_RUNS = (
    f"SELECT no, id, state, span_start, span_end, reason, monitor_version, model_revision {_ENDED_CHECKS} "
    "ORDER BY span_end, no"
)
_COUNTS = f"""
    SELECT span_start, span_end, ("window"->>'logged_in_span')::bigint,
        CASE WHEN "window" ? 'carried_from' AND "window"->>'logged_in_span' = '0' THEN 0
            ELSE ("window"->>'additional_records')::bigint END
    {_ENDED_CHECKS}
        AND "window" ? 'logged_in_span' AND span_end <= span_start + interval '1 hour'
        AND span_start = date_trunc('hour', span_start, 'UTC')
    ORDER BY span_end, no
"""


def read_stored_points(session: Session, deployment_no: int, key: SeriesKey) -> list[StoredPoint]:
    values = {
        "deployment_no": deployment_no,
        "metric": key.metric,
        "data": key.data.value,
        "attribute": key.attribute,
        "since": key.since,
        "until": key.until,
        "scopes": [scope.value for scope in key.scopes],
    }
    # The group furthest out changes from check to check: its points are one series without a group.
    is_worst = key.scopes == (Scope.WORST,)
    statement = _POINTS.format(
        subject="'worst', NULL" if is_worst else 'scope, "group"',
        of_attribute="attribute IS NULL" if key.attribute is None else "attribute = %(attribute)s",
        of_scopes="worst_of IS NOT NULL" if is_worst else "scope = ANY(%(scopes)s)",
    )
    return read_rows(session, statement, values)


def read_ended_runs(
    session: Session, deployment_no: int, since: datetime | None, until: datetime | None
) -> list[EndedRun]:
    """Reads the checks that end in [since, until), in the order of their ends, without cancelled ones."""
    values = {"deployment_no": deployment_no, "since": since, "until": until}
    return list(map(EndedRun._make, read_rows(session, _RUNS, values)))


def read_span_counts(
    session: Session, deployment_no: int, since: datetime | None, until: datetime | None
) -> list[SpanCount]:
    """Reads the counts of hours whose checks end in [since, until): those of the longest check of each."""
    rows = read_rows(session, _COUNTS, {"deployment_no": deployment_no, "since": since, "until": until})
    # Of checks with one start, the last one to end replaces the others.
    return list({row[0]: SpanCount._make(row) for row in rows}.values())
