"""A period from the count tables of its checked hours, one part for each monitor version and model revision.

Of each hour the newest check of exactly that hour counts, and of it its own records. Parts are never added
up.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime, timedelta
from typing import NamedTuple, cast
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from ...base.clock import HOUR, floor_to_hour
from ...base.errors import InvalidInput
from ...base.strict_json import JsonObject
from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import read_rows
from ...deployments.monitor.queries import find_strictest_limits
from ...domain.check import DataSet, Measurement, Span
from ...domain.groups import GroupWords
from ...domain.monitor import Comparison, Monitor, list_comparisons
from ...statistics.catalogue import CATALOGUE
from ...statistics.group_labels import IntArray
from ...statistics.intervals.verdicts import Limits
from ...statistics.measures.period_figures import RATIO, PeriodFigure, measure_period
from ...statistics.sentences.left_out import CountedRecords
from ...statistics.tables.count_table import GroupCounts, LabelledCells
from ..counting.tabulate import PIECES, TABLE_TYPES, Table, merge_tables
from ..measure import measure_table
from ..queries import read_run
from ..result_queries import read_comparison
from .corrected_hours import (
    FURTHER_METRICS,
    MAX_RECOUNTED_HOURS,
    CorrectedValue,
    HourCells,
    HourRecount,
    divide_by_hour,
    list_misread,
    read_corrections,
)

MAX_HOURS = 20_000
"""Max hours of a period: more than two years."""

HOURS_OF_DAY = 25
"""Hours of the longest day: a period of at most as many is divided into hours instead of days."""

_HOURS = """
    SELECT check_no, span_start, monitor_version, model_revision, revisions, others, records, beyond_newest,
        data, attribute, cells
    FROM (
        SELECT DISTINCT ON (span_start) no AS check_no, span_start, monitor_version, model_revision,
            "window"->'revisions_in_span' AS revisions,
            ("window"->>'records_of_other_revisions')::bigint AS others,
            ("window"->>'records')::bigint AS records,
            ("window"->>'logged_in_span')::bigint - ("window"->>'records')::bigint AS beyond_newest
        FROM checks
        WHERE deployment_no = %(deployment_no)s AND span_start >= %(start)s AND span_start < %(end)s
            AND state IN ('succeeded', 'insufficient_data') AND span_end = span_start + interval '1 hour'
            AND span_start = date_trunc('hour', span_start, 'UTC')
            AND EXISTS (SELECT FROM check_tables WHERE check_no = no AND part = 'span')
        ORDER BY span_start, no DESC
    ) newest
    JOIN check_tables USING (check_no)
    WHERE part = 'span' AND data = ANY(%(data)s)
    ORDER BY span_start, data, attribute
"""


_HourTables = Mapping[DataSet, list[tuple[datetime, Table]]]


class PartKey(NamedTuple):
    monitor_version: int | None
    model_revision: str


class _HourRow(NamedTuple):
    """Table of an hour, and facts on its check; `others` are the window's records of other revisions.

    Old checks stored no `revisions`, and their tables may hold the others.
    """

    check_no: int
    hour: datetime
    monitor_version: int | None
    model_revision: str
    revisions: Sequence[str] | None
    others: int | None
    records: int | None
    beyond_newest: int | None
    data: DataSet
    attribute: str
    cells: JsonObject

    @property
    def comparison(self) -> Comparison:
        return read_comparison(self.attribute, self.cells)

    @property
    def is_mixed(self) -> bool:
        """Whether several revisions are in the table, and it does not say how many records are of which."""
        if self.revisions is None:
            return bool(self.others)
        return len(self.revisions) > 1 and PIECES not in self.cells

    def has_counts_of(self, cells: JsonObject) -> bool:
        counts, other_counts = (
            [(key, hour, table.to_json()) for key, hour, table in row.list_tables()]
            for row in (self, self._replace(cells=cells))
        )
        return counts == other_counts

    def list_tables(self) -> Iterator[tuple[PartKey, datetime, Table]]:
        """Yields the tables of the revisions, with the hour in which their records were scored."""
        revision = self.model_revision
        if self.data is DataSet.AS_LOGGED and self.revisions:
            revision = self.revisions[0]
        pieces: Sequence[JsonObject] = [{"hour": None, "revision": revision, "cells": self.cells}]
        if self.data is DataSet.LABELLED:
            pieces = [piece for piece in self.cells.get(PIECES, ()) if piece["hour"] is not None]
        elif self.data is DataSet.AS_LOGGED and (self.is_mixed or PIECES in self.cells):
            pieces = self.cells.get(PIECES, ())
        for piece in pieces:
            hour = self.hour if piece["hour"] is None else datetime.fromisoformat(piece["hour"])
            cells = {
                name: counts for name, counts in piece["cells"].items() if name not in {"strata", "scores"}
            }
            key = PartKey(self.monitor_version, piece["revision"])
            yield key, hour, TABLE_TYPES[self.data].from_json(cells)


@frozen_by_name
class PartComparison:
    """Figures of one attribute in a part; `further` are counterfactual ones and those of labels.

    `labelled` counts records with a label and all, by group.
    """

    comparison: Comparison
    records: CountedRecords
    limits: Limits
    figures: Sequence[PeriodFigure]
    further: Sequence[Measurement] = ()
    labelled: Mapping[str, tuple[int, int]]


@frozen
class PeriodPart:
    key: PartKey
    hours: Sequence[datetime]
    records: int
    comparisons: Sequence[PartComparison]


@frozen_by_name
class PeriodSums:
    """Figures of a period, the newest part first; so many of its ended `hours` were `checked`.

    Labels and corrections count that were there before `labels_until`; `unplaced` hours of labels do not say
    of which hours their records are. `stale` corrected values, by data, count as the checks read them.
    """

    span: Span
    zone: ZoneInfo
    hours: int
    checked: int
    parts: Sequence[PeriodPart]
    labels_until: datetime
    unplaced: int = 0
    stale: Mapping[DataSet, int] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        return "hours" if self.hours <= HOURS_OF_DAY else "days"


def cut_to_hours(span: Span, now: datetime) -> Span:
    """Cuts the span to hours that have ended; an hour belongs to the period in which it starts.

    Raises:
        InvalidInput: there are more than a period may have.
    """
    start, end = (floor_to_hour(moment - timedelta.resolution) + HOUR for moment in (span.start, span.end))
    if (end - start) // HOUR > MAX_HOURS:
        raise InvalidInput("since", f"leaves more than {MAX_HOURS:,} hours; choose a later one")
    return Span(start, max(start, min(end, floor_to_hour(now))))


def read_period(
    session: Session,
    recount: HourRecount,
    span: Span,
    *,
    zone: ZoneInfo,
    labels_until: datetime,
    logged: int | None,
) -> PeriodSums:
    """Measures a period of whole hours, in which so many records were `logged` (None: not known).

    Labels and corrections count that were there before `labels_until`.
    """
    monitor = recount.monitor
    labels_until = max(labels_until, span.start)
    deployment_no = recount.deployment.no
    stored = _read_hours(session, deployment_no, span, DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL)
    stored += _read_hours(session, deployment_no, Span(span.start, labels_until), DataSet.LABELLED)
    rows, stale = _correct_rows(session, recount, stored, span, labels_until)
    tables: dict[PartKey, dict[Comparison, _HourTables]] = {}
    for row in rows:
        for key, hour, table in row.list_tables():
            if span.start <= hour < span.end and (row.data is DataSet.AS_LOGGED or key in tables):
                part_tables = tables.setdefault(key, defaultdict(lambda: defaultdict(list)))
                part_tables[row.comparison][row.data].append((hour, table))
    # One row of each hour: it has a table for each attribute.
    rows_by_hour = {row.hour: row for row in rows if row.data is DataSet.AS_LOGGED}
    left_out = {
        "beyond_newest": sum(row.beyond_newest or 0 for row in rows_by_hour.values()),
        "mixed_revisions": sum(row.records or 0 for row in rows_by_hour.values() if row.is_mixed),
    }
    hours = (span.end - span.start) // HOUR
    parts = _measure_parts(monitor, tables, span, None if hours <= HOURS_OF_DAY else zone)
    if logged is not None:
        counted = sum(part.records for part in parts)
        left_out["not_checked"] = max(0, logged - counted - sum(left_out.values()))
    parts = _add_left_out(parts, left_out, monitor)
    return PeriodSums(
        span=span,
        zone=zone,
        hours=hours,
        checked=len(rows_by_hour),
        parts=sorted(parts, key=lambda part: (part.hours[-1], part.hours[0]), reverse=True),
        labels_until=labels_until,
        unplaced=len({row.hour for row in rows if row.data is DataSet.LABELLED and PIECES not in row.cells}),
        stale=stale,
    )


def _find_unit(hour: datetime, zone: ZoneInfo | None) -> datetime | date:
    return hour if zone is None else hour.astimezone(zone).date()


def _measure_parts(
    monitor: Monitor,
    tables: Mapping[PartKey, Mapping[Comparison, _HourTables]],
    span: Span,
    zone: ZoneInfo | None,
) -> list[PeriodPart]:
    parts = []
    for key, part_tables in tables.items():
        counted = sorted({hour for by_data in part_tables.values() for hour, _ in by_data[DataSet.AS_LOGGED]})
        reach = span if len(tables) == 1 else Span(counted[0], counted[-1] + HOUR)
        units = {
            _find_unit(reach.start + HOUR * number, zone)
            for number in range((reach.end - reach.start) // HOUR)
        }
        comparisons = [
            _measure_comparison(monitor, comparison, by_data, units=units, zone=zone, at=span.end)
            for comparison, by_data in part_tables.items()
            if by_data[DataSet.AS_LOGGED]
        ]
        records = max((comparison.records.of for comparison in comparisons), default=0)
        parts.append(PeriodPart(key, counted, records, comparisons))
    # A revision without traffic must not decide.
    return [part for part in parts if part.records] or parts


def _add_left_out(
    parts: Sequence[PeriodPart], left_out: Mapping[str, int], monitor: Monitor
) -> list[PeriodPart]:
    placeholders = {"newest": f"{monitor.max_records:,} of an hour"}
    name = GroupWords.of(monitor).label
    total = sum(part.records for part in parts)
    completed = []
    for part in parts:
        ungrouped = {**left_out, "other_part": total - part.records}
        comparisons = []
        for comparison in part.comparisons:
            records = replace(comparison.records.add_ungrouped(**ungrouped), words=placeholders)
            comparisons.append(replace(comparison, records=records.named(name)))
        completed.append(replace(part, comparisons=comparisons))
    return completed


def _read_hours(session: Session, deployment_no: int, span: Span, *data: DataSet) -> list[_HourRow]:
    values = {"deployment_no": deployment_no, "start": span.start, "end": span.end, "data": list(data)}
    rows = map(_HourRow._make, read_rows(session, _HOURS, values))
    return [row._replace(data=DataSet(row.data)) for row in rows]


def _correct_rows(
    session: Session, recount: HourRecount, rows: Sequence[_HourRow], span: Span, cut_off: datetime
) -> tuple[list[_HourRow], dict[DataSet, int]]:
    """Gives tables of corrected hours the values of the cut-off; counts those that stay as they were read."""
    corrected = list(rows)
    indices_by_hour = defaultdict[datetime, list[int]](list)
    for index, row in enumerate(rows):
        indices_by_hour[row.hour].append(index)
    stale = defaultdict[DataSet, set[CorrectedValue]](set)
    recounted = 0
    corrections = divide_by_hour(read_corrections(session, recount.deployment.no, span))
    for hour in sorted(corrections.keys() & indices_by_hour.keys(), reverse=True):
        check = read_run(session, rows[indices_by_hour[hour][0]].check_no)
        misread = list_misread(corrections[hour], check, cut_off)
        misread_indices = [index for index in indices_by_hour[hour] if rows[index].data in misread]
        recounted += bool(misread_indices)
        if not misread_indices:
            continue
        before = list[HourCells]()
        after: HourCells = {}
        if recounted <= MAX_RECOUNTED_HOURS:
            before = recount.count_as_read(check, corrections[hour])
            after = recount.count(check, corrections[hour], cut_off)
        for index in misread_indices:
            row = rows[index]
            key = (row.data, row.comparison)
            if key in after and any(row.has_counts_of(tables[key]) for tables in before if key in tables):
                corrected[index] = row._replace(cells=after[key])
            else:
                stale[row.data] |= misread[row.data]
    return corrected, {data: len(values) for data, values in stale.items()}


def _measure_comparison(
    monitor: Monitor,
    comparison: Comparison,
    tables: _HourTables,
    *,
    units: Collection[datetime | date],
    zone: ZoneInfo | None,
    at: datetime,
) -> PartComparison:
    tables_by_unit = defaultdict(list)
    for hour, table in tables[DataSet.AS_LOGGED]:
        tables_by_unit[_find_unit(hour, zone)].append(cast("GroupCounts", table))
    sums = [GroupCounts.merge(tables_of_unit) for tables_of_unit in tables_by_unit.values()]
    total = GroupCounts.merge(sums)
    members = comparison.members(monitor) if comparison in list_comparisons(monitor) else []
    strictest = find_strictest_limits(members, RATIO)
    limits = (strictest.lower, strictest.upper)
    further = list[Measurement]()
    labelled = {}
    for data, metrics in FURTHER_METRICS.items():
        if not tables[data]:
            continue
        table = merge_tables(data, [table for _, table in tables[data]])
        if isinstance(table, LabelledCells):
            cohort = _count_cohort(table, total)
            table = replace(table, cohort=cohort)
            counts = zip(table.groups, cohort.sum(1).tolist(), strict=False)
            labelled = {group.label: (with_label, records) for group, (records, with_label) in counts}
        further += measure_table(
            data,
            comparison,
            table,
            monitor=monitor,
            at=at,
            metrics=[CATALOGUE[metric] for metric in metrics],
            scopes=frozenset({"group"}),
        )
    return PartComparison(
        comparison=comparison,
        records=CountedRecords.of_table(comparison.label, total, "predictions"),
        limits=limits,
        figures=measure_period(total, sums, limits, empty=len(units) - len(sums)),
        further=further,
        labelled=labelled,
    )


def _count_cohort(labelled: LabelledCells, scored: GroupCounts) -> IntArray:
    """Counts [groups + 1, outcomes, 2] scored records, and those with a label."""
    cohort = labelled.count_labels()
    position_of = {group.label: position for position, group in enumerate(scored.groups)}
    for position, group in enumerate(labelled.groups):
        if group.label in position_of:
            cohort[position, :, 0] = scored.counts[position_of[group.label]]
    return cohort
