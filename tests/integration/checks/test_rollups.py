from dataclasses import replace
from datetime import timedelta

import pytest

from app.base.values import Range
from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, find_period_start, roll_up
from app.domain.check import DataSet, Trigger
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import MonitoredAttribute, OutcomeRule
from tests.builders.applicants import SEX, applicants, monitor_of
from tests.scenes import HOUR, NOON, Scene


def rolled(stage: Scene, period: Period, metric: str, data: DataSet = DataSet.AS_LOGGED) -> list[tuple[float | None, int, int]]:
    """(value, n, hours) of the women's metric in each period."""
    with stage.database.transaction() as session:
        tables = read_summed_tables(session, stage.deployment.no, SeriesFilter(data=data), outcomes=stage.monitor().outcomes, limit=1000)
    found = [(r.hours, r.measurement) for r in roll_up(tables, period, stage.monitor(), MitigationSettings())]
    return [(m.value, m.n, hours) for hours, m in found if (m.metric, m.group) == (metric, "female")]


def test_a_day_is_computed_from_its_hours_counts_and_not_from_their_ratios(stage: Scene) -> None:
    stage.log(applicants(20, 20, 2), NOON)
    stage.log(applicants(10, 60, 30, prefix="b"), NOON + HOUR)
    for hour in range(2):
        stage.check(NOON + hour * HOUR)

    assert rolled(stage, Period.DAY, "disparate_impact") == [(pytest.approx(32 / 80), 110, 2)]
    assert rolled(stage, Period.DAY, "disparate_impact", DataSet.COUNTERFACTUAL) == [(pytest.approx(32 / 110), 110, 2)]


def test_records_added_from_earlier_hours_are_counted_once(stage: Scene) -> None:
    stage.watch(monitor_of(min_records=30))
    stage.log(applicants(20, 20, 2), NOON)
    stage.log(applicants(1, 1, prefix="b"), NOON + HOUR)
    for hour in range(2):
        stage.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE)

    assert rolled(stage, Period.DAY, "favourable_rate") == [(pytest.approx(2 / 21), 21, 2)]


def test_a_day_says_which_logged_labelled_and_counterfactual_records_it_counts(stage: Scene) -> None:
    rows = applicants(20, 20, 2)
    stage.log([*rows, rows[0] | {"id": "unlisted", "prediction": 7}, rows[0] | {"id": "nobody", "sex": None}], NOON)
    stage.log(applicants(5, 5, prefix="old"), NOON, revision="0")
    stage.label([(row["id"], 7 if row["id"] in {"0", "1"} else row["prediction"]) for row in rows], NOON + HOUR / 2)
    result = stage.check(NOON)

    with stage.database.transaction() as session:
        tables = read_summed_tables(session, stage.deployment.no, SeriesFilter(), outcomes=stage.monitor().outcomes, limit=1000)
    records = {r.measurement.data: r.records for r in roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings())}
    lines = {data: counted.text for data, counted in records.items() if counted is not None}

    assert lines[DataSet.AS_LOGGED].startswith("50 of 52 records counted; left out: ")
    assert lines[DataSet.LABELLED] == "38 of 40 records counted; left out: label in neither outcome list 2 (male 2)."
    in_check = result.run.window["left_out"]["counterfactual"]["sex"]
    counterfactual = records[DataSet.COUNTERFACTUAL]
    assert counterfactual is not None
    assert (counterfactual.counted, counterfactual.of) == (in_check["counted"], in_check["of"]) == (40, 52)
    assert "not answered by the model 10 (female 5, male 5)" in counterfactual.text


@pytest.mark.nightly
def test_a_second_check_of_the_same_hour_and_checks_of_other_spans_count_nothing_twice(stage: Scene) -> None:
    stage.log(applicants(20, 20, 2), NOON)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    stage.check(NOON)
    stage.check(NOON, NOON + timedelta(minutes=30))
    stage.check(NOON - 5 * HOUR, NOON + 5 * HOUR)

    assert rolled(stage, Period.DAY, "favourable_rate") == [(0.1, 20, 1)]


def test_hours_without_records_do_not_hide_those_that_have_some(stage: Scene) -> None:
    stage.log(applicants(20, 20, 2), NOON)
    for hour in range(3):
        stage.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE)

    assert rolled(stage, Period.WEEK, "favourable_rate") == [(0.1, 20, 1)]


def test_periods_start_at_midnight_on_monday_and_on_the_first() -> None:
    sunday_night = NOON + timedelta(days=6, hours=11)

    assert [find_period_start(sunday_night, period).isoformat()[:13] for period in Period] == [
        "2026-03-08T00",
        "2026-03-02T00",
        "2026-03-01T00",
    ]


def test_hours_counted_under_other_favourable_outcomes_are_left_out(stage: Scene) -> None:
    stage.log(applicants(20, 20, 2), NOON)
    stage.log(applicants(10, 20, 5, prefix="b"), NOON + HOUR)
    stage.check(NOON)
    stage.watch(replace(stage.monitor(), outcomes=OutcomeRule(favourable=(0,), unfavourable=(1,))))
    stage.check(NOON + HOUR)

    assert rolled(stage, Period.DAY, "favourable_rate") == [(0.75, 20, 1)]


def test_hours_of_other_groups_are_left_out(stage: Scene) -> None:
    ages = MonitoredAttribute(feature="age", monitored=(Range(18, 39),), reference=(Range(40, 75),))
    stage.watch(monitor_of(SEX, ages, intersections=(("sex", "age"),)))
    stage.log(applicants(40, 40, 2), NOON)
    stage.log(applicants(40, 40, 5, prefix="b"), NOON + HOUR)
    stage.check(NOON)
    changed = replace(ages, monitored=(Range(18, 44),), reference=(Range(45, 75),))
    stage.watch(monitor_of(SEX, changed, intersections=(("sex", "age"),)))
    stage.check(NOON + HOUR)

    with stage.database.transaction() as session:
        tables = read_summed_tables(
            session, stage.deployment.no, SeriesFilter(data=DataSet.AS_LOGGED), outcomes=stage.monitor().outcomes, limit=99
        )
    hours = {
        (r.measurement.attribute, r.measurement.group): r.hours for r in roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings())
    }

    assert hours["sex", "female"] == 2
    assert hours["age", "18-44"] == hours["sex × age", "female × 18-44"] == 1
    assert ("age", "18-39") not in hours
