"""What is learned from logged payload, and when it is learned again."""

from dataclasses import replace
from typing import Any

import pytest

from app.base.clock import utc_now
from app.base.errors import NotFound
from app.base.values import Range
from app.database.engine import Database
from app.deployments.queries import Deployments
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings, Profile, StandIn
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.mitigation.profile_in_force import find_profile_in_force, fit_next_profile
from tests.scenes import NOON, PlainSealer, Scene, scene

HOUSING = MonitoredAttribute(feature="housing", monitored=("rent", "free"), reference=("own", "family", "barge"))
AGE = MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
COLUMNS = (
    Column(name="housing", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)


@pytest.fixture
def stage(database: Database) -> Scene:
    outcomes = OutcomeRule(favourable=("Good",), unfavourable=("Bad",))
    return scene(database, COLUMNS, Monitor(outcomes=outcomes, attributes=(HOUSING, AGE), min_records=20), endpoint=None)


def tenants(count: int, housing: str = "rent") -> list[dict[str, Any]]:
    """Applicants whose probability of good rises with their age, from 18 on; those of half and more are good."""
    rows = []
    for place in range(count):
        score = round((place + 0.5) / count, 6)
        answer = {"prediction": "Good" if score >= 0.5 else "Bad", "probability": score}
        rows.append({"housing": housing, "age": 18 + place, **answer})
    return rows


def learned(stage: Scene) -> Profile:
    return find_profile_in_force(stage.database, stage.deployment, stage.monitor(), MitigationSettings(), now=utc_now())


def test_shares_are_those_of_the_logged_reference_records_and_values_nobody_has_get_no_copy(stage: Scene) -> None:
    stage.log([*tenants(30, "own"), *tenants(10, "family"), *tenants(40, "rent")], NOON)

    housing = learned(stage).attribute("housing")

    assert housing is not None
    assert housing.stand_ins == (StandIn("own", (("housing", "own"),), 0.75), StandIn("family", (("housing", "family"),), 0.25))
    assert housing.covered == 1


def test_a_range_is_stood_for_by_values_that_occur_in_it_at_even_parts_of_its_records(stage: Scene) -> None:
    stage.log(tenants(58), NOON)

    age = learned(stage).attribute("age")

    assert age is not None
    # 50 records from 26 to 75: the 5th, 15th, 25th, 35th and 45th.
    assert [dict(stand_in.changes)["age"] for stand_in in age.stand_ins] == [30, 40, 50, 60, 70]
    assert all(isinstance(dict(stand_in.changes)["age"], int) for stand_in in age.stand_ins)
    assert [stand_in.share for stand_in in age.stand_ins] == pytest.approx([0.2] * 5)


def test_without_any_payload_reference_values_count_alike_and_a_range_is_spread_evenly(stage: Scene) -> None:
    profile = learned(stage)

    housing, age = profile.attribute("housing"), profile.attribute("age")
    assert profile.is_provisional
    assert housing is not None
    assert [stand_in.share for stand_in in housing.stand_ins] == pytest.approx([1 / 3] * 3)
    assert age is not None
    assert [dict(stand_in.changes)["age"] for stand_in in age.stand_ins] == [31, 41, 50, 60, 70]


def test_the_probability_is_read_and_the_cut_off_found_between_the_outcomes(stage: Scene) -> None:
    stage.log(tenants(40), NOON)

    profile = learned(stage)

    assert profile.reading is not None
    assert profile.cut_off is not None
    assert (profile.cut_off.value, profile.cut_off.highest_unfavourable, profile.cut_off.lowest_favourable) == (0.5, 0.4875, 0.5125)


def test_a_cut_off_that_is_not_one_half_is_the_middle_between_the_outcomes(stage: Scene) -> None:
    stage.log([{**row, "prediction": "Good" if row["probability"] > 0.2 else "Bad"} for row in tenants(40)], NOON)

    profile = learned(stage)

    assert profile.cut_off is not None
    assert profile.cut_off.value == pytest.approx(0.2)


def test_a_model_that_does_not_decide_by_its_probability_alone_has_no_cut_off(stage: Scene) -> None:
    odd = {"housing": "own", "age": 30, "prediction": "Bad", "probability": [0.45, 0.55]}
    rows = [{**row, "probability": [1 - row["probability"], row["probability"]]} for row in tenants(40)]
    stage.log([*rows, odd], NOON)

    profile = learned(stage)

    assert profile.cut_off is None
    assert profile.unread


def test_the_profile_stays_until_what_it_is_fitted_for_changes(stage: Scene) -> None:
    stage.log(tenants(40, "own"), NOON)
    first = learned(stage)
    stage.log(tenants(40, "family"), NOON)
    second = learned(stage)
    stage.watch(replace(stage.monitor(), attributes=(replace(HOUSING, threshold=0.9),)))
    after_thresholds = learned(stage)
    stage.watch(replace(stage.monitor(), attributes=(replace(HOUSING, monitored=("rent",)),)))
    after_groups = learned(stage)

    assert second == first
    assert after_groups.version > after_thresholds.version
    assert len(after_groups.attributes[0].stand_ins) == 2


def test_a_provisional_profile_is_fitted_again_once_there_are_records_enough(stage: Scene) -> None:
    stage.log(tenants(10, "own"), NOON)
    first, again = learned(stage), learned(stage)
    stage.log(tenants(10, "family"), NOON)
    second = learned(stage)

    assert (first.version, first.is_provisional) == (1, True)
    assert again == first
    assert (second.version, second.is_provisional) == (2, False)


def test_fitting_anew_makes_a_version_from_the_newest_payload(stage: Scene) -> None:
    stage.log(tenants(40, "own"), NOON)
    first = learned(stage)
    stage.log(tenants(40, "family"), NOON)
    fit_next_profile(stage.database, stage.deployment, stage.monitor(), MitigationSettings(), actor="tests", now=utc_now())
    second = learned(stage)

    assert (first.version, second.version) == (1, 2)
    housing = second.attribute("housing")
    assert housing is not None
    assert len(housing.stand_ins) == 2


def test_records_of_another_model_teach_nothing(stage: Scene) -> None:
    stage.log(tenants(40, "own"), NOON, revision="0")

    assert learned(stage).records == 0


def test_a_deployment_that_was_deleted_while_it_was_learnt_about_is_not_found(stage: Scene) -> None:
    stage.log(tenants(40, "own"), NOON)
    monitor = stage.monitor()
    with stage.database.transaction() as session:
        Deployments(session, PlainSealer()).delete(stage.deployment.id)

    with pytest.raises(NotFound):
        find_profile_in_force(stage.database, stage.deployment, monitor, MitigationSettings(), now=utc_now())
