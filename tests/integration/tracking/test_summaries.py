"""Summaries that lists read say the same as the states that they are made from."""

from dataclasses import replace

import pytest

from app.alerts.evaluate import evaluate_evidence
from app.alerts.lifecycle import close_by_hand
from app.alerts.queries import AlertFilter, alerts_page
from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.monitor import POOLED_GROUP
from app.domain.paging import Paging
from app.evidence.present_state import ComparisonState, look_at_evidence
from app.evidence.queries.summaries import EvidenceCounts, FigureSummary, evidence_counts, read_summaries
from tests.builders.evidence_worlds import SEX, START, log, update, watched, world
from tests.builders.statements import counted
from tests.scenes import HOUR, Scene

METRICS = ("disparate_impact", "statistical_parity_difference")
FALL_AND_RETURN = [1.0] * 20 + [0.3] * 15 + [1.0] * 25


def stage_of(database: Database) -> Scene:
    return watched(database, metrics=METRICS)


def look(stage: Scene) -> list[ComparisonState]:
    with stage.database.transaction() as session:
        found = look_at_evidence(session, stage.deployment.no)
    assert found is not None
    return [one for one in found.comparisons if one.figure_id is not None]


def counts(stage: Scene) -> EvidenceCounts:
    with stage.database.transaction() as session:
        return evidence_counts(session, [stage.deployment.no])[stage.deployment.no]


def summaries(stage: Scene, metric: str = "disparate_impact") -> list[FigureSummary]:
    with stage.database.transaction() as session:
        return read_summaries(session, stage.deployment.no, metric, data=None, attribute=None, group=None)


def test_before_the_first_record_nothing_is_counted(database: Database) -> None:
    stage = stage_of(database)
    with database.transaction() as session:
        assert evidence_counts(session, [stage.deployment.no]) == {}
    update(stage, START)

    assert counts(stage) == EvidenceCounts(unfair=0, shown_fair=0, undecided=0, unfair_since=None, counted_until=START)
    assert summaries(stage) == []


@pytest.mark.nightly
def test_summaries_are_those_of_the_states_at_every_hour(database: Database) -> None:
    stage = stage_of(database)
    log(stage, world(FALL_AND_RETURN, seed=1, records=200), first_no=1)
    seen = set()
    for hour in range(0, len(FALL_AND_RETURN) + 1, 4):
        update(stage, START + hour * HOUR)
        states, found = look(stage), counts(stage)
        by_state = [sum(one.state == state for one in states) for state in ("unfair", "shown_fair", "undecided")]
        assert [found.unfair, found.shown_fair, found.undecided] == by_state
        assert found.unfair_since == min((one.since for one in states if one.state == "unfair" and one.since), default=None)
        assert found.counted_until == START + hour * HOUR
        summed = [(one.id, limit) for metric in METRICS for one in summaries(stage, metric) for limit in one.limits]
        assert {(id_, one.direction, one.state, one.since) for id_, one in summed} == {
            (one.figure_id, one.direction, one.state, one.since) for one in states
        }
        seen |= {one.state for _, one in summed}

    assert seen == {"unfair", "shown_fair", "undecided"}
    below = next(
        one for figure in summaries(stage) if figure.data is DataSet.AS_LOGGED for one in figure.limits if one.direction == "below"
    )
    (alarm,) = below.alarms
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
        (alert,) = alerts_page(session, AlertFilter(), Paging(100))
        close_by_hand(session, [alert], by="user:ada", note="Corrected.")

    assert counts(stage).unfair == 0
    closed = [alarm.closed_at for one in summaries(stage) for limit in one.limits for alarm in limit.alarms]
    assert closed == [START + 30 * HOUR]


def test_the_evidence_of_many_figures_is_read_with_one_statement(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    both = replace(SEX, monitored=("female", "male"), reference=("unknown",))
    stage = watched(database, metrics=METRICS, attributes=(both,))
    log(stage, world([1.0] * 4, seed=1), first_no=1)
    update(stage, START + 4 * HOUR)
    with counted(monkeypatch) as sent:
        found = summaries(stage)
        assert counts(stage).undecided == 12

    assert {one.group for one in found} == {"female", "male", POOLED_GROUP}
    assert len([one for one in sent if "evidence_figures" in one]) == 2
