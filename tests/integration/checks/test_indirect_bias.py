"""A meta field watched through correlated features: the model never sees the sex, but it sees who is a husband."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from app.database.engine import Database
from app.deployments.training.queries import delete_training_data
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from tests.builders.applicants import monitor_of
from tests.builders.husbands import COLUMNS, PLAIN, ROWS, SEX, SINGLE, THROUGH_ROLE, HusbandsFirst, people, train
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Result, Scene, scene


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve(HusbandsFirst()) as running:
        yield running


@pytest.fixture
def married(database: Database, model: ModelServer) -> Scene:
    """Husbands and wives, watched through their role, with training data."""
    stage = scene(database, COLUMNS, monitor_of(THROUGH_ROLE), endpoint=Endpoint(url=model.url), meta=(SEX,))
    train(stage)
    stage.log(people(10), NOON)
    return stage


def test_copies_take_the_role_of_the_other_sex_and_the_rest_of_the_record_stays(married: Scene, model: ModelServer) -> None:
    result = married.check(NOON)

    # As husbands the poor wives would be approved; as wives the poor husbands refused; the rich are approved either way.
    assert model.counts.rows == 40 + 2  # two unchanged
    assert result.value("flip_rate", "counterfactual", "sex", scope="attribute") == pytest.approx(20 / 40)
    assert result.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(10 / 20)
    # Women: 10 of 20 of their own, 10 of 20 copies of men. Men: all 20, all 20 copies of women.
    assert result.value("perfect_equality", "openscale", "sex") == 1.0
    assert result.value("disparate_impact", "counterfactual", "sex", "female") == pytest.approx(20 / 40)
    assert result.run.window is not None
    assert result.run.window["perturbed_records"] == {"sex": 40}
    assert result.run.window["attributes_unseen_by_model"] == ["sex"]
    assert result.run.window["correlated_features"]["sex"]["features"] == ["role"]


def test_plain_flipping_of_a_meta_field_sees_nothing_of_it(married: Scene, model: ModelServer) -> None:
    married.watch(monitor_of(PLAIN))

    result = married.check(NOON)

    assert model.counts.rows == 0
    assert result.get("flip_rate", "counterfactual", "sex", scope="attribute").value is None
    assert result.value("disparate_impact", "counterfactual", "sex", "female") == result.value(
        "disparate_impact", "as_logged", "sex", "female"
    )
    assert result.run.window is not None
    assert "correlated_features" not in result.run.window


def test_the_next_hour_asks_about_new_records_only_and_answers_the_same(married: Scene, model: ModelServer) -> None:
    first = married.check(NOON)
    married.log(people(1, prefix="new"), NOON + HOUR)
    married.watch(monitor_of(THROUGH_ROLE, min_records=44))
    model.counts.clear()

    second = married.check(NOON + HOUR)

    assert model.counts.rows == 4
    assert second.get("flip_rate", "counterfactual", "sex", scope="attribute").n == 44
    assert second.value("flip_rate", "counterfactual", "sex", scope="attribute") == first.value(
        "flip_rate", "counterfactual", "sex", scope="attribute"
    )


def test_other_training_data_are_other_copies_and_the_same_again_are_none(married: Scene, model: ModelServer) -> None:
    married.check(NOON)
    model.counts.clear()
    train(married)
    married.check(NOON)
    asked_after_the_same = model.counts.rows
    train(married, ROWS + SINGLE)

    married.check(NOON)

    assert asked_after_the_same == 0
    assert model.counts.rows == 40 + 2  # two unchanged


def test_values_are_not_carried_forward_over_other_training_data(married: Scene) -> None:
    married.check(NOON, trigger=Trigger.SCHEDULE)
    carried = married.check(NOON + HOUR, trigger=Trigger.SCHEDULE)
    train(married, ROWS + SINGLE)

    looked = married.check(NOON + timedelta(hours=2), trigger=Trigger.SCHEDULE)

    assert all(figure.carried_forward for figure in carried.measurements)
    assert not any(figure.carried_forward for figure in looked.measurements)


def assert_says_why(result: Result, reason: str) -> None:
    assert result.value("disparate_impact", "as_logged", "sex", "female") is not None
    found = [figure for figure in result.measurements if figure.data == "counterfactual"]
    assert found
    assert all(one.value is None and reason in (one.reason or "") for one in found)


def test_a_group_without_donors_has_no_copies_and_says_what_to_do(married: Scene) -> None:
    train(married, ROWS[:2] + SINGLE[:1])

    assert_says_why(married.check(NOON), "attributes.sex.correlated_features: ")
    assert married.count("counterfactuals") == 0


def test_without_training_data_there_are_no_copies_and_the_figures_say_what_to_do(married: Scene) -> None:
    with married.database.transaction() as session:
        delete_training_data(session, married.deployment.no)

    assert_says_why(married.check(NOON), "attributes.sex.correlated_features: no training data hold both 'sex' and the features")


def test_without_an_endpoint_nothing_is_copied_and_no_donor_is_needed(database: Database) -> None:
    stage = scene(database, COLUMNS, monitor_of(THROUGH_ROLE), endpoint=None, meta=(SEX,))
    stage.log(people(10), NOON)

    result = stage.check(NOON)

    assert result.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(10 / 20)
    assert result.get("disparate_impact", "counterfactual", "sex", scope="worst").value is None
