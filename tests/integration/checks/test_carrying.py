"""When figures are carried forward, and when a check looks for itself, whatever the times and numbers of what was logged since."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, roll_up
from app.deployments.queries import Deployments, build_definition
from app.domain.check import CheckRun, DataSet, Progress, Trigger
from app.domain.deployment import Endpoint
from app.domain.mitigation import MitigationSettings
from tests.builders.applicants import applicants, monitor_of
from tests.connections import connect
from tests.models.serving import ModelServer
from tests.scenes import HOUR, NOON, PlainSealer, Result, Scene

MINUTE = timedelta(minutes=1)
NOW, HOURLY = Trigger.REQUEST, Trigger.SCHEDULE


def is_carried(result: Result) -> bool:
    """Whether the check carried figures forward; it must say so of all of them, or of none."""
    told = {result.run.carried_from is not None, *(figure.carried_forward for figure in result.measurements)}
    assert len(told) == 1
    return told.pop()


def window(run: CheckRun) -> dict[str, object]:
    assert run.window is not None
    return run.window


def women(result: Result) -> tuple[float, int]:
    """The disparate impact of the women and of how many records it is."""
    one = result.get("disparate_impact", "as_logged", "sex", "female")
    assert one.value is not None
    return one.value, one.n


def alter(stage: Scene, statement: str) -> None:
    with connect(stage.database.url) as connection:
        connection.execute(statement)


def as_range(stage: Scene, result: Result) -> Result:
    """A check that somebody asks for of the same span, which always looks for itself."""
    return stage.check(result.run.span.start, result.run.span.end)


@pytest.mark.parametrize(("trigger", "end"), [(NOW, 10 * MINUTE), (HOURLY, HOUR)])
@pytest.mark.nightly
def test_records_imported_into_earlier_hours_are_in_the_next_check(stage: Scene, trigger: Trigger, end: timedelta) -> None:
    stage.watch(monitor_of(min_records=40))
    stage.log(applicants(20, 20, 20, prefix="fair"), NOON - 4 * HOUR)
    first = stage.check(NOON, NOON + 5 * MINUTE, NOW)
    stage.log(applicants(20, 20, 4, prefix="unfair"), NOON - 2 * HOUR)
    second = stage.check(NOON, NOON + end, trigger)

    assert women(first) == (1.0, 40)
    assert not is_carried(second)
    assert women(second) == women(as_range(stage, second)) == (0.2, 40)
    assert is_carried(stage.check(NOON, NOON + HOUR, trigger=NOW))


@pytest.mark.parametrize("trigger", [NOW, HOURLY])
def test_labels_imported_into_earlier_hours_are_in_the_next_check(stage: Scene, trigger: Trigger) -> None:
    stage.log(applicants(20, 20, 5), NOON - 2 * HOUR)
    stage.check(NOON, NOON + 5 * MINUTE, NOW)
    stage.label([("1", 1), ("2", 0)], NOON - HOUR)

    second = stage.check(NOON, NOON + HOUR, trigger)

    assert not is_carried(second)
    assert second.get("accuracy", "labelled").n == 2


def test_a_record_of_a_lower_number_that_was_committed_later_is_not_overlooked(stage: Scene) -> None:
    stage.number_from(5_000)
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON, NOON + 30 * MINUTE, NOW)
    stage.number_from(1)
    stage.log(applicants(0, 3, prefix="late"), NOON + 29 * MINUTE)

    second = stage.check(NOON, NOON + 40 * MINUTE, NOW)

    assert not is_carried(second)
    assert women(second)[1] == 43


@pytest.mark.thorough
def test_what_is_committed_while_a_check_computes_is_new_to_the_next_one(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)

    def import_once(progress: Progress) -> None:
        if progress.step == "computing the metrics":
            stage.report = None
            stage.log(applicants(10, 10, prefix="meanwhile"), NOON + 10 * MINUTE)

    stage.report = import_once
    first = stage.check(NOON, NOON + 30 * MINUTE, NOW)
    second = stage.check(NOON, NOON + 31 * MINUTE, NOW)

    assert women(first)[1] == 40
    assert not is_carried(second)
    assert women(second)[1] == 60


def test_records_that_were_removed_are_missed_by_the_next_check(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON, trigger=HOURLY)
    alter(stage, "DELETE FROM payload_records WHERE record_no <= 10")

    second = stage.check(NOON + HOUR, trigger=HOURLY)

    assert not is_carried(second)


def test_a_label_whose_record_was_removed_is_missed_by_the_next_check(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5, prefix="old"), NOON - 100 * HOUR)
    stage.log(applicants(20, 20, 5), NOON)
    stage.label([("old1", 1), ("2", 0)], NOON)
    first = stage.check(NOON, trigger=HOURLY)
    alter(stage, "DELETE FROM payload_records WHERE record_id = 'old1'")

    second = stage.check(NOON + HOUR, trigger=HOURLY)

    assert first.get("accuracy", "labelled").n == 2
    assert not is_carried(second)
    assert second.get("accuracy", "labelled").n == 1


@pytest.mark.thorough
def test_a_label_counts_once_its_record_is_imported(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.label([("1", 1), ("old3", 0)], NOON)
    first = stage.check(NOON, trigger=HOURLY)
    second = stage.check(NOON + HOUR, trigger=HOURLY)
    stage.log(applicants(5, 0, prefix="old"), NOON - 3 * HOUR)
    third = stage.check(NOON + 2 * HOUR, trigger=HOURLY)

    assert (is_carried(second), is_carried(third)) == (True, False)
    assert [check.get("accuracy", "labelled").n for check in (first, second, third)] == [1, 1, 2]


def test_labels_whose_predictions_the_check_itself_has_stored_do_not_count_as_new(stage: Scene, server: ModelServer) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.label_features([{"sex": "male", "income": 1, "age": 30, "label": 1}] * 3, NOON)
    first = stage.check(NOON, trigger=HOURLY)
    asked = server.counts.rows
    second = stage.check(NOON + HOUR, trigger=HOURLY)

    assert first.get("accuracy", "labelled").n == 3
    assert is_carried(second)
    assert server.counts.rows == asked


def test_without_an_endpoint_a_label_counts_once_it_has_a_prediction(stage: Scene) -> None:
    definition = build_definition(stage.deployment)

    def point_to(endpoint: Endpoint | None) -> None:
        with stage.database.transaction() as session:
            deployments = Deployments(session, PlainSealer())
            deployments.change(deployments.get_by_no(stage.deployment.no), replace(definition, endpoint=endpoint))

    point_to(None)
    stage.log(applicants(20, 20, 5), NOON)
    stage.label([("1", 1)], NOON)
    stage.label_features([{"sex": "male", "income": 1, "age": 30, "label": 1}] * 3, NOON)
    first = stage.check(NOON, trigger=HOURLY)
    second = stage.check(NOON + HOUR, trigger=HOURLY)
    point_to(definition.endpoint)
    stage.check(NOON)
    point_to(None)
    third = stage.check(NOON + 2 * HOUR, trigger=HOURLY)

    assert (is_carried(second), is_carried(third)) == (True, False)
    assert [check.get("accuracy", "labelled").n for check in (first, second, third)] == [1, 1, 4]


@pytest.mark.thorough
def test_a_check_of_an_earlier_version_without_a_fingerprint_is_not_carried_forward(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON, trigger=HOURLY)
    alter(stage, 'UPDATE checks SET "window" = "window" - \'fingerprint\'')

    assert [is_carried(stage.check(NOON + no * HOUR, trigger=HOURLY)) for no in (1, 2)] == [False, True]


def test_an_import_that_the_earlier_check_would_not_read_leaves_its_figures(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON, trigger=HOURLY)
    stage.log(applicants(20, 20, 20, prefix="before"), NOON - HOUR)

    assert is_carried(stage.check(NOON + HOUR, trigger=HOURLY))


@pytest.mark.parametrize("minutes", [10, 40])
def test_of_a_span_with_more_than_the_maximum_only_the_newest_count(stage: Scene, minutes: int) -> None:
    stage.watch(monitor_of(max_records=40))
    stage.log(applicants(20, 20, 5), NOON + 30 * MINUTE)
    stage.check(NOON, trigger=HOURLY)
    stage.log(applicants(3, 3, prefix="import"), NOON + minutes * MINUTE)

    assert is_carried(stage.check(NOON + HOUR, trigger=HOURLY)) == (minutes < 30)


def test_the_records_of_an_hour_beyond_the_maximum_are_counted_anew_in_the_same_hour(stage: Scene) -> None:
    stage.watch(monitor_of(max_records=40))
    stage.log(applicants(20, 20, 5), NOON + 30 * MINUTE)
    first = stage.check(NOON, NOON + 40 * MINUTE, NOW)
    stage.log(applicants(3, 3, prefix="import"), NOON + 10 * MINUTE)
    second = stage.check(NOON, NOON + 50 * MINUTE, NOW)

    assert not is_carried(second)
    assert women(second) == women(first)
    assert [window(check.run)["logged_in_span"] for check in (first, second)] == [40, 46]


@pytest.mark.thorough
def test_figures_are_carried_over_many_checks_until_what_the_first_one_read_changes(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON - HOUR)
    first = stage.check(NOON - HOUR, trigger=HOURLY)
    idle = [stage.check(NOON, NOON + no * 20 * MINUTE, NOW) for no in (1, 2)] + [stage.check(NOON, trigger=HOURLY)]
    stage.log(applicants(0, 20, prefix="import"), NOON - 30 * MINUTE)
    changed = stage.check(NOON + HOUR, trigger=HOURLY)

    assert {window(check.run)["carried_from"] for check in idle} == {first.run.id}
    assert not is_carried(changed)


@pytest.mark.parametrize(("trigger", "end"), [(NOW, 50 * MINUTE), (HOURLY, HOUR)])
def test_the_next_check_of_an_hour_in_which_nothing_more_was_logged_is_carried(
    stage: Scene, server: ModelServer, trigger: Trigger, end: timedelta
) -> None:
    stage.watch(monitor_of(min_records=30))
    stage.log(applicants(20, 20, 5, prefix="before"), NOON - HOUR)
    stage.log(applicants(10, 10, 5), NOON)
    stage.label([("1", 1)], NOON)
    first = stage.check(NOON, NOON + 30 * MINUTE, NOW)
    asked = server.counts.rows
    second = stage.check(NOON, NOON + end, trigger)

    assert is_carried(second)
    assert server.counts.rows == asked
    assert women(second) == women(first)
    assert second.tables == first.tables
    assert window(second.run) == window(first.run) | {"carried_from": first.run.id, "copies_to_score": 0}
    assert (window(second.run)["records"], window(second.run)["additional_records"]) == (20, 10)


@pytest.mark.thorough
def test_figures_carried_into_a_later_hour_are_said_to_rest_on_earlier_records(stage: Scene) -> None:
    stage.watch(monitor_of(min_records=30))
    stage.log(applicants(20, 20, 5, prefix="before"), NOON - HOUR)
    stage.label([("before1", 1), ("before2", 1)], NOON - HOUR)
    stage.log(applicants(10, 10, 5), NOON)
    stage.label([("1", 1)], NOON)
    stage.check(NOON, trigger=HOURLY)

    for later in (1, 2):
        said = window(stage.check(NOON + later * HOUR, trigger=HOURLY).run)

        assert (said["records"], said["logged_in_span"], said["additional_records"]) == (0, 0, 30)
        assert (said["labelled_records"], said["additional_labelled_records"], said["copies_to_score"]) == (0, 3, 0)


@pytest.mark.parametrize("add", [lambda _: None, lambda stage: stage.log(applicants(0, 5, prefix="more"), NOON + 40 * MINUTE)])
def test_an_hour_that_was_checked_before_its_end_is_in_roll_ups_once(stage: Scene, add: Callable[[Scene], None]) -> None:
    stage.log(applicants(20, 20, 2), NOON)
    for minutes in (20, 30):
        stage.check(NOON, NOON + minutes * MINUTE, NOW)
    add(stage)
    hourly = stage.check(NOON, trigger=HOURLY)
    stage.check(NOON + HOUR, trigger=HOURLY)

    with stage.database.transaction() as session:
        tables = read_summed_tables(
            session, stage.deployment.no, SeriesFilter(data=DataSet.AS_LOGGED), outcomes=stage.monitor().outcomes, limit=99
        )
    found = [(figure.hours, figure.measurement) for figure in roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings())]

    assert [(hours, figure.n) for hours, figure in found if (figure.metric, figure.group) == ("favourable_rate", "female")] == [
        (1, hourly.get("favourable_rate", "as_logged", "sex", "female").n)
    ]
