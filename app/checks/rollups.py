"""Days, weeks and months, computed from the hours' count tables and never from averages of ratios."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, product
from typing import cast

from app.checks.measuring import measure_table
from app.checks.revisions import explained
from app.checks.tabulation import EVERYBODY, MITIGATED, STRATA_OF, TABLE_TYPES, Table, data_measured_on, merged, stored_revisions
from app.domain.checks import Measurement
from app.domain.mitigation import MitigationSettings
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.texts import TOGETHER
from app.domain.values import label_of
from app.metrics.tables import FeedbackCells, GroupCounts
from app.store.measurements import HourTable

OTHER_STRATA = "none of the hours was checked with {column} as the column of the strata; ask for checks of them again"


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


def roll_up(tables: Sequence[HourTable], period: Period, monitor: Monitor, settings: MitigationSettings) -> list[RolledUp]:
    """Every metric of every period that has a checked hour, oldest period first, under the monitor's present limits.

    Tables of attributes that are watched no more, or were divided into other groups, are left out: their sum with the present
    ones would compare nobody with anybody. So are tables of outcomes that were mitigated in another way than the present one.
    """
    present = [
        table
        for table in tables
        if _is_of_present_groups(table, monitor) and table.cells.get(MITIGATED) in (None, settings.way_of(table.attribute))
    ]
    ordered = sorted(present, key=lambda table: (period_start(table.hour, period), table.data, table.attribute))
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


def _is_of_present_groups(table: HourTable, monitor: Monitor) -> bool:
    names = {TOGETHER.join(features): features for features in monitor.intersections}.get(table.attribute, (table.attribute,))
    members = [attribute for name in names for attribute in monitor.attributes if attribute.feature == name]
    if table.attribute == EVERYBODY:
        return True
    if len(members) != len(names):
        return False
    counted = {(label, role) for label, role in cast("list[tuple[str, str]]", table.cells["groups"])}
    if any(member.reference is None for member in members):
        return _fit(counted, members)
    combinations = product(*(_named_groups(member) for member in members))
    return counted == {
        (TOGETHER.join(label for label, _ in groups), "reference" if all(role == "reference" for _, role in groups) else "monitored")
        for groups in combinations
    }


def _of_present_strata(table: HourTable, monitor: Monitor) -> dict[str, object]:
    """The cells, without strata by another column than the monitor's."""
    is_alike = monitor.strata is not None and table.cells.get(STRATA_OF) == monitor.strata
    return {name: part for name, part in table.cells.items() if name != "strata" or is_alike}


def _fit(counted: set[tuple[str, str]], members: Sequence[MonitoredAttribute]) -> bool:
    """Whether groups, some of whose reference is whatever was seen, are divided as the members divide them now.

    Every monitored value stands among them, and a combination is reference exactly if none of its values is monitored.
    """
    monitored = [{label_of(value) for value in member.monitored} for member in members]
    found: list[set[str]] = [set() for _ in members]
    for label, role in counted:
        parts = label.split(TOGETHER) if len(members) > 1 else [label]
        if len(parts) != len(members):
            return False
        for seen, part in zip(found, parts, strict=True):
            seen.add(part)
        is_monitored = any(part in values for part, values in zip(parts, monitored, strict=True))
        if is_monitored != (role == "monitored"):
            return False
    listed = [None if member.reference is None else {label_of(value) for value in member.reference} for member in members]
    sides = zip(found, monitored, listed, strict=True)
    return all(values <= seen and (others is None or seen == values | others) for seen, values, others in sides)


def _named_groups(attribute: MonitoredAttribute) -> list[tuple[str, str]]:
    monitored = [(label_of(value), "monitored") for value in attribute.monitored]
    return [*monitored, *((label_of(value), "reference") for value in attribute.reference or ())]


def _measured(start: datetime, tables: Sequence[HourTable], monitor: Monitor) -> Iterator[RolledUp]:
    first = tables[0]
    whole = merged(first.data, [TABLE_TYPES[table.data].from_json(_of_present_strata(table, monitor)) for table in tables])
    hours = len({table.hour for table in tables})
    lacking = {"strata": OTHER_STRATA.format(column=monitor.strata)} if _has_none_of_present_strata(whole, monitor) else {}
    others = stored_revisions(table.cells for table in tables)
    for data in data_measured_on(first.data):
        measured = measure_table(data, first.attribute, whole, monitor=monitor, at=start, lacking=lacking)
        for measurement in explained(measured, whole.groups, others):
            yield RolledUp(hours, measurement)


def _has_none_of_present_strata(table: Table, monitor: Monitor) -> bool:
    return monitor.strata is not None and isinstance(table, GroupCounts | FeedbackCells) and table.strata is None
