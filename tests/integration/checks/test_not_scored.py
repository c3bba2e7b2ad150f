"""Records that the model does not take: an MLflow server answers 400 to a whole page for one null in an integer column."""

from collections.abc import Iterator

import numpy as np
import pytest

from app.checks.copies.copy_outcomes import plan_copies
from app.checks.views.build_views import build_check_view
from app.checks.views.view_shapes import ViewKind
from app.database.engine import Database
from app.deployments.mitigation_queries import store_mitigation_settings
from app.domain.check import CheckState, DataSet, Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings, Mode
from app.payloads.registry import PayloadFormat
from app.sources.arrays.read_records import Group, Grouping
from app.statistics.group_labels import NEITHER
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.models.faulty import Fault, faulty
from tests.models.strict import StrictServer, strict
from tests.scenes import HOUR, NOON, Scene, scene

BECAUSE = "null in the integer column 'income'"


@pytest.fixture
def strict_server() -> Iterator[StrictServer]:
    with strict() as server:
        yield server


@pytest.fixture
def picky(database: Database, strict_server: StrictServer) -> Scene:
    """A deployment of that model, and 40 records of which 3 hold the null."""
    endpoint = Endpoint(url=strict_server.mlflow_url, payload_format=PayloadFormat.MLFLOW, page_size=10)
    stage = scene(database, APPLICANT, monitor_of(), endpoint=endpoint)
    people = applicants(20, 20, 10)
    for place in (3, 7, 25):
        people[place] |= {"income": None}
    stage.log(people, NOON)
    return stage


def test_a_null_in_an_integer_column_costs_its_record_and_not_the_check(picky: Scene) -> None:
    found = picky.check(NOON)

    window = found.run.window or {}
    assert found.run.state is CheckState.SUCCEEDED
    assert window["records_not_scored"] == {"sex": 3}
    assert window["not_scored_because"] == [{"columns": ["income"], "reason": BECAUSE, "records": 3}]
    impact = found.get("disparate_impact", "counterfactual", "sex", "female")
    assert impact.details.records_not_scored == 3
    assert impact.n == 37


def test_the_figures_are_those_of_the_window_without_the_records(picky: Scene, database: Database, strict_server: StrictServer) -> None:
    endpoint = Endpoint(url=strict_server.mlflow_url, payload_format=PayloadFormat.MLFLOW)
    without = scene(database, APPLICANT, monitor_of(), endpoint=endpoint, deployment_id="without")
    without.number_from(1001)
    without.log([applicant for place, applicant in enumerate(applicants(20, 20, 10)) if place not in (3, 7, 25)], NOON)

    found, expected = picky.check(NOON), without.check(NOON)

    mine, other = (
        [
            (figure.metric, figure.data, figure.scope, figure.group, figure.value, figure.lower, figure.upper, figure.n)
            for figure in result.measurements
            if figure.data in {DataSet.COUNTERFACTUAL, DataSet.OPENSCALE, DataSet.MITIGATED}
        ]
        for result in (found, expected)
    )
    assert mine == other
    assert {row[1] for row in mine} == {DataSet.COUNTERFACTUAL, DataSet.OPENSCALE, DataSet.MITIGATED}


def test_a_record_of_which_one_copy_is_refused_is_on_neither_side() -> None:
    column = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
    groups = (Group("female", "monitored", "female"), Group("male", "reference", "male"), Group("other", "reference", "other"))
    copies = plan_copies(Grouping(column, groups, np.array([0, 0, 1])), np.array([1, 0, 1]), monitor_of(), seen_by_model=True)
    copies.add(1, np.array([0, 1]), np.array([1, 1]))
    copies.add(2, np.array([1]), np.array([1]))
    copies.refused[0, 2] = True

    copies.leave_out_refused()

    assert copies.codes.tolist() == [NEITHER, 0, 1]
    assert copies.classified.tolist() == [[0, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert copies.favourable.tolist() == copies.classified.tolist()


def test_the_page_and_progress_say_how_many_were_not_taken(picky: Scene) -> None:
    run = picky.check(NOON).run

    with picky.database.transaction() as session:
        view = build_check_view(session, picky.deployment, run, ViewKind.OPENSCALE)

    assert any("3 of sex" in note and BECAUSE in note for note in view.notes)
    assert any("refused by it" in progress.step for progress in picky.reported)


def test_records_that_were_answered_are_not_asked_again_and_a_check_for_now_asks_again_about_the_others(
    picky: Scene, strict_server: StrictServer
) -> None:
    first = picky.check(NOON, trigger=Trigger.SCHEDULE)
    rows = strict_server.counts.rows

    carried = picky.check(NOON + HOUR, trigger=Trigger.SCHEDULE)
    assert (carried.run.window or {})["carried_from"] == first.run.id
    assert (carried.run.window or {})["records_not_scored"] == {"sex": 3}
    assert strict_server.counts.rows == rows

    strict_server.integer = "age"
    repaired = picky.check(NOON, trigger=Trigger.REQUEST)
    assert "records_not_scored" not in (repaired.run.window or {})
    assert strict_server.counts.rows == rows + 3
    assert repaired.get("disparate_impact", "counterfactual", "sex", "female").n == 40


def test_labelled_records_that_are_not_taken_are_left_out_of_the_feedback(picky: Scene) -> None:
    rows = [{"label": no % 2, "sex": "female", "income": None if no < 2 else 90_000, "age": 30} for no in range(12)]
    picky.label_features(rows, NOON)

    found = picky.check(NOON)

    assert (found.run.window or {})["labels_not_scored"] == 2
    assert found.get("accuracy", "labelled", scope="overall").n == 10


def test_of_a_model_that_refuses_everything_the_check_has_its_own_words(picky: Scene, strict_server: StrictServer) -> None:
    strict_server.refuses_all = True

    run = picky.check(NOON).run

    assert "answered 400 Bad Request" in (run.reason or "")
    assert "Failed to enforce schema" in picky.model_answer(run)


def test_of_a_model_that_takes_no_copy_of_a_group_the_check_has_its_own_words(database: Database, strict_server: StrictServer) -> None:
    endpoint = Endpoint(url=strict_server.mlflow_url, payload_format=PayloadFormat.MLFLOW)
    stage = scene(database, APPLICANT, monitor_of(), endpoint=endpoint)
    men, women = applicants(20, 0), applicants(0, 20, prefix="w")
    stage.log([*({**man, "income": None} for man in men), *women], NOON)  # copies of men into women are all refused

    assert "Failed to enforce schema" in stage.model_answer(stage.check(NOON).run)


@pytest.mark.parametrize("mode", [Mode.LIFT_ONLY, Mode.REFERENCE_SUBSTITUTION])
def test_mitigation_leaves_records_as_they_are_whose_copies_were_not_taken(picky: Scene, mode: Mode) -> None:
    with picky.database.transaction() as session:
        store_mitigation_settings(session, picky.deployment.no, MitigationSettings(mode=mode))

    found = picky.check(NOON)

    assert found.run.state is CheckState.SUCCEEDED
    assert found.get("disparate_impact_after", DataSet.MITIGATED.value, "sex", "female").details.records_not_scored == 3


def test_an_impossible_probability_costs_its_record_and_not_the_check(database: Database) -> None:
    with faulty(Fault.PROBABILITY_ABOVE_ONE) as server:
        endpoint = Endpoint(url=server.url, page_size=10, concurrency=1)
        stage = scene(database, APPLICANT, monitor_of(), endpoint=endpoint)
        stage.log(applicants(20, 20, 10), NOON)

        found = stage.check(NOON)

    window = found.run.window or {}
    assert window["records_not_scored"] == {"sex": 4}
    (because,) = window["not_scored_because"]
    assert because["records"] == 5
    assert "gave the probability 1.5" in because["reason"]
    assert found.get("disparate_impact", "counterfactual", "sex", "female").n == 36


def test_if_every_probability_is_impossible_the_check_says_so(database: Database) -> None:
    with faulty(Fault.PROBABILITY_ABOVE_ONE) as server:
        endpoint = Endpoint(url=server.url, page_size=1)
        stage = scene(database, APPLICANT, monitor_of(), endpoint=endpoint)
        stage.log(applicants(20, 20, 10), NOON)

        assert "gave the probability 1.5" in (stage.check(NOON).run.reason or "")


def test_probabilities_a_hair_off_are_counted_in_the_window_and_on_the_page(database: Database) -> None:
    with faulty(Fault.PROBABILITY_A_HAIR_ABOVE_ONE) as server:
        endpoint = Endpoint(url=server.url, page_size=10, concurrency=1)
        stage = scene(database, APPLICANT, monitor_of(), endpoint=endpoint)
        stage.log(applicants(20, 20, 10), NOON)
        run = stage.check(NOON).run

    assert (run.window or {})["rounded_probabilities"] == 5
    with database.transaction() as session:
        view = build_check_view(session, stage.deployment, run, ViewKind.OPENSCALE)
    assert any("5 probabilities that the model answered" in note for note in view.notes)


@pytest.mark.parametrize("fault", [Fault.TURNED, Fault.OTHER_INPUTS])
def test_answers_that_repeat_their_inputs_are_put_in_order_or_not_used(database: Database, fault: Fault) -> None:
    with faulty(fault) as server:
        stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url, page_size=10))
        stage.log(applicants(20, 20, 5), NOON)

        if fault is Fault.OTHER_INPUTS:
            reason = stage.check(NOON).run.reason or ""
            assert "repeats inputs that are not those of the request: row 1 is the first that differs" in reason
        else:
            assert stage.check(NOON).value("flip_rate", "counterfactual", "sex", scope="attribute") == pytest.approx(35 / 40)
