"""Alerts of evidence: opened once at the alarm, resolved by the opposite, over with a new version."""

from dataclasses import replace
from datetime import datetime

import pytest

from app.alerts.evaluate import evaluate_evidence
from app.alerts.queries import AlertFilter, page_alerts
from app.database.engine import Database
from app.domain.alert import Alert, Resolution, RuleKind
from app.domain.monitor import OutcomeRule
from app.domain.paging import Paging
from tests.builders.evidence_worlds import START, log, update, watched, world
from tests.scenes import HOUR, Scene


def alerts(stage: Scene) -> list[Alert]:
    """The alerts of evidence, oldest first."""
    with stage.database.transaction() as session:
        found = page_alerts(session, AlertFilter(deployment_no=stage.deployment.no), Paging(100))
    return [one for one in reversed(found) if one.find(RuleKind.EVIDENCE) is not None]


def stage_of(database: Database, ratios: list[float]) -> Scene:
    """A deployment with the rule that it starts with, and these hours."""
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world(ratios, seed=1, records=120), first_no=1)
    return stage


@pytest.mark.nightly
def test_an_alert_opens_once_with_its_onset_and_is_resolved_by_the_opposite(database: Database) -> None:
    stage = stage_of(database, [1.0] * 30 + [0.3] * 15 + [1.0] * 40)
    update(stage, START + 28 * HOUR)
    evaluate_evidence(database)
    assert alerts(stage) == []

    for hour in (36, 40, 44):
        update(stage, START + hour * HOUR)
        evaluate_evidence(database)
        evaluate_evidence(database)
    (alert,) = alerts(stage)
    assert alert.resolved_at is None
    assert alert.group == "female"
    assert abs((START + 30 * HOUR).timestamp() - datetime.fromisoformat(str(alert.facts["since"])).timestamp()) <= 7200
    assert "less often than records with sex male" in str(alert.facts["sentence"])

    update(stage, START + 85 * HOUR)
    evaluate_evidence(database)
    (alert,) = alerts(stage)
    assert alert.resolution is Resolution.RECOVERED


def test_a_monitor_version_supersedes_an_alert_about_what_it_no_longer_compares(database: Database) -> None:
    stage = stage_of(database, [0.3] * 30)
    update(stage, START + 30 * HOUR)
    evaluate_evidence(database)
    assert [(alert.resolution, alert.facts["counted"]) for alert in alerts(stage)] == [(None, "All 3,600 records counted.")]

    stage.watch(replace(stage.monitor(), min_records=7))
    update(stage, START + 31 * HOUR)
    evaluate_evidence(database)
    assert [alert.resolution for alert in alerts(stage)] == [None]

    stage.watch(replace(stage.monitor(), outcomes=OutcomeRule(favourable=(0,), unfavourable=(1,))))
    update(stage, START + 31 * HOUR)
    evaluate_evidence(database)
    assert [alert.resolution for alert in alerts(stage)] == [Resolution.SUPERSEDED]
