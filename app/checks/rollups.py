"""Days, weeks and months, computed from the hours' count tables and never from averages of ratios."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby

from app.checks.measuring import measure_table
from app.checks.tabulation import TABLE_TYPES, merged
from app.domain.checks import Measurement
from app.domain.monitors import Monitor
from app.store.measurements import HourTable


class Period(StrEnum):
    """The length of a roll-up's points, in UTC; weeks start on Monday (ISO 8601)."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class RolledUp:
    """One measurement of a period, and how many checked hours it sums up. Its moment is the period's start."""

    hours: int
    measurement: Measurement


def roll_up(tables: Sequence[HourTable], period: Period, monitor: Monitor) -> list[RolledUp]:
    """Every metric of every period that has a checked hour, oldest period first, under the monitor's present limits."""
    ordered = sorted(tables, key=lambda table: (period_start(table.hour, period), table.data, table.attribute))
    groups = groupby(ordered, key=lambda table: (period_start(table.hour, period), table.data, table.attribute))
    return [result for (start, _data, _attribute), members in groups for result in _measured(start, list(members), monitor)]


def period_start(hour: datetime, period: Period) -> datetime:
    """The start of the period that an hour (aware, UTC) lies in."""
    day = hour.replace(hour=0)
    match period:
        case Period.DAY:
            return day
        case Period.WEEK:
            return day - timedelta(days=day.weekday())
        case Period.MONTH:
            return day.replace(day=1)


def _measured(start: datetime, tables: Sequence[HourTable], monitor: Monitor) -> Iterable[RolledUp]:
    first = tables[0]
    whole = merged(first.data, [TABLE_TYPES[table.data].from_json(table.cells) for table in tables])
    hours = len({table.hour for table in tables})
    return (RolledUp(hours, measurement) for measurement in measure_table(first.data, first.attribute, whole, monitor=monitor, at=start))
