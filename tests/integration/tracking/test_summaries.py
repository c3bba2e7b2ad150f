"""Summaries that lists read say the same as the states that they are made from."""

from collections import Counter
from dataclasses import replace

import pytest

from app.alerts.evaluate import evaluate_evidence
from app.alerts.lifecycle import close_by_hand
from app.alerts.queries import AlertFilter, page_alerts
from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.monitor import POOLED_GROUP
from app.domain.paging import Paging
from app.evidence.present_state import ComparisonState, read_deployment_evidence
from app.evidence.queries.figure_states import EvidenceCounts, count_figures
from app.evidence.words import list_figures
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import FigureLabel
from tests.builders.evidence_worlds import SEX, START, log, update, watched, world
from tests.builders.statements import counted
from tests.scenes import HOUR, Scene

METRICS = ("disparate_impact", "statistical_parity_difference")
FALL_AND_RETURN = [1.0] * 20 + [0.3] * 15 + [1.0] * 25


def stage_of(database: Database) -> Scene:
    return watched(database, metrics=METRICS)


def look(stage: Scene) -> list[ComparisonState]:
    with stage.database.transaction() as session:
        found = read_deployment_evidence(session, stage.deployment.no)
    assert found is not None
    return [comparison for comparison in found.comparisons if comparison.figure_id is not None]


def counts(stage: Scene) -> EvidenceCounts:
    with stage.database.transaction() as session:
        return count_figures(session, [stage.deployment.no])[stage.deployment.no]


def test_before_the_first_record_nothing_is_counted(database: Database) -> None:
    stage = stage_of(database)
    with database.transaction() as session:
        assert count_figures(session, [stage.deployment.no]) == {}
    update(stage, START)

    assert counts(stage) == EvidenceCounts(unfair=0, confirmed_fair=0, undecided=0, unfair_since=None, counted_until=START)


@pytest.mark.parametrize(("ratios", "is_from_first_hour"), [([0.3] * 10, True), ([1.0] * 20 + [0.3] * 10, False)])
def test_what_is_unfair_since_the_first_counted_hour_may_be_older(
    database: Database,
    ratios: list[float],
    is_from_first_hour: bool,  # noqa: FBT001 - a parameter
) -> None:
    stage = stage_of(database)
    log(stage, world(ratios, seed=1, records=120), first_no=1)
    update(stage, START + len(ratios) * HOUR)

    found = counts(stage)

    assert found.unfair
    assert found.is_from_first_hour == is_from_first_hour
    earliest = [figure for figure in list_figures(look(stage)) if figure.since == found.unfair_since]
    assert any(figure.is_from_first_hour for figure in earliest) == is_from_first_hour
    assert any(str(figure.start_text).endswith(" or before") for figure in earliest) == is_from_first_hour
    assert all((" or before; " in figure.statement.sentence) == figure.is_from_first_hour for figure in earliest)


@pytest.mark.nightly
def test_summaries_are_those_of_the_states_at_every_hour(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(FALL_AND_RETURN, seed=1, records=200), first_no=1)
    seen = set()
    for hour in range(0, len(FALL_AND_RETURN) + 1, 4):
        update(stage, START + hour * HOUR)
        figures, found = list_figures(look(stage)), counts(stage)
        by_state = Counter(figure.statement.state for figure in figures)
        assert found.unfair == by_state[FigureLabel.UNFAIR] + by_state[FigureLabel.UNDER_REVIEW]
        assert found.confirmed_fair == by_state[FigureLabel.CONFIRMED_FAIR]
        assert found.unfair + found.confirmed_fair + found.undecided == len(figures)
        since = [figure.since for figure in figures if figure.statement.state is FigureLabel.UNFAIR and figure.since]
        assert found.unfair_since == min(since, default=None)
        assert found.counted_until == START + hour * HOUR
        seen |= set(by_state)

    assert {FigureLabel.UNFAIR, FigureLabel.CONFIRMED_FAIR} < seen
    (alarm,) = next(one.alarms for one in look(stage) if one.data is DataSet.AS_LOGGED and one.direction is UnfairSide.BELOW)
    assert alarm.resolved_at is not None
    assert alarm.fair_since is not None
    assert alarm.since < alarm.alarm_at <= alarm.fair_since < alarm.resolved_at


@pytest.mark.thorough
def test_a_closed_alarm_is_closed_in_the_summary_too(database: Database) -> None:
    stage = watched(database, metrics=METRICS[:1])
    log(stage, world([1.0] * 20 + [0.3] * 30, seed=1, records=120), first_no=1)
    update(stage, START + 30 * HOUR)
    evaluate_evidence(stage.database)
    assert counts(stage).unfair == 1
    with database.transaction() as session:
        (alert,) = page_alerts(session, AlertFilter(), Paging(100))
        close_by_hand(session, [alert], by="user:ada", note="Corrected.")

    assert counts(stage).unfair == 0
    closed = [alarm.closed_at for comparison in look(stage) for alarm in comparison.alarms]
    assert closed == [START + 30 * HOUR]


def test_the_evidence_of_many_figures_is_read_with_one_statement(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    both = replace(SEX, monitored=("female", "male"), reference=("unknown",))
    stage = watched(database, metrics=METRICS, attributes=(both,))
    log(stage, world([1.0] * 4, seed=1), first_no=1)
    update(stage, START + 4 * HOUR)
    with counted(monkeypatch) as sent:
        assert counts(stage).undecided == 6

    assert {comparison.group for comparison in look(stage)} == {"female", "male", POOLED_GROUP}
    assert len([one for one in sent if "evidence_figures" in one]) == 1
