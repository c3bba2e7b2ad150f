"""Mitigation of a meta field: the model never sees the sex, so the features that go together with it change in its stead."""

from collections.abc import Iterator

import pytest

from app.base.clock import utc_now
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.mitigation import MitigationSettings, StandIn
from app.mitigation.profile_in_force import find_profile_in_force
from tests.builders.applicants import monitor_of
from tests.builders.husbands import COLUMNS, PLAIN, ROWS, SEX, SINGLE, THROUGH_ROLE, HusbandsFirst, people, train
from tests.models.serving import ModelServer, serve
from tests.scenes import NOON, Scene, scene


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve(HusbandsFirst()) as running:
        yield running


def staged(database: Database, model: ModelServer, *, through: bool = True) -> Scene:
    attribute = THROUGH_ROLE if through else PLAIN
    return scene(database, COLUMNS, monitor_of(attribute), endpoint=Endpoint(url=model.url), meta=(SEX,))


def test_women_are_lifted_where_they_would_be_as_husbands(database: Database, model: ModelServer) -> None:
    stage = staged(database, model)
    train(stage)
    stage.log(people(10), NOON)

    result = stage.check(NOON)

    assert result.value("disparate_impact_before", "mitigated", "sex", "female") == pytest.approx(0.5)
    assert result.value("disparate_impact_after", "mitigated", "sex", "female") == pytest.approx(1)
    assert result.run.window is not None
    assert result.run.window["mitigation"]["attributes"]["sex"]["lifted"] == 10
    assert stage.count("flagged_records") == 10


def test_without_correlated_features_nothing_is_changed_and_the_check_says_why(database: Database, model: ModelServer) -> None:
    stage = staged(database, model, through=False)
    stage.log(people(10), NOON)

    result = stage.check(NOON)

    assert result.value("disparate_impact_after", "mitigated", "sex", "female") == pytest.approx(0.5)
    assert result.run.window is not None
    counts = result.run.window["mitigation"]["attributes"]["sex"]
    assert (counts["changed"], "never sees it" in counts["reason"]) == (0, True)
    assert model.counts.rows == 0


def test_the_combinations_of_the_reference_group_stand_for_it_as_frequent_as_they_are(database: Database, model: ModelServer) -> None:
    stage = staged(database, model)
    # Of three men in the training data two are husbands and one is single.
    train(stage, [*ROWS, *SINGLE])
    stage.log(people(10), NOON)

    profile = find_profile_in_force(database, stage.deployment, stage.monitor(), MitigationSettings(), now=utc_now())

    sex = profile.attribute("sex")
    assert sex is not None
    assert sex.stand_ins == (
        StandIn("male", (("role", "husband"),), pytest.approx(2 / 3)),
        StandIn("male", (("role", "single"),), pytest.approx(1 / 3)),
    )


def test_other_donors_make_another_profile_and_the_same_file_again_does_not(database: Database, model: ModelServer) -> None:
    stage = staged(database, model)
    train(stage)
    stage.log(people(10), NOON)

    def learned() -> int:
        return find_profile_in_force(database, stage.deployment, stage.monitor(), MitigationSettings(), now=utc_now()).version

    first = learned()
    train(stage)
    again = learned()
    train(stage, [*ROWS, *SINGLE])
    other = learned()

    assert (first, again, other) == (1, 1, 2)
