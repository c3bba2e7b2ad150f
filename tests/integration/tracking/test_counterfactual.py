"""Counterfactual figures: records against their own copies, from the tables of checks of whole hours."""

from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database
from app.domain.check import DataSet, Span
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import EvidenceSettings, Monitor, MonitoredAttribute, OutcomeRule
from app.evidence.present_state import ComparisonState, read_deployment_evidence
from app.evidence.queries.hour_counts import CountedPlace, read_hours_between
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import State
from tests.builders.applicants import APPLICANT, monitor_of
from tests.builders.counted_hours import add_checks, draw_pairs
from tests.builders.evidence_worlds import START, present_era, states, update, watched
from tests.builders.row_server import row_server
from tests.databases import Databases
from tests.scenes import HOUR, Scene, scene

Row = dict[str, Any]

SAID = EvidenceSettings(each_record_another_person=True)


def counterfactual(stage: Scene, direction: UnfairSide = UnfairSide.BELOW, data: DataSet = DataSet.COUNTERFACTUAL) -> ComparisonState:
    """The state of the disparate impact of women against that limit."""
    with stage.database.transaction() as session:
        found = read_deployment_evidence(session, stage.deployment.no)
    assert found is not None
    return next(
        comparison
        for comparison in found.comparisons
        if (comparison.data, comparison.metric, comparison.direction) == (data, "disparate_impact", direction)
    )


def stage_of(database: Database) -> Scene:
    """A deployment whose checks are put into the store."""
    return watched(database, metrics=("disparate_impact",))


def end_of(hours: int) -> datetime:
    return START + hours * HOUR


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fall_of_the_counterfactual_ratio_is_found_with_its_hour(database: Database, seed: int) -> None:
    stage = stage_of(database)
    add_checks(stage, [draw_pairs(0.95 if hour < 60 else 0.6, 1_000 * seed + hour) for hour in range(75)])
    update(stage, end_of(75))
    found = counterfactual(stage)

    assert found.state is State.UNFAIR
    assert found.since is not None
    assert found.alarm_at is not None
    assert abs(found.since - end_of(60)) <= HOUR
    assert end_of(60) < found.alarm_at <= end_of(66)
    assert found.hours == 75
    assert counterfactual(stage, UnfairSide.ABOVE).state is not State.UNFAIR


def test_of_an_attribute_that_the_model_does_not_see_no_copies_are_promised(database: Database, snapshot: SnapshotAssertion) -> None:
    """A meta field without correlated features never has copies, so its reason must not say "yet"."""
    attribute = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(attribute,), metrics=("disparate_impact",))
    seen, unseen = (Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in ("place", "sex"))
    with row_server(lambda _: 1) as server:
        stage = scene(database, [seen], monitor, endpoint=Endpoint(url=server.url), meta=[unseen], probability=None)
        rows = [{"id": f"{no}", "place": "here", "sex": ("female", "male")[no % 2], "prediction": no % 3 % 2} for no in range(200)]
        stage.log(rows, START)
        stage.check(START)
    update(stage, end_of(2))

    assert counterfactual(stage).reason == snapshot
    assert counterfactual(stage, data=DataSet.AS_LOGGED).reason is None


@pytest.mark.nightly
def test_pairs_inside_the_limit_are_shown_fair(database: Database) -> None:
    stage = stage_of(database)
    add_checks(stage, [draw_pairs(0.95, hour) for hour in range(240)])
    update(stage, end_of(240))

    assert counterfactual(stage).state is State.SHOWN_FAIR
    lower, upper = counterfactual(stage).interval
    assert lower is not None
    assert upper is not None
    assert lower < 0.95 < upper
    assert upper - lower < 0.05


@pytest.mark.nightly
def test_a_recheck_of_a_past_hour_gives_the_states_of_a_start_with_it(databases: Databases) -> None:
    before = [draw_pairs(0.95, hour) for hour in range(60)]
    after = [*before[:10], *[draw_pairs(0.9, 500 + hour) for hour in range(8)], *before[18:]]
    with databases.lent() as first, databases.lent() as second:
        whole, again = stage_of(Database(first)), stage_of(Database(second))
        add_checks(whole, after)
        update(whole, end_of(60))

        add_checks(again, before)
        for until in (20, 41, 60):
            update(again, end_of(until))
        assert states(again) != states(whole)
        # In two parts, the later hours first.
        add_checks(again, after[14:18], START + 14 * HOUR)
        update(again, end_of(60))
        add_checks(again, after[10:14], START + 10 * HOUR)
        update(again, end_of(60))

        assert states(again) == states(whole)
        assert not any(is_stale for _, _, is_stale, _ in states(again).values())
        whole.database.close()
        again.database.close()


def by_sex_and_income(row: Row) -> Row:
    """Men are approved from 20, women from 60."""
    return {"prediction": int(row["income"] >= (20 if row["sex"] == "male" else 60)), "probability": 0.5}


def by_income(row: Row) -> Row:
    """Approved from 50, whatever the sex."""
    return {"prediction": int(row["income"] >= 50), "probability": 0.5}


def rows_of(hour: int, model: Any, women_below: int) -> list[Row]:  # noqa: ANN401 - a model's answers
    """Thirty women with incomes below that, and thirty men with incomes up to 99, as the model answered them."""
    found = []
    for number in range(60):
        sex = "female" if number < 30 else "male"
        income = (7 * hour + 13 * number) % (women_below if sex == "female" else 100)
        row = {"sex": sex, "income": income, "age": 40}
        found.append(row | {"prediction": model(row)["prediction"], "id": f"{hour}-{number}"})
    return found


def test_the_copies_that_a_check_scores_are_the_pairs_that_are_bet_on(database: Database) -> None:
    with row_server(by_sex_and_income) as server:
        stage = scene(database, APPLICANT, monitor_of(metrics=("disparate_impact",)), endpoint=Endpoint(url=server.url))
        rows = rows_of(0, by_sex_and_income, 100)
        stage.log(rows, START)
        stage.check(START)
        # In no check.
        stage.log(rows_of(1, by_sex_and_income, 100)[:40], START + HOUR)
    update(stage, end_of(2))
    with database.transaction() as session:
        found = read_hours_between(
            session, present_era(stage).no, CountedPlace(DataSet.COUNTERFACTUAL, "sex"), Span(start=START, end=end_of(2))
        )
        evidence = read_deployment_evidence(session, stage.deployment.no)

    pairs = Counter(tuple(float(by_sex_and_income(row | {"sex": sex})["prediction"]) for sex in ("female", "male")) for row in rows)
    of_women, *counted = found.pop(START)
    assert of_women == ["female", "monitored", [[*pair, count] for pair, count in sorted(pairs.items())]]
    favourable = Counter(row["sex"] for row in rows if row["prediction"])
    assert counted == [[sex, f"{role} counted", favourable[sex], 30] for sex, role in (("female", "monitored"), ("male", "reference"))]
    assert not found
    assert evidence is not None
    (line,) = (records.text for records in evidence.records[DataSet.COUNTERFACTUAL])
    assert line == "60 of 100 records counted; left out: in no check or not answered by the model 40 (female 30, male 10)."


@pytest.mark.nightly
def test_a_model_that_is_blind_to_the_attribute_is_flagged_as_logged_but_never_on_its_copies(database: Database) -> None:
    with row_server(by_income) as server:
        stage = scene(database, APPLICANT, monitor_of(metrics=("disparate_impact",), evidence=SAID), endpoint=Endpoint(url=server.url))
        for hour in range(16):
            stage.log(rows_of(hour, by_income, 65), START + hour * HOUR)
            stage.check(START + hour * HOUR)
            update(stage, end_of(hour + 1))
            assert counterfactual(stage).state is not State.UNFAIR

    assert counterfactual(stage, data=DataSet.AS_LOGGED).state is State.UNFAIR
    assert counterfactual(stage).hours == 16
    assert counterfactual(stage).log_evidence < 1
