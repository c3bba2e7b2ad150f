"""The service and the library answer alike: the same outcomes, and null with the same reason."""

from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.base.values import Scalar
from app.database.engine import Database, arrow_reader
from app.domain.monitor import MonitoredAttribute, Outcome, OutcomeRule, build_outcome_test
from app.library.measurements import measure_attributes, measure_frame
from app.sources.arrays.favourable_scores import classify_answers, format_value
from app.sources.stored.record_conditions import RecordFilter, Statement, add_filters
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.outcome_rules import rules, values
from tests.builders.page_words import says
from tests.scenes import NOON, Result, Scene, scene

AGE = MonitoredAttribute(feature="age", monitored=("young",), reference=("old",))


def by_service(database: Database, rows: list[dict[str, Any]], **monitor: Any) -> Result:  # noqa: ANN401 - members of a monitor
    attributes = monitor.pop("attributes", (SEX,))
    stage: Scene = scene(database, APPLICANT, monitor_of(*attributes, **monitor), endpoint=None)
    stage.log(rows, NOON)
    return stage.check(NOON)


def reasons_of_service(result: Result, attribute: str) -> dict[tuple[str, str, str | None], str | None]:
    return {
        (figure.metric, figure.scope.value, figure.group): figure.reason
        for figure in result.measurements
        if figure.data == "as_logged" and figure.attribute == attribute and figure.value is None
    }


def reasons_of_library(rows: list[dict[str, Any]], attribute: str, **arguments: Any) -> dict[tuple[str, str, str | None], str | None]:  # noqa: ANN401
    report = measure_frame(pd.DataFrame(rows), attribute=attribute, prediction="prediction", unfavourable=0, **arguments)
    found = report.to_frame()
    missing = found[found["value"].isna()]
    return {
        (figure.metric, figure.scope, None if pd.isna(figure.group) else figure.group): figure.reason for figure in missing.itertuples()
    }


@pytest.mark.parametrize(
    ("monitored", "reference"),
    [(("femal",), ("male",)), (("female",), ("men",)), (("female", "diverse"), ("male", "none")), (("female", "male"), None)],
)
def test_an_empty_group_is_answered_with_null_and_the_same_reason(
    database: Database, monitored: tuple[str, ...], reference: tuple[str, ...] | None
) -> None:
    rows = applicants(20, 30, 6)
    watched = MonitoredAttribute(feature="sex", monitored=monitored, reference=reference)

    of_service = reasons_of_service(by_service(database, rows, attributes=(watched,)), "sex")
    of_library = reasons_of_library(rows, "sex", monitored=list(monitored), reference=reference and list(reference))

    assert of_service
    shared = of_service.keys() & of_library.keys()
    assert {key: of_library[key] for key in shared} == {key: of_service[key] for key in shared}
    assert not {key for key in of_service if key not in of_library and key[0] in {metric for metric, _, _ in of_library}}


def test_strata_that_are_the_attribute_are_answered_with_null_and_the_same_reason(database: Database, snapshot: SnapshotAssertion) -> None:
    rows = applicants(20, 30, 6)
    metric = "conditional_demographic_disparity_in_predicted_labels"

    result = by_service(database, rows, strata="sex")
    found = result.get(metric, "as_logged", "sex", "female")
    of_library = reasons_of_library(rows, "sex", monitored="female", reference="male", strata="sex")

    assert found.value is None
    assert says(found.reason, "female", "reference", "male")
    assert found.reason == snapshot
    assert of_library[metric, "group", "female"] == found.reason
    assert result.get("disparate_impact", "as_logged", "sex", "female").value is not None


def test_strata_that_are_one_of_several_attributes_divide_the_others() -> None:
    rows = [{**row, "region": "north" if no % 3 else "south"} for no, row in enumerate(applicants(20, 30, 6))]
    reports = measure_attributes(pd.DataFrame(rows), attributes=["sex", "region"], prediction="prediction", strata="region")

    of_metric = "conditional_demographic_disparity_in_predicted_labels"
    frames = {name: report.to_frame() for name, report in reports.items()}
    values_of = {name: frame[(frame["metric"] == of_metric) & frame["worst_of"].notna()]["value"].item() for name, frame in frames.items()}
    assert pd.notna(values_of["sex"])
    assert pd.isna(values_of["region"])


def test_text_under_numeric_outcomes_is_unclassified_in_a_check_and_on_the_pages(database: Database) -> None:
    rows = [
        {**row, "prediction": str(row["prediction"]) if no % 5 == 0 else row["prediction"]} for no, row in enumerate(applicants(40, 40, 10))
    ]

    result = by_service(database, rows)
    library = measure_frame(pd.DataFrame(rows), attribute="sex", prediction="prediction", unfavourable=0, monitored="female")

    assert (result.run.window or {})["unclassified_records"] == 16
    rate = library.to_frame().set_index(["metric", "scope", "group"])["value"]["favourable_rate", "group", "female"]
    assert result.value("favourable_rate", "as_logged", "sex", "female") == pytest.approx(rate, abs=0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values, rule=rules())
def test_the_database_and_the_rule_agree_on_every_value(database: Database, value: Scalar, rule: OutcomeRule) -> None:
    """Of values as they are stored: whole numbers without a fraction."""
    expected = rule.classify(value)
    tests = {"favourable": build_outcome_test(rule.favourable), "unfavourable": build_outcome_test(rule.unfavourable)}
    record = "SELECT CAST(NULL AS jsonb) AS label, CAST(:value AS jsonb) AS prediction"

    answers = {}
    with database.transaction() as session:
        for outcome in Outcome:
            statement = Statement()
            add_filters(statement, RecordFilter(**tests, outcome=outcome.name.lower()))
            statement.add("true", value=format_value(value))
            query = text(f"SELECT count(*) FROM ({record}) r WHERE {statement.where}")  # noqa: S608 - nothing of it was sent
            answers[outcome] = session.execute(query, asdict(statement)["values"]).scalar_one() == 1
    with arrow_reader(database) as reader:
        stored = reader.table("SELECT $1::text::jsonb::text AS outcome", [format_value(value)])["outcome"]

    assert answers == {outcome: outcome is expected for outcome in Outcome}
    assert classify_answers(stored, rule).tolist() == [int(expected)]
