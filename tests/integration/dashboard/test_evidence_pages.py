"""Pages about evidence over time: rules and false alarms, the state of every comparison, alerts."""

import re
from dataclasses import replace

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.alerts.evaluate import evaluate_evidence
from app.base.clock import floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.monitor import EvidenceSettings
from app.evidence.words import NO_NEW_EVIDENCE
from app.statistics.e_values.state_words import SINGLE_CHECKS_ALARM
from tests.builders.alerts import judge_single_checks
from tests.builders.evidence_worlds import START, log, update, watched, world
from tests.builders.page_words import says, words
from tests.scenes import HOUR, Scene
from tests.service import RunningService

PAGE = "/deployments/a-model"


def rules_of(text: str) -> str:
    """The rules as they are listed, without the forms that change them."""
    return words(re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL))


def test_a_rule_about_single_checks_says_how_often_it_is_wrong(
    service: RunningService, stage: Scene, reader: httpx.Client, database: Database, snapshot: SnapshotAssertion
) -> None:
    by_evidence = reader.get(f"{PAGE}/alerts").text
    judge_single_checks(database, stage.deployment.no)
    by_checks = reader.get(f"{PAGE}/alerts").text
    rule = {"name": "Evidence", "condition": {"kind": "evidence", "attributes": ["sex"], "data": ["as_logged"]}}
    service.client.put(f"/v1{PAGE}/alert-rules/evidence", json=rule).raise_for_status()
    by_both = reader.get(f"{PAGE}/alerts").text

    assert SINGLE_CHECKS_ALARM not in rules_of(by_evidence)
    assert rules_of(by_evidence) == snapshot(name="evidence")
    assert rules_of(by_checks).count(SINGLE_CHECKS_ALARM) == 1
    assert 'href="#add-rule"' in by_checks
    assert rules_of(by_both).count(SINGLE_CHECKS_ALARM) == 1
    assert 'href="#rule-evidence"' in by_both
    assert 'id="rule-evidence"' in by_both
    assert says(rules_of(by_both), "as logged", "sex")
    assert rules_of(by_both) == snapshot(name="both")


def test_the_form_of_a_new_rule_begins_with_evidence_and_warns_of_single_checks(stage: Scene, reader: httpx.Client) -> None:
    text = reader.get(f"{PAGE}/alerts").text
    form = text.partition('id="add-rule"')[2]

    assert stage.deployment.id == "a-model"
    assert '<option value="evidence" selected>' in form
    assert SINGLE_CHECKS_ALARM in words(form)


def evidence_on(text: str) -> str:
    """The section about evidence of a deployment's page."""
    return words(text.partition('id="evidence"')[2].partition("</section>")[0])


def test_a_deployment_without_a_counted_hour_says_so(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    said = evidence_on(reader.get(PAGE).text)

    assert stage.deployment.id == "a-model"
    assert said == snapshot


@pytest.mark.nightly
def test_every_comparison_has_its_state_and_its_counts(database: Database, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world([1.0] * 30 + [0.3] * 15, seed=1, records=120), first_no=1)
    update(stage, START + 45 * HOUR)
    evaluate_evidence(database)
    text = reader.get(f"{PAGE}/explore").text
    said = evidence_on(text)
    counts = re.findall(r'href="(/v1/[^"]*/hours)"', text)
    alert = re.findall(r'href="(/alerts/[0-9a-f-]+)"', reader.get("/alerts").text)[0]
    about = reader.get(alert).text

    assert f"{START + 45 * HOUR:%Y-%m-%d %H:%M} UTC" in evidence_on(reader.get(PAGE).text)
    assert "at least 0.8, at most 1.25 Unfair since " in said
    assert said == snapshot(name="evidence")
    assert len(counts) == 1
    for address in counts:
        assert reader.get(address).status_code == 200
    assert words(about) == snapshot(name="alert")
    assert 'href="/deployments/a-model#evidence"' in about


@pytest.mark.parametrize(("ratios", "is_first"), [([0.3] * 10, True), ([1.0] * 20 + [0.3] * 10, False)])
def test_every_page_says_or_before_of_what_is_unfair_since_the_first_counted_hour(
    database: Database,
    reader: httpx.Client,
    ratios: list[float],
    is_first: bool,  # noqa: FBT001 - a parameter
) -> None:
    stage = watched(database, metrics=("disparate_impact", "statistical_parity_difference"))
    end = floor_to_hour(utc_now())
    shift = end - len(ratios) * HOUR - START
    log(stage, [replace(record, hour=record.hour + shift) for record in world(ratios, seed=1, records=120)], first_no=1)
    update(stage, end)
    stage.check(end - HOUR)
    evaluate_evidence(database)
    page, overview, alerts = (reader.get(path).text for path in (PAGE, "/", "/alerts"))

    shown = [
        *re.findall(r'<span class="whole">since \d[^<]*</span>', page),
        *re.findall(r'<td data-label="State">.*?</td>', page, re.DOTALL),
        *re.findall(r'<td data-label="Since">.*?</td>', overview),
        *re.findall(r'<td data-label="Unfair since">.*?</td>', alerts),
    ]
    assert len(shown) == 4
    assert all(re.search(r"\d", text) for text in shown)
    assert ["or before" in text for text in shown] == [is_first] * 4


def test_what_does_not_count_is_named(database: Database, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    stage = watched(database, evidence=EvidenceSettings(person="person"))
    log(stage, world([1.0] * 3, seed=1), first_no=1)
    update(stage, START + 3 * HOUR)
    said = evidence_on(reader.get(PAGE).text)

    assert says(said, "person")
    assert said == snapshot


def test_a_deployment_without_a_monitor_has_no_evidence(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    service.client.delete(f"/v1{PAGE}/fairness-monitor").raise_for_status()

    assert stage.deployment.id == "a-model"
    assert "Evidence over time" not in reader.get(PAGE).text


@pytest.mark.nightly
def test_an_open_alert_of_evidence_can_be_closed_and_says_who_did_it(
    service: RunningService, database: Database, reader: httpx.Client, browser: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world([1.0] * 20 + [0.3] * 10, seed=1, records=120), first_no=1)
    update(stage, START + 30 * HOUR)
    evaluate_evidence(database)
    alert_id = service.client.get("/v1/alerts").json()["alerts"][0]["id"]
    offered = reader.get(f"/alerts/{alert_id}").text
    service.client.post(f"/v1/alerts/{alert_id}/closure", json={"note": "Corrected <b>now</b>."}).raise_for_status()
    closed = reader.get(f"/alerts/{alert_id}").text
    browser.post("/login", data={"key": service.key(Role.READ)})

    assert f"POST /v1/alerts/{alert_id}/closure" in offered
    assert "Close the alert" in words(offered)
    assert "Close the alert" not in words(closed)
    assert says(words(closed), "Corrected <b>now</b>.")
    assert words(closed) == snapshot
    assert "Corrected &lt;b&gt;now&lt;/b&gt;." in closed
    assert "Close the alert" not in browser.get(f"/alerts/{alert_id}").text


@pytest.mark.nightly
def test_an_alarm_without_new_evidence_is_marked_where_it_is_shown(
    database: Database, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, world([1.0] * 20 + [0.3] * 12 + [0.82] * 220, seed=2, records=60), first_no=1)
    update(stage, START + 252 * HOUR)
    evaluate_evidence(database)
    alert = re.findall(r'href="(/alerts/[0-9a-f-]+)"', reader.get("/alerts").text)[0]

    assert NO_NEW_EVIDENCE in evidence_on(reader.get(f"{PAGE}/explore").text)
    assert words(reader.get(alert).text) == snapshot
