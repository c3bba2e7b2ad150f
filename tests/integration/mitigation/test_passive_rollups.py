"""Days of mitigation: by attribute, and only of hours that were mitigated in the present mode."""

from dataclasses import replace

import pytest

from app.base.values import Range
from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, RolledUp, roll_up
from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.deployment import Endpoint
from app.domain.mitigation import MitigationSettings, Mode
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR, everybody, use
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Scene, scene

INCOME = MonitoredAttribute(feature="income", monitored=(Range(40, 49.9),), reference=(Range(50, 60),))


def day(stage: Scene, mode: Mode) -> list[RolledUp]:
    with stage.database.transaction() as session:
        tables = read_summed_tables(session, stage.deployment.no, SeriesFilter(), outcomes=stage.monitor().outcomes, limit=1000)
    return roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings(mode=mode))


def overall(found: list[RolledUp], attribute: str, metric: str) -> tuple[int, float | None, int]:
    (one,) = (
        figure
        for figure in found
        if (figure.measurement.metric, figure.measurement.attribute, figure.measurement.scope) == (metric, attribute, "overall")
        and figure.measurement.data is DataSet.MITIGATED_LABELLED
    )
    return one.hours, one.measurement.value, one.measurement.n


@pytest.mark.nightly
def test_a_day_sums_what_each_attribute_changed_for_everybody_over_the_hours_of_the_present_mode(database: Database) -> None:
    outcomes = OutcomeRule(favourable=(1,), unfavourable=(0,))
    monitor = Monitor(outcomes=outcomes, attributes=(HOUSING, INCOME), min_records=20)
    rows = [row for row in everybody() if row["housing"] != "boat"]
    with serve(UNFAIR) as server:
        stage = scene(database, COLUMNS, monitor, endpoint=Endpoint(url=server.url))
        for hour in range(3):
            use(stage, MitigationSettings(mode=Mode.LIFT_ONLY if hour else Mode.REFERENCE_SUBSTITUTION))
            mine = [{**row, "id": f"{hour}-{place}"} for place, row in enumerate(rows)]
            stage.log(mine, NOON + hour * HOUR)
            stage.label([(row["id"], 1) for row in mine], NOON + hour * HOUR + HOUR / 2)
            stage.check(NOON + hour * HOUR)

    found = day(stage, Mode.LIFT_ONLY)
    favourable = sum(row["prediction"] for row in rows)
    n = 2 * len(rows)
    # The 28 that mitigation by housing lifts are right, for every label is 1; and so for income.
    assert overall(found, "housing", "accuracy_before") == (2, pytest.approx(favourable / len(rows)), n)
    assert overall(found, "housing", "accuracy_after") == (2, pytest.approx((favourable + 28) / len(rows)), n)
    _, by_income, _ = overall(found, "income", "accuracy_after")
    assert by_income is not None
    assert by_income != pytest.approx((favourable + 28) / len(rows))
    assert {figure.hours for figure in found if figure.measurement.data is DataSet.MITIGATED} == {2}
    assert {figure.hours for figure in found if figure.measurement.data is DataSet.AS_LOGGED} == {3}
    lines = {(figure.measurement.data, figure.measurement.attribute): figure.records.text for figure in found if figure.records is not None}
    # The first hour was mitigated in another way.
    other = f"{n} of {3 * len(rows)} records counted; left out: no outcome of this mitigation {len(rows)} ("
    for data in (DataSet.MITIGATED, DataSet.MITIGATED_LABELLED):
        assert lines[data, "housing"].startswith(other)
    assert overall(day(stage, Mode.REFERENCE_SUBSTITUTION), "housing", "accuracy_before")[0] == 1
    stage.watch(replace(monitor, attributes=(INCOME,)))
    assert {figure.measurement.attribute for figure in day(stage, Mode.LIFT_ONLY) if figure.measurement.data is DataSet.MITIGATED} == {
        "income"
    }
