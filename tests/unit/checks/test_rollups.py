from datetime import UTC, datetime, timedelta

from app.checks.days.measurement_queries import HourTable
from app.checks.days.roll_up import Period, roll_up
from app.domain.check import DataSet
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import Comparison, Monitor, MonitoredAttribute, OutcomeRule
from app.statistics.group_labels import Role
from app.statistics.tables.count_table import GroupCounts

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def hour(number: int, *groups: tuple[str, Role]) -> HourTable:
    """A table of sex and race together in one hour, one record of either outcome in each group."""
    counts = GroupCounts.from_records(groups, [*range(len(groups))] * 2, outcome=[0] * len(groups) + [1] * len(groups))
    return HourTable(NOON + timedelta(hours=number), DataSet.AS_LOGGED, Comparison(("sex", "race")), counts.to_json())


def test_hours_divided_into_other_groups_are_in_no_roll_up_also_where_the_reference_is_left_out() -> None:
    """The first hour watched women, the second watches X; their sum would show groups that nobody watches any more."""
    former = hour(0, ("F × B", "monitored"), ("F × W", "monitored"), ("M × B", "monitored"), ("M × W", "reference"))
    present = hour(1, ("X × B", "monitored"), ("X × W", "monitored"), ("M × B", "monitored"), ("M × W", "reference"))
    monitor = Monitor(
        outcomes=OutcomeRule(favourable=("1",), unfavourable=("0",)),
        attributes=(
            MonitoredAttribute(feature="sex", monitored=("X",)),
            MonitoredAttribute(feature="race", monitored=("B",), reference=("W",)),
        ),
        intersections=(("sex", "race"),),
    )

    results = roll_up([former, present], Period.DAY, monitor, MitigationSettings())

    assert results
    assert {result.hours for result in results} == {1}
    assert {result.measurement.group for result in results} == {None, "X × B", "X × W", "M × B", "M × W"}
