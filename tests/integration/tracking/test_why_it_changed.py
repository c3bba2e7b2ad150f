"""Why the gap of an alert changed: found by a worker after the alert has opened, and attached to it."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select, text
from syrupy.assertion import SnapshotAssertion

from app.alerts.channels.channel import ChannelContent, ChannelKind, create_channel
from app.alerts.evaluate import evaluate_evidence
from app.alerts.queries import AlertFilter, page_alerts
from app.alerts.rules.rule_queries import put_rule
from app.alerts.words import list_facts, write_headline, write_sentence
from app.database.engine import Database, arrow_reader
from app.database.tables import NotificationRow
from app.domain.alert import DEFAULT_RULE_ID, Alert, EvidenceCondition, RuleContent, RuleKind
from app.domain.check import Span
from app.domain.monitor import Comparison, MonitoredAttribute
from app.domain.paging import Paging
from app.evidence.attribution.attribution import AttributionState, AttributionTrigger
from app.worker.attribute import AlertedGroup, explain_alert
from tests.builders.attributions import all_attributions, run_all
from tests.builders.evidence_worlds import START, log, update, watched, world
from tests.builders.page_words import says
from tests.scenes import HOUR, PlainSealer, Scene
from tests.service import running_service

PLACE = MonitoredAttribute(feature="place", monitored=("there",), reference=("here",))


def alert_of(stage: Scene) -> Alert:
    """The one alert on evidence."""
    with stage.database.transaction() as session:
        found = page_alerts(session, AlertFilter(deployment_no=stage.deployment.no), Paging(100))
    (alert,) = [one for one in found if one.find(RuleKind.EVIDENCE) is not None]
    return alert


def told(stage: Scene) -> list[dict[str, object]]:
    """The bodies of all notifications, in their order."""
    with stage.database.transaction() as session:
        return list(session.scalars(select(NotificationRow.body).order_by(NotificationRow.no)))


def alarmed(database: Database) -> Scene:
    """A deployment whose ratio has fallen at hour 30, with an open alert that a channel was told of."""
    stage = watched(database, metrics=("disparate_impact",))
    with database.transaction() as session:
        create_channel(session, "team", ChannelContent(name="Team", kind=ChannelKind.EMAIL, to=("team@example.org",)), PlainSealer())
        content = RuleContent(name="Evidence", condition=EvidenceCondition(), channels=("team",))
        put_rule(session, stage.deployment.no, DEFAULT_RULE_ID, content)
    log(stage, world([1.0] * 30 + [0.3] * 15, seed=1, records=120), first_no=1)
    update(stage, START + 44 * HOUR)
    evaluate_evidence(database)
    return stage


@pytest.mark.thorough
def test_an_alert_is_told_at_once_and_explained_when_a_worker_has_read_the_records(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = alarmed(database)
    evaluate_evidence(database)
    (queued,) = all_attributions(database, stage.deployment.no)
    at_once = [(one["event"], one["alerts"][0]["change"]) for one in told(stage)]  # type: ignore[index]

    run_all(database)

    assert at_once == [("opened", None)]
    assert (queued.trigger, queued.state, queued.created_by) == (AttributionTrigger.ALERT, AttributionState.QUEUED, "alert")
    (ended,) = all_attributions(database, stage.deployment.no)
    alert = alert_of(stage)
    assert (ended.state, ended.problem, ended.asked_rows) == (AttributionState.DONE, None, 0)
    assert ended.result is not None
    change = ended.result.change
    assert change is not None
    assert change.at == datetime.fromisoformat(str(alert.facts["since"]))
    assert change.before.gap == pytest.approx(0, abs=0.06)
    assert change.after.gap == pytest.approx(-0.42, abs=0.08)
    # Everyone is in the same place: the model answers women differently.
    by_place = next(feature for feature in change.features if feature.feature == "place")
    parts = by_place.who_asked + by_place.how_answered + by_place.no_counterpart
    assert parts == pytest.approx((change.after.gap or 0) - (change.before.gap or 0), abs=1e-9)
    assert by_place.who_asked == 0
    assert change.boundary is None
    assert alert.change is not None
    assert alert.change["attribution_id"] == ended.id
    last = told(stage)[-1]
    assert (last["event"], last["type"], last["sentence"]) == ("explained", "alert.explained", alert.change["sentence"])
    assert says(said := write_headline(last), "sex", "female")
    assert said == snapshot
    assert "answers to people of the same" in write_sentence(last)
    assert "selected by the alarm" in write_sentence(last)


@pytest.mark.nightly
def test_later_messages_hold_the_reason_too(database: Database) -> None:
    stage = alarmed(database)
    run_all(database)
    with database.transaction() as session:
        session.execute(text("DELETE FROM notifications"))
    log(stage, [replace(record, hour=record.hour + 45 * HOUR) for record in world([1.0] * 40, seed=2, records=120)], first_no=100_000)
    update(stage, START + 85 * HOUR)
    evaluate_evidence(database)

    (resolved,) = told(stage)

    assert resolved["event"] == "resolved"
    assert dict(list_facts(resolved))["Why it changed"] == (alert_of(stage).change or {})["sentence"]


@pytest.mark.nightly
def test_an_explanation_that_comes_after_the_end_is_attached_and_not_sent(database: Database) -> None:
    stage = alarmed(database)
    log(stage, [replace(record, hour=record.hour + 45 * HOUR) for record in world([1.0] * 40, seed=2, records=120)], first_no=100_000)
    update(stage, START + 85 * HOUR)
    evaluate_evidence(database)

    run_all(database)

    assert [notice["event"] for notice in told(stage)] == ["opened", "resolved"]
    assert alert_of(stage).change is not None


@pytest.mark.thorough
def test_a_change_that_came_with_a_revision_is_compared_with_the_earlier_one(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    with database.transaction() as session:
        put_rule(session, stage.deployment.no, DEFAULT_RULE_ID, RuleContent(name="Evidence", condition=EvidenceCondition()))
    records = world([1.0] * 10 + [0.3] * 20, seed=1, records=120)
    log(stage, [record for record in records if record.hour < START + 10 * HOUR], first_no=1, revision="0")
    log(stage, [record for record in records if record.hour >= START + 10 * HOUR], first_no=50_000)
    update(stage, START + 30 * HOUR)
    evaluate_evidence(database)

    run_all(database)

    change = alert_of(stage).change
    assert change is not None
    boundary = change["boundary"]
    assert isinstance(boundary, dict)
    assert (boundary["before"], boundary["after"]) == ("0", "1")
    assert START + 10 * HOUR <= datetime.fromisoformat(boundary["at"]) < START + 11 * HOUR
    assert says(str(change["sentence"]), "model revision", "from 0 to 1")
    assert change["sentence"] == snapshot


@pytest.mark.thorough
def test_an_alert_that_begins_with_the_first_counted_hour_has_nothing_to_compare_with(
    database: Database, snapshot: SnapshotAssertion
) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    with database.transaction() as session:
        create_channel(session, "team", ChannelContent(name="Team", kind=ChannelKind.EMAIL, to=("team@example.org",)), PlainSealer())
        content = RuleContent(name="Evidence", condition=EvidenceCondition(), channels=("team",))
        put_rule(session, stage.deployment.no, DEFAULT_RULE_ID, content)
    log(stage, world([0.3] * 20, seed=1, records=120), first_no=1)
    update(stage, START + 20 * HOUR)
    evaluate_evidence(database)

    run_all(database)

    alert = alert_of(stage)
    assert alert.facts["counted_from"] == START.isoformat()
    assert alert.change is not None
    assert alert.change["features"] == []
    assert says(alert.change["sentence"], "female", "sex")
    assert alert.change["sentence"] == snapshot
    # A message that says nothing is not sent.
    assert [notice["event"] for notice in told(stage)] == ["opened"]


@pytest.mark.parametrize(
    ("revisions", "compared"),
    [
        (("1",) * 6, 0),
        (("0",) * 5 + ("1",), 5),
        (("0",) * 4 + ("1",) * 2, 0),
    ],
)
def test_the_first_counted_hour_is_compared_with_another_revision_alone(
    database: Database, revisions: tuple[str, ...], compared: int
) -> None:
    """Six hours before the onset, of these revisions; the last but one is of the present revision where that began too early."""
    stage = watched(database, metrics=("disparate_impact",))
    records = world([1.0] * 6 + [0.3] * 10, seed=1, records=120)
    for number, revision in enumerate((*revisions, *("1",) * 10)):
        own = [record for record in records if record.hour == START + number * HOUR]
        log(stage, own, first_no=1_000 * (number + 1), revision=revision)
    alerted = AlertedGroup(Comparison(("sex",)), "female", counted_from=START + 6 * HOUR)

    with arrow_reader(database) as reader:
        span = Span(start=START + 6 * HOUR, end=START + 16 * HOUR)
        change = explain_alert(reader, stage.deployment, stage.monitor(), alerted, span).change

    assert change.before.monitored.records + change.before.reference.records == 120 * compared
    assert change.is_known is (compared > 0)
    assert change.after.gap == pytest.approx(-0.42, abs=0.08)


def test_an_attribute_that_is_no_longer_watched_cannot_be_explained(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = alarmed(database)
    stage.watch(replace(stage.monitor(), attributes=(PLACE,)))

    run_all(database)

    (ended,) = all_attributions(database, stage.deployment.no)
    assert ended.state is AttributionState.FAILED
    assert says(ended.problem, "sex")
    assert ended.problem == snapshot
    assert alert_of(stage).change is None


@pytest.mark.nightly
def test_the_reason_is_on_the_page_and_in_the_api(database: Database, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    stage = alarmed(database)
    alert_id = alert_of(stage).id
    with running_service(database, tmp_path) as service:

        def read() -> list[httpx.Response]:
            return [
                service.client.get(f"/v1/alerts/{alert_id}"),
                service.client.get(f"/alerts/{alert_id}", headers={"Accept": "text/html"}),
            ]

        before, page_before = read()
        run_all(database)
        after, page_after = read()

    assert before.json()["change"] is None
    assert says(page_before.text, "A worker computes it")
    change = after.json()["change"]
    assert says(change["sentence"], "female", "sex", "reference")
    assert change["sentence"] == snapshot
    assert change["after"]["gap"] - change["before"]["gap"] == pytest.approx(
        sum(change["features"][0][part] for part in ("who_asked", "how_answered", "no_counterpart")), abs=1e-9
    )
    assert "selected by the alarm" in page_after.text
    assert "How the model answers" in page_after.text
