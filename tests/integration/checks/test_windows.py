from dataclasses import replace
from datetime import timedelta

import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import LeaseLost
from app.deployments.queries import Deployments, build_definition
from app.domain.check import Trigger
from tests.builders.applicants import applicants, monitor_of
from tests.builders.figures import left_out_of
from tests.builders.page_words import says
from tests.models.serving import ModelServer
from tests.scenes import HOUR, NOON, PlainSealer, Scene


def test_records_of_the_hour_are_topped_up_with_the_newest_before_until_the_minimum_is_met(stage: Scene) -> None:
    stage.log(applicants(50, 50, prefix="old"), NOON - 5 * HOUR)
    stage.log(applicants(2, 2, prefix="earlier"), NOON - HOUR)
    stage.log(applicants(1, 2, prefix="now"), NOON + timedelta(minutes=59))

    window = stage.check(NOON).run.window

    assert window is not None
    assert (window["records"], window["additional_records"]) == (3, 7)
    assert window["oldest_record_at"] == (NOON - 5 * HOUR).isoformat()
    assert window["newest_record_at"] == (NOON + timedelta(minutes=59)).isoformat()


def test_records_logged_at_the_end_of_the_span_belong_to_the_next_hour(stage: Scene) -> None:
    stage.log(applicants(20, 20), NOON)
    stage.log(applicants(20, 20, prefix="next"), NOON + HOUR)

    assert stage.check(NOON).get("favourable_rate", "as_logged", "sex", "male").n == 20


def test_too_few_records_end_as_insufficient_data_with_counts_and_no_metric(
    stage: Scene, server: ModelServer, snapshot: SnapshotAssertion
) -> None:
    stage.log(applicants(4, 5), NOON)

    result = stage.check(NOON)

    assert result.run.state == "insufficient_data"
    assert says(result.run.reason, "9", "10")
    assert result.run.reason == snapshot
    assert result.run.window is not None
    assert result.run.window["records"] == 9
    assert result.measurements == []
    assert server.counts.rows == 0


def test_with_nothing_logged_since_the_last_check_its_values_are_carried_forward_and_marked(stage: Scene, server: ModelServer) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    first = stage.check(NOON, trigger=Trigger.SCHEDULE)
    asked = server.counts.rows
    second = stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)
    third = stage.check(NOON + 2 * HOUR, trigger=Trigger.SCHEDULE)

    assert [m.value for m in third.measurements] == [m.value for m in first.measurements]
    assert all(m.carried_forward and m.at == NOON + 3 * HOUR for m in third.measurements)
    assert not any(m.carried_forward for m in first.measurements)
    assert third.run.window is not None
    assert (third.run.window["records"], third.run.window["carried_from"]) == (0, first.run.id)
    assert (second.tables, third.tables) == ([], [])
    assert server.counts.rows == asked


@pytest.mark.parametrize("change", ["payload", "label", "monitor"])
def test_nothing_is_carried_forward_over_a_new_record_a_new_label_or_a_changed_monitor(stage: Scene, change: str) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    match change:
        case "payload":
            stage.log(applicants(1, 0, prefix="new"), NOON + HOUR)
        case "label":
            stage.label([("3", 0)], NOON + HOUR)
        case "monitor":
            stage.watch(monitor_of(min_records=20))

    result = stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)

    assert not any(m.carried_forward for m in result.measurements)
    assert result.tables


def test_a_range_that_somebody_asked_for_is_always_computed(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON)

    assert stage.check(NOON + HOUR, trigger=Trigger.RANGE).tables


def test_a_missing_or_other_value_takes_no_part_and_is_counted(stage: Scene) -> None:
    others = [{**row, "sex": sex, "id": f"other{sex}{no}"} for sex in (None, "x") for no, row in enumerate(applicants(3, 0))]
    stage.log(applicants(20, 20, 5) + others, NOON)

    result = stage.check(NOON)

    assert result.get("disparate_impact", "as_logged", "sex", "female").n == 40
    assert result.run.window is not None
    text = "40 of 46 records counted; left out: sex unknown 3, sex in no group 3."
    assert left_out_of(result)["as_logged"]["sex"]["text"] == text


def test_unclassified_predictions_are_left_out_of_every_rate_and_counted(stage: Scene, server: ModelServer) -> None:
    unclassified = [{**row, "prediction": 7, "id": f"u{no}"} for no, row in enumerate(applicants(5, 5))]
    stage.log(applicants(20, 20, 5) + unclassified, NOON)

    result = stage.check(NOON)

    assert result.get("favourable_rate", "as_logged", "sex", "female").n == 20
    assert server.counts.rows == 40 + 2
    assert result.run.window is not None
    assert result.run.window["unclassified_records"] == 10


def test_a_check_whose_lease_was_lost_stores_nothing(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)

    def steal(_: object) -> None:
        with stage.database.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE checks SET lease_token = 'another worker'")

    stage.report = steal

    with pytest.raises(LeaseLost):
        stage.check(NOON)
    assert [stage.count(table) for table in ("counterfactuals", "copy_targets", "check_tables", "measurements")] == [0, 0, 0, 0]


def test_a_range_that_somebody_asked_for_is_never_carried_into_the_hourly_series(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5, prefix="old"), NOON - 24 * HOUR)
    stage.log(applicants(20, 20, 10), NOON)
    hourly = stage.check(NOON, trigger=Trigger.SCHEDULE)
    stage.check(NOON - 24 * HOUR, NOON + HOUR)

    carried = stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)

    assert carried.run.window is not None
    assert carried.run.window["carried_from"] == hourly.run.id
    assert carried.get("disparate_impact", "as_logged", "sex", "female").n == 40


@pytest.mark.parametrize("change", ["schema", "endpoint"])
def test_nothing_is_carried_forward_over_a_changed_schema_or_endpoint(stage: Scene, change: str) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON, trigger=Trigger.SCHEDULE)
    definition = build_definition(stage.deployment)
    changed = replace(definition, endpoint=None) if change == "endpoint" else replace(definition, features=definition.features[:2])
    with stage.database.transaction() as session:
        Deployments(session, PlainSealer()).change(stage.deployment, changed)

    result = stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)

    assert not any(m.carried_forward for m in result.measurements)
    assert result.run.state == ("insufficient_data" if change == "schema" else "succeeded")
