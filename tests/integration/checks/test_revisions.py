"""Figures of counterfactual and mitigated data that are null because another model revision answered the records say so."""

import pytest
from syrupy.assertion import SnapshotAssertion

from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, roll_up
from app.domain.check import DataSet, Measurement
from app.domain.mitigation import MitigationSettings
from app.statistics.catalogue import CATALOGUE
from tests.builders.applicants import applicants, monitor_of
from tests.builders.page_words import says
from tests.scenes import HOUR, NOON, Scene

OF_THE_PRESENT = (DataSet.COUNTERFACTUAL, DataSet.MITIGATED, DataSet.MITIGATED_LABELLED)
NEXT = "and the deployment is at model revision '2': the next records of that revision will be compared"
EVERYTHING = tuple(key for key, metric in CATALOGUE.items() if {data.value for data in OF_THE_PRESENT} & set(metric.data))

Key = tuple[str, str, str, str | None]


def nulls(measurements: list[Measurement]) -> dict[Key, str | None]:
    """The reasons by data set, metric, scope and group."""
    mine = [m for m in measurements if m.data in OF_THE_PRESENT and m.value is None]
    return {(m.data.value, m.metric, m.scope.value, m.group): m.reason for m in mine}


def test_where_all_records_are_of_another_revision_every_null_says_so(stage: Scene, snapshot: SnapshotAssertion) -> None:
    stage.watch(monitor_of(metrics=EVERYTHING))
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)
    stage.revise("2")

    found = nulls(stage.check(NOON).measurements)

    assert says(found["counterfactual", "disparate_impact", "group", "female"], "20", "female", "'1'", NEXT)
    assert found["counterfactual", "disparate_impact", "group", "female"] == snapshot
    assert says(found["mitigated", "selection_rate_before", "group", "male"], "20", "male", "'1'", NEXT)
    assert found["mitigated", "selection_rate_before", "group", "male"] == snapshot
    assert says(found["counterfactual", "flip_rate", "attribute", None], "40", "'1'", NEXT)
    assert found["counterfactual", "flip_rate", "attribute", None] == snapshot
    of_labels = found["mitigated_labelled", "accuracy_before", "overall", None]
    assert says(of_labels, "40", "'1'", NEXT)
    assert of_labels == snapshot
    assert {data for data, _, _, _ in found} == {data.value for data in OF_THE_PRESENT}
    assert [key for key, reason in found.items() if not reason or not reason.endswith(NEXT)] == []


@pytest.mark.parametrize("women", [1, 20])
def test_where_only_one_side_is_of_another_revision_it_is_named(stage: Scene, women: int) -> None:
    rows = applicants(20, women, women)
    stage.log([row for row in rows if row["sex"] == "female"], NOON, revision="1")
    stage.revise("2")
    stage.log([row for row in rows if row["sex"] == "male"], NOON)

    result = stage.check(NOON)

    found = nulls(result.measurements)
    who = "all 20 records of female were" if women > 1 else "the only record of female was"
    assert found["counterfactual", "flip_rate", "group", "female"] == f"{who} answered by model revision '1', {NEXT}"
    assert found["mitigated", "disparate_impact_before", "group", "female"] == f"{who} answered by model revision '1', {NEXT}"
    assert result.value("flip_rate", "counterfactual", "sex", "male") == 1


def test_records_that_nobody_classified_are_not_blamed_on_the_others_alone(stage: Scene, snapshot: SnapshotAssertion) -> None:
    rows = applicants(20, 20, 5)
    stage.log(rows[:12], NOON, revision="0")
    stage.revise("2")
    unclassified = [{**row, "prediction": 7} for row in rows[12:]]
    stage.log(unclassified, NOON)

    found = nulls(stage.check(NOON).measurements)

    reason = found["counterfactual", "flip_rate", "group", "male"]
    assert reason is not None
    assert says(reason, "12", "male", "'0'", "'2'")
    assert reason == snapshot
    women = found["counterfactual", "flip_rate", "group", "female"]
    assert women is not None
    assert "revision" not in women


def test_several_revisions_are_named_those_of_most_records_first(stage: Scene, snapshot: SnapshotAssertion) -> None:
    rows = applicants(20, 20, 5)
    for first, revision in ((0, "a"), (4, "b"), (8, "c"), (12, "d")):
        stage.log(rows[first : first + 4] if revision != "d" else rows[first:], NOON, revision=revision)
    stage.revise("2")

    found = nulls(stage.check(NOON).measurements)

    assert says(found["counterfactual", "flip_rate", "attribute", None], "40", "'d'", "'a'", "'b'", NEXT)
    assert found["counterfactual", "flip_rate", "attribute", None] == snapshot


def test_a_day_says_so_too_and_adds_up_the_hours(stage: Scene, snapshot: SnapshotAssertion) -> None:
    stage.revise("2")
    for hour in range(2):
        stage.log(applicants(20, 20, 5, prefix=str(hour)), NOON + hour * HOUR, revision="1")
        stage.check(NOON + hour * HOUR)

    with stage.database.transaction() as session:
        tables = read_summed_tables(session, stage.deployment.no, SeriesFilter(), outcomes=stage.monitor().outcomes, limit=1000)
    day = [figure.measurement for figure in roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings())]

    found = nulls(day)
    assert says(found["counterfactual", "flip_rate", "attribute", None], "80", "'1'", NEXT)
    assert found["counterfactual", "flip_rate", "attribute", None] == snapshot
    assert all(m.value is not None for m in day if m.data is DataSet.AS_LOGGED)
