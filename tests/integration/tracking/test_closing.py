"""A person closes an alarm: evidence begins again with the next hour, also where the past is counted again."""

from dataclasses import replace

import pytest

from app.alerts.evaluate import evaluate_evidence
from app.alerts.lifecycle import close_by_hand
from app.alerts.queries import AlertFilter, page_alerts
from app.database.engine import Database
from app.domain.alert import Alert, Resolution
from app.domain.check import DataSet
from app.domain.paging import Paging
from app.evidence.count_files import replay_figure
from app.evidence.present_state import ComparisonState, read_deployment_evidence
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import State
from tests.builders.evidence_worlds import SEX, START, Logged, log, states, update, watched, world
from tests.scenes import HOUR, Scene

UNFAIR = [1.0] * 20 + [0.3] * 30


def stage_of(database: Database, ratios: list[float]) -> Scene:
    """A deployment with the rule that it starts with, and these hours."""
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world(ratios, seed=1, records=120), first_no=1)
    return stage


def follow(stage: Scene, until: int) -> None:
    """Counts the hours before that one and decides the alerts."""
    update(stage, START + until * HOUR)
    evaluate_evidence(stage.database)


def below(stage: Scene) -> ComparisonState:
    """The state of the ratio as logged below its limit."""
    with stage.database.transaction() as session:
        found = read_deployment_evidence(session, stage.deployment.no)
    assert found is not None
    return next(
        comparison for comparison in found.comparisons if (comparison.data, comparison.direction) == (DataSet.AS_LOGGED, UnfairSide.BELOW)
    )


def alerts(stage: Scene) -> list[Alert]:
    """All alerts, oldest first."""
    with stage.database.transaction() as session:
        return page_alerts(session, AlertFilter(), Paging(100))[::-1]


def close(stage: Scene) -> Alert:
    """The newest alert, closed."""
    with stage.database.transaction() as session:
        (closed,) = close_by_hand(session, alerts(stage)[-1:], by="user:ada", note="Corrected.")
    return closed


@pytest.mark.thorough
def test_a_closed_alarm_is_over_at_once_and_another_one_opens_if_the_figure_stays_beyond_its_limit(database: Database) -> None:
    stage = stage_of(database, UNFAIR)
    follow(stage, 30)
    assert below(stage).state is State.UNFAIR

    closed = close(stage)
    found = below(stage)
    assert (closed.resolution, closed.closed_by, closed.closing_note) == (Resolution.CLOSED, "user:ada", "Corrected.")
    assert (found.state, found.log_evidence, found.interval) == (State.UNDECIDED, 0.0, (None, None))
    assert found.statement is not None
    assert " by user:ada" in found.statement.sentence
    follow(stage, 30)
    assert [alert.resolution for alert in alerts(stage)] == [Resolution.CLOSED]

    follow(stage, 50)
    again = below(stage)
    assert again.state is State.UNFAIR
    assert again.since is not None
    assert again.since >= START + 30 * HOUR
    assert [alert.resolution for alert in alerts(stage)] == [Resolution.CLOSED, None]


@pytest.mark.nightly
def test_counting_the_past_again_goes_through_the_closing_at_its_hour(database: Database) -> None:
    stage = stage_of(database, UNFAIR)
    follow(stage, 30)
    close(stage)
    follow(stage, 31)
    before = states(stage)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE evidence_figures SET is_stale = true")
    update(stage, START + 31 * HOUR)
    assert states(stage) == before

    log(stage, [Logged(START + 2 * HOUR, "female", 1)], first_no=100_000, noted=True)
    update(stage, START + 31 * HOUR)
    assert below(stage).state is State.UNDECIDED

    found = below(stage)
    assert found.figure_id is not None
    with database.transaction() as session:
        hours = replay_figure(session, stage.deployment.no, found.figure_id)
    closed = [hour.hour for hour in hours if any(side.is_closed for side in hour.evidence)]
    assert closed == [START + 30 * HOUR]
    assert hours[-1].evidence[0].log_evidence == found.log_evidence


@pytest.mark.nightly
def test_all_hours_at_once_after_a_closing_give_the_same_states_as_hour_by_hour(database: Database) -> None:
    stage = stage_of(database, UNFAIR)
    follow(stage, 30)
    close(stage)
    for hour in range(31, 51):
        follow(stage, hour)
    by_hour = states(stage)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE evidence_figures SET is_stale = true")
    update(stage, START + 50 * HOUR)

    assert states(stage) == by_hour


@pytest.mark.nightly
def test_every_figure_of_the_alert_is_closed_and_none_is_called_recovered(database: Database) -> None:
    stage = stage_of(database, UNFAIR)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO alert_rules (id, deployment_no, version, kind, config, enabled)"
            " SELECT 'second', deployment_no, version, kind, config, enabled FROM alert_rules WHERE id = 'unfair'"
        )
    follow(stage, 30)
    assert [len(one.figures) for one in alerts(stage)] == [2]
    close(stage)
    follow(stage, 31)

    (alert,) = alerts(stage)
    assert {one.resolution for one in (alert, *alert.figures)} == {Resolution.CLOSED}


def test_closing_an_alert_about_what_is_no_longer_compared_leaves_the_present_evidence_alone(database: Database) -> None:
    stage = stage_of(database, UNFAIR)
    follow(stage, 30)
    stage.watch(replace(stage.monitor(), attributes=(replace(SEX, threshold=0.85),)))
    closed = close(stage)

    assert closed.resolution is Resolution.CLOSED
    with database.engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM evidence_closures").scalar_one() == 0


@pytest.mark.nightly
def test_an_alarm_without_new_evidence_for_seven_days_is_marked_and_stays_open(database: Database) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world([1.0] * 20 + [0.3] * 12 + [0.82] * 220, seed=2, records=60), first_no=1)
    follow(stage, 40)
    fresh, opened = below(stage), alerts(stage)
    follow(stage, 252)
    quiet, kept = below(stage), alerts(stage)

    assert (fresh.state, fresh.is_quiet) == (State.UNFAIR, False)
    assert (quiet.state, quiet.is_quiet) == (State.UNFAIR, True)
    assert [alert.facts["no_new_evidence"] for alert in opened] == [False]
    assert [(alert.resolution, alert.facts["no_new_evidence"]) for alert in kept] == [(None, True)]
    assert "No new evidence for 7 days" in str(kept[0].facts["sentence"])
