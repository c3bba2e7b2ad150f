"""Rolls figures up to days, weeks and months, from the hours' count tables, never from averages of ratios.

Days that are over are added up, so that a year is read as 366 rows. A change of a day's check deletes the
sums in its own transaction (a trigger, migration 0046), and the day is added up again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from itertools import groupby
from typing import cast

import structlog
from sqlalchemy.orm import Session

from ...base.values import frozen, name_value
from ...domain.check import DataSet, Measurement
from ...domain.groups import GroupWords
from ...domain.mitigation import MitigationSettings
from ...domain.monitor import Comparison, Monitor, list_comparisons, split_group
from ...statistics.sentences.left_out import CountedRecords
from ...statistics.tables.count_table import GroupCounts, LabelledCells
from ..counting.left_out_of_check import leave_out_unanswered
from ..counting.other_revisions import OTHER_REVISIONS, merge_revisions
from ..counting.tabulate import (
    EVERYBODY,
    LOGGED_AS,
    MITIGATED,
    STRATA_OF,
    TABLE_TYPES,
    Table,
    list_measured_data,
    merge_tables,
)
from ..measure import measure_table
from .day_queries import lock_changed_day, postpone_day, store_day_of_checks
from .measurement_queries import DayTable, HourTable, read_day_tables, store_day_tables

OTHER_STRATA = (
    "none of the hours was checked with {column} as the column of the strata; ask for checks of them again"
)

QUIET_TIME = timedelta(minutes=5)
"""Time without a change of a day's checks after which the day is added up."""

log = structlog.get_logger(__name__)


class Period(StrEnum):
    """The length of a roll-up's points, in UTC; weeks start on Monday (ISO 8601)."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@frozen
class RolledUp:
    """A figure of a period of `hours` checked hours, at the period's start.

    `records` are those of the hours' windows; None for counterfactual and mitigated figures without the
    logged tables.
    """

    hours: int
    measurement: Measurement
    records: CountedRecords | None = field(compare=False)


def roll_up(
    tables: Sequence[HourTable],
    period: Period,
    monitor: Monitor,
    settings: MitigationSettings,
    *,
    scopes: frozenset[str] | None = None,
) -> list[RolledUp]:
    """Measures every metric of every period with a checked hour, oldest first, by the present limits.

    `scopes` None: all figures. Left out are tables of attributes no longer watched or divided otherwise, and
    of other mitigation: their sum would compare unlike groups.
    """
    # Most days have the same groups.
    is_of_present_groups = cache(partial(_is_of_present_groups, monitor=monitor))
    comparable = [
        table
        for table in sum_days(tables)
        if is_of_present_groups(table.comparison, tuple(map(tuple, table.cells["groups"])))
        and table.cells.get(MITIGATED) in (None, settings.mode)
    ]

    def make_point_key(table: HourTable) -> tuple[datetime, DataSet, tuple[str, ...]]:
        return find_period_start(table.hour, period), table.data, table.comparison.features

    def add_up(source: DataSet, sums: Sequence[HourTable]) -> Table:
        counts = [
            _read_table(
                table, has_strata=monitor.strata is not None and table.cells.get(STRATA_OF) == monitor.strata
            )
            for table in sums
        ]
        return counts[0] if len(counts) == 1 else merge_tables(source, counts)

    results = []
    names = GroupWords.of(monitor)
    comparable.sort(key=make_point_key)
    points = {key: list(sums) for key, sums in groupby(comparable, key=make_point_key)}
    for (start, source, features), sums in points.items():
        total = add_up(source, sums)
        has_no_strata = (
            monitor.strata is not None
            and isinstance(total, GroupCounts | LabelledCells)
            and total.strata is None
        )
        lacking = {"strata": OTHER_STRATA.format(column=monitor.strata)} if has_no_strata else {}
        other_revisions = merge_revisions(table.cells for table in sums)
        hours = sum(table.hours for table in sums)
        label = Comparison(features).label
        records = None
        if isinstance(total, GroupCounts | LabelledCells):
            answers = "predictions" if isinstance(total, GroupCounts) else None
            records = CountedRecords.of_table(label, total, answers)
        elif (start, LOGGED_AS[source], features) in points:
            logged = add_up(LOGGED_AS[source], points[start, LOGGED_AS[source], features])
            logged_records = CountedRecords.of_table(label, cast("GroupCounts | LabelledCells", logged), None)
            if logged_records.groups == total.groups:
                records = leave_out_unanswered(logged_records, total)
        for data in list_measured_data(source):
            measurements = measure_table(
                data,
                Comparison(features),
                total,
                monitor=monitor,
                at=start,
                lacking=lacking,
                scopes=scopes,
                other_revisions=other_revisions,
            )
            named = records.named(names.label) if records else None
            results += [RolledUp(hours, measurement, named) for measurement in measurements]
    return results


def sum_days(tables: Iterable[HourTable]) -> list[HourTable]:
    """Adds up consecutive hours of a day that were counted alike; oldest first by data and comparison.

    Every period comes from these sums: sums of weights depend on their order in the last digit.
    """

    def make_sum_key(table: HourTable) -> tuple[object, ...]:
        # What decides later whether a table or its strata count is alike in all of a sum.
        counting = (table.cells.get(STRATA_OF), table.cells.get(MITIGATED), OTHER_REVISIONS in table.cells)
        return table.data, table.comparison.features, table.hour.date(), table.cells["groups"], *counting

    sums = []
    ordered = sorted(tables, key=lambda table: (table.data, table.comparison.features, table.hour))
    for _, summands in groupby(ordered, key=make_sum_key):
        alike = list(summands)
        first = alike[0]
        if len(alike) == 1:
            sums.append(first)
            continue
        total = merge_tables(first.data, [_read_table(table, has_strata=True) for table in alike])
        cells = total.to_json() | {
            name: first.cells[name] for name in (STRATA_OF, MITIGATED) if name in first.cells
        }
        other_revisions = merge_revisions(table.cells for table in alike)
        if other_revisions:
            cells[OTHER_REVISIONS] = other_revisions.to_json()
        sums.append(replace(first, cells=cells, hours=sum(table.hours for table in alike)))
    return sums


def _read_table(table: HourTable, *, has_strata: bool) -> Table:
    cells = table.cells
    if not has_strata:
        cells = {name: counts for name, counts in cells.items() if name != "strata"}
    return TABLE_TYPES[table.data].from_json(cells)


def find_period_start(hour: datetime, period: Period) -> datetime:
    day = hour.replace(hour=0)
    match period:
        case Period.DAY:
            return day
        case Period.WEEK:
            return day - timedelta(days=day.weekday())
        case Period.MONTH:
            return day.replace(day=1)


def _is_of_present_groups(
    comparison: Comparison, labels_and_roles: Sequence[tuple[str, str]], monitor: Monitor
) -> bool:
    """Whether the groups of a table are those of the present monitor.

    Without a listed reference, a combination is a reference exactly if none of its values is monitored.
    """
    if comparison == EVERYBODY:
        return True
    if comparison not in list_comparisons(monitor):
        return False
    attributes = comparison.members(monitor)
    monitored = [{name_value(value) for value in attribute.monitored} for attribute in attributes]
    counted: list[set[str]] = [set() for _ in attributes]
    for label, role in labels_and_roles:
        # Where values hold the sign that joins them, a label can be divided in several ways; the role
        # decides.
        group_values = next(
            (
                division
                for division in split_group(label, attributes)
                if (role == "monitored")
                == any(value in values for value, values in zip(division, monitored, strict=True))
            ),
            None,
        )
        if group_values is None:
            return False
        for counted_values, group_value in zip(counted, group_values, strict=True):
            counted_values.add(group_value)
    for attribute, counted_values, monitored_values in zip(attributes, counted, monitored, strict=True):
        if not monitored_values <= counted_values:
            return False
        if attribute.reference is not None:
            reference_values = {name_value(value) for value in attribute.reference}
            if counted_values != monitored_values | reference_values:
                return False
    return True


def add_up_next_day(session: Session, *, now: datetime, quiet_time: timedelta = QUIET_TIME) -> bool:
    """Adds up the ended day that changed first; returns whether there was one.

    Never waits for another transaction: a day being written to is left to a later call, and so is a day with
    an unreadable count table, lest it hold up all others.
    """
    changed = lock_changed_day(session, before=now - quiet_time, today=now)
    if changed is None:
        return False
    sums = []
    try:
        tables = read_day_tables(session, changed.deployment_no, changed.day)
        for outcomes, day_tables in groupby(tables, key=lambda table: table.outcomes):
            sums += [DayTable(outcomes, table) for table in sum_days(table for _, table in day_tables)]
    except (KeyError, TypeError, ValueError) as error:
        log.warning(
            "day_not_added_up",
            deployment_no=changed.deployment_no,
            day=changed.day.isoformat(),
            error=repr(error),
        )
        postpone_day(session, changed)
        return True
    store_day_tables(session, changed.deployment_no, changed.day, sums)
    store_day_of_checks(session, changed.deployment_no, changed.day)
    return True
