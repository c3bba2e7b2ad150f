"""The state of comparisons in worlds whose truth is known, and its hours."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.monitor import EvidenceSettings
from app.evidence.count_files import replay_figure
from app.evidence.present_state import ComparisonState, read_deployment_evidence
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import State, say_start
from tests.builders.evidence_worlds import SEX, START, Logged, log, states, update, watched, world
from tests.scenes import HOUR, Scene


def look(stage: Scene) -> dict[tuple[DataSet, str, UnfairSide], ComparisonState]:
    """The states of the comparisons of women."""
    with stage.database.transaction() as session:
        found = read_deployment_evidence(session, stage.deployment.no)
    assert found is not None
    return {(comparison.data, comparison.metric, comparison.direction): comparison for comparison in found.comparisons}


@pytest.mark.nightly
def test_a_fall_is_found_with_its_hour_and_every_figure_can_be_traced(database: Database) -> None:
    stage = watched(database, evidence=EvidenceSettings(label_horizon_hours=4))
    log(stage, world([1.0] * 40 + [0.3] * 20, seed=1, records=120), first_no=1)
    for hour in range(30, 61, 3):
        update(stage, START + hour * HOUR)
    found = look(stage)[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.BELOW]

    assert found.state is State.UNFAIR
    assert found.since is not None
    assert found.alarm_at is not None
    assert abs(found.since - (START + 40 * HOUR)) <= 2 * HOUR
    assert START + 40 * HOUR < found.alarm_at <= START + 50 * HOUR
    assert found.words == f"Unfair since {say_start(found.since, found.earliest, found.latest)}"
    assert look(stage)[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.ABOVE].state is not State.UNFAIR

    assert found.figure_id is not None
    with database.transaction() as session:
        hours = replay_figure(session, stage.deployment.no, found.figure_id)
    assert [one.hour for one in hours] == [START + hour * HOUR for hour in range(60)]
    below = [one.evidence[0] for one in hours]
    assert below[-1].log_evidence == found.log_evidence
    at = (found.alarm_at - START) // HOUR - 1
    assert below[at].log_evidence >= below[at].log_threshold / 2
    assert sum(one.monitored_records + one.reference_records for one in hours) == 60 * 120


@pytest.mark.parametrize("has_all", [True, False])
def test_labels_of_one_decision_are_no_evidence_on_what_needs_both(database: Database, *, has_all: bool) -> None:
    stage = watched(database, evidence=EvidenceSettings(label_horizon_hours=4))
    records = world([0.9] * 8, seed=1)
    log(stage, records if has_all else [replace(record, label=record.label if record.approved else None) for record in records], first_no=1)
    update(stage, START + 8 * HOUR)

    reasons = {key: seen.reason for key, seen in look(stage).items()}
    labelled = {(data, metric): reason for (data, metric, _), reason in reasons.items() if data is DataSet.LABELLED}
    assert len(labelled) == 2
    assert reasons[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.BELOW] is None
    assert all((reason is None) is has_all for reason in labelled.values())
    assert has_all or all("labels of one decision" in str(reason) for reason in labelled.values())


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.nightly
def test_a_model_inside_its_limits_is_not_called_unfair(database: Database, seed: int) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world([0.9] * 150, seed=seed, records=80), first_no=1)
    update(stage, START + 150 * HOUR)

    assert {seen.state for seen in look(stage).values()} <= {State.SHOWN_FAIR, State.UNDECIDED}


def test_a_monitor_version_that_compares_something_else_begins_again(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world([0.3] * 40, seed=5), first_no=1)
    update(stage, START + 40 * HOUR)
    assert look(stage)[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.BELOW].state is State.UNFAIR

    stage.watch(replace(stage.monitor(), min_records=7))
    update(stage, START + 41 * HOUR)
    assert look(stage)[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.BELOW].state is State.UNFAIR

    stage.watch(replace(stage.monitor(), attributes=(replace(SEX, reference=("male", "other")),)))
    # Before the worker has met the new version, what it found with the one before is not shown for it.
    assert look(stage)[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.BELOW].figure_id is None
    update(stage, START + 41 * HOUR)
    found = look(stage)[DataSet.AS_LOGGED, "disparate_impact", UnfairSide.BELOW]
    assert found.state is State.UNDECIDED
    assert found.reason == snapshot
    assert states(stage) == {}


def test_a_comparison_that_cannot_be_computed_says_why(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database, attributes=(SEX,))
    found = look(stage)

    assert found[DataSet.COUNTERFACTUAL, "disparate_impact", UnfairSide.BELOW].reason == snapshot
    assert "720 hours" in str(found[DataSet.LABELLED, "true_positive_rate_difference", UnfairSide.BELOW].reason)


def test_a_group_in_a_new_spelling_was_last_seen_and_is_not_said_to_be_undecided(database: Database) -> None:
    stage = watched(database)
    before = [Logged(START + hour * HOUR, sex, no % 2) for hour in range(3) for sex in ("female", "male") for no in range(2)]
    after = [Logged(START + hour * HOUR, sex, no % 2) for hour in range(3, 30) for sex in ("woman", "male") for no in range(2)]
    log(stage, [*before, *after], first_no=1)
    update(stage, START + 26 * HOUR)
    assert all("last seen" not in one.words for one in look(stage).values())

    update(stage, START + 30 * HOUR)
    seen = f"new values of sex since {START + 3 * HOUR:%Y-%m-%d %H:%M}; the group was last seen {START + 2 * HOUR:%Y-%m-%d %H:%M}"
    assert {one.words for one in look(stage).values() if one.data is DataSet.AS_LOGGED} == {seen}
