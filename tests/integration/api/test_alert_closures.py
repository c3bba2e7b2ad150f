"""The life of an alert of evidence over HTTP: opened, resolved, opened again, closed by hand, superseded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.alerts.evaluate import evaluate_evidence
from app.database.engine import Database
from app.domain.alert import VerdictCondition
from app.sources.stored.window_queries import note_changed_hours
from tests.builders.alert_history import History
from tests.builders.evidence_worlds import START, log, update, watched, world
from tests.builders.page_words import says
from tests.scenes import HOUR, Scene, SceneMemory
from tests.service import RunningService, running_service

NOTE = {"note": "  Threshold corrected.\nSee the minutes of Friday. ", "reason": "fixed"}


@pytest.fixture
def stage(database: Database, memory: SceneMemory) -> Scene:
    """Women are approved less, then as often, then less again."""

    def make() -> Scene:
        stage = watched(database, metrics=("disparate_impact",))
        log(stage, world([1.0] * 20 + [0.3] * 12 + [1.0] * 40 + [0.3] * 30, seed=1, records=120), first_no=1)
        return stage

    return memory.recall(database, make)


@pytest.fixture
def service(stage: Scene, tmp_path: Path) -> Iterator[RunningService]:
    """The service after the records: those of a scene replace all rows, keys included."""
    with running_service(stage.database, tmp_path) as service:
        yield service


def follow(stage: Scene, until: int) -> None:
    """Counts the hours before that one and decides the alerts."""
    update(stage, START + until * HOUR)
    evaluate_evidence(stage.database)


def alerts(service: RunningService) -> list[dict[str, Any]]:
    """All alerts, oldest first."""
    found: list[dict[str, Any]] = service.client.get("/v1/alerts").raise_for_status().json()["alerts"]
    return found[::-1]


def close(service: RunningService, alert_id: str, body: object = NOTE, **request: Any) -> Any:  # noqa: ANN401 - httpx' own
    return service.client.post(f"/v1/alerts/{alert_id}/closure", json=body, **request)


@pytest.mark.nightly
def test_an_alert_is_opened_resolved_opened_again_closed_by_hand_and_superseded_by_a_model_revision(
    service: RunningService, stage: Scene, snapshot: SnapshotAssertion
) -> None:
    follow(stage, 20)
    assert alerts(service) == []

    follow(stage, 30)
    (first,) = alerts(service)
    assert (first["state"], first["kind"], first["figures"][0]["rule_id"]) == ("open", "unfair", "unfair")
    assert says(first["figures"][0]["facts"]["sentence"], "0.8", "since 2026-03-03")
    assert first["figures"][0]["facts"]["sentence"] == snapshot

    follow(stage, 72)
    (first,) = alerts(service)
    assert (first["resolution"], first["closed_by"]) == ("recovered", None)
    assert says(first["figures"][0]["facts"]["sentence"], "2026-03-03")

    follow(stage, 84)
    first, second = alerts(service)
    assert second["state"] == "open"
    closed = close(service, second["id"])
    again = close(service, second["id"], {"note": "Another one."})
    assert closed.status_code == 200
    body = closed.json()
    assert (body["state"], body["resolution"]) == ("resolved", "closed")
    assert body["closing_note"] == NOTE["note"].strip()
    assert body["closed_by"]
    assert body["figures"][0]["facts"]["sentence"].startswith("Closed by hand.")
    assert again.json() == body
    answer = service.client.get("/v1/deployments/a-model/evidence").json()["comparisons"][0]
    assert (answer["state"], answer["log_evidence"]) == ("undecided", 0.0)

    follow(stage, 100)
    *_, third = alerts(service)
    assert len(alerts(service)) == 3
    service.client.patch("/v1/deployments/a-model", json={"model_revision": "2"}).raise_for_status()
    follow(stage, 101)
    assert [alert["resolution"] for alert in alerts(service)] == ["recovered", "closed", "superseded"]
    assert close(service, third["id"]).status_code == 409
    actions = service.client.get("/v1/activities").json()["activities"]
    assert [(action["subject"], action["details"]) for action in actions if action["action"] == "alert.closed"] == [
        (second["id"], {"note": "Threshold corrected.\nSee the minutes of Friday.", "reason": "fixed"})
    ]


def test_a_closing_needs_a_note_that_people_can_read(service: RunningService, stage: Scene, subtests: pytest.Subtests) -> None:
    follow(stage, 30)

    for body, message in (
        ({}, "note"),
        ({"note": " "}, "must say why the alert is closed"),
        ({"note": "a\u0000b"}, "control characters"),
        ({"note": "x" * 2001}, "note"),
        ({"note": "x", "why": "y"}, "why"),
        ({"note": "x", "reason": "tired"}, "reason"),
    ):
        with subtests.test(body=body, message=message):
            answer = close(service, alerts(service)[0]["id"], body)

            assert answer.status_code == 422
            assert message in answer.text
            assert alerts(service)[0]["state"] == "open"


def test_who_may_only_read_or_is_bound_elsewhere_closes_nothing(service: RunningService, stage: Scene) -> None:
    follow(stage, 30)
    (alert,) = alerts(service)

    assert close(service, alert["id"], headers=service.as_(Role.READ)).status_code == 403
    assert close(service, "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11").status_code == 404
    assert close(service, alert["id"], headers=service.as_(Role.MANAGE, stage.deployment.no)).status_code == 200


def test_an_alert_about_single_checks_is_not_closed_by_hand(database: Database, tmp_path: Path) -> None:
    history = History(database)
    history.rule("unfair", VerdictCondition())
    history.ends(0, {"female": "unfair"})
    history.evaluate()
    with running_service(database, tmp_path) as service:
        (alert,) = alerts(service)
        answer = close(service, alert["id"])

    assert answer.status_code == 409
    assert "only evidence is closed by hand" in answer.text


@pytest.mark.thorough
def test_counting_the_past_again_may_end_an_alarm_and_the_alert_says_so(
    service: RunningService, stage: Scene, snapshot: SnapshotAssertion
) -> None:
    follow(stage, 30)
    with stage.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE payload_records SET prediction = '1'")
    with stage.database.transaction() as session:
        note_changed_hours(session, stage.deployment.no, [START + hour * HOUR for hour in range(30)])
    follow(stage, 30)
    (alert,) = alerts(service)

    assert alert["resolution"] == "recovered"
    assert alert["figures"][0]["facts"]["sentence"] == snapshot
