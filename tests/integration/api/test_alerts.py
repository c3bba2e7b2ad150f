"""Alerts over HTTP: lists, one alert, taking one on, and the gauge."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from app.access.principals import Role
from app.alerts.queries import OpenAlerts
from app.database.engine import Database
from app.domain.alert import AlertKind, AlertState, FailedChecksCondition
from app.overview.health.routes import MAX_GAUGED_DEPLOYMENTS, OTHERS, build_alert_gauge
from tests.builders.alert_history import CHANNEL, History
from tests.builders.bodies import deployment
from tests.scenes import SceneMemory
from tests.service import RunningService, running_service

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def history(database: Database, memory: SceneMemory) -> History:
    """Alerts about two groups and about a failed check, oldest first."""

    def make() -> History:
        history = History(database)
        history.rule("failing", FailedChecksCondition())
        history.ends(0, {"female": "unfair", "other": "unfair"})
        history.fails(1)
        history.evaluate()
        return history

    return memory.recall(database, make)


@pytest.fixture
def service(history: History, tmp_path: Path) -> Iterator[RunningService]:
    """The service on a database with these alerts, and with a second deployment."""
    with running_service(history.database, tmp_path) as service:
        assert service.client.post("/v1/deployments", json=deployment()).status_code == 201
        yield service


def listed(service: RunningService, path: str = "/v1/alerts", **params: Any) -> list[tuple[str, str | None]]:  # noqa: ANN401 - a query
    answer = service.client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return [(alert["figures"][0]["rule_id"], alert["group"]) for alert in answer.json()["alerts"]]


def acknowledge(service: RunningService, alert_id: str, body: object = None, **request: Any) -> Any:  # noqa: ANN401 - httpx' own
    # Written here, because httpx cannot write half a character.
    headers = {"Content-Type": "application/json", **request.pop("headers", {})}
    content = None if body is None else json.dumps(body)
    return service.client.post(f"/v1/alerts/{alert_id}/acknowledgement", content=content, headers=headers, **request)


EVERY = [("failing", None), ("unfair", "other"), ("unfair", "female")]


def test_alerts_are_listed_newest_first_with_what_they_rest_on(service: RunningService) -> None:
    answer = service.client.get("/v1/alerts").json()

    first = answer["alerts"][-1]
    assert answer["next_cursor"] is None
    assert listed(service) == EVERY
    assert (first["deployment_id"], first["deployment_name"], first["state"], first["kind"]) == ("a-model", "A model", "open", "unfair")
    assert (first["metric"], first["data"], first["attribute"], first["value"]) == ("disparate_impact", "as_logged", "sex", 0.3)
    assert service.client.get(f"/v1/alerts/{first['id']}").json() == first
    assert listed(service, "/v1/deployments/a-model/alerts") == EVERY
    assert listed(service, "/v1/deployments/credit-risk/alerts") == []


def test_alerts_are_filtered_and_paged(service: RunningService, history: History) -> None:
    taken = history.alerts()[0].id
    acknowledge(service, taken)
    history.ends(2, {"other": "fair"})
    history.evaluate()
    page = service.client.get("/v1/alerts", params={"limit": 2}).json()

    assert listed(service, state="open") == []
    assert listed(service, state="acknowledged") == [("unfair", "female")]
    assert listed(service, state="resolved") == [("failing", None), ("unfair", "other")]
    assert listed(service, attribute="sex") == EVERY[1:]
    assert listed(service, deployment="a-model", attribute="age") == []
    assert listed(service, deployment="credit-risk") == []
    assert listed(service, "/v1/deployments/a-model/alerts", state="acknowledged", attribute="sex") == [("unfair", "female")]
    assert listed(service, limit=2, cursor=page["next_cursor"]) == [("unfair", "female")]


def test_filters_that_mean_nothing_are_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for query in ("state=closed", "deployment=A%20B", "attribute=%00", "cursor=x", "limit=0"):
        with subtests.test(query=query):
            assert service.client.get(f"/v1/alerts?{query}").status_code == 422


def test_the_first_to_take_an_alert_on_counts_and_again_changes_nothing(service: RunningService, history: History) -> None:
    alert = history.alerts()[0]
    first = acknowledge(service, alert.id, {"note": " The new price list.\nRetraining. "})
    second = acknowledge(service, alert.id, {"note": "Me, too."}, headers=service.as_(Role.MANAGE))

    body = first.json()
    assert (first.status_code, body["state"], body["note"]) == (200, "acknowledged", "The new price list.\nRetraining.")
    assert second.json() == body
    assert history.told()[3:] == [("acknowledged", "female")]
    with service.database.transaction() as session:
        found = session.execute(text("SELECT actor, subject, deployment_id FROM activities WHERE action = 'alert.acknowledged'")).all()
    assert [tuple(row) for row in found] == [(body["acknowledged_by"], alert.id, "a-model")]


def test_an_alert_may_be_taken_on_without_a_word(service: RunningService, history: History) -> None:
    answer = acknowledge(service, history.alerts()[0].id, {})

    assert (answer.status_code, answer.json()["note"]) == (200, None)


def test_an_alert_that_was_taken_on_is_still_resolved_by_itself(service: RunningService, history: History) -> None:
    alert = history.alerts()[0]
    acknowledge(service, alert.id, {"note": "On it."})
    history.ends(2, {"female": "fair"})
    history.evaluate()
    after = service.client.get(f"/v1/alerts/{alert.id}").json()

    assert (after["state"], after["resolution"], after["note"]) == ("resolved", "recovered", "On it.")


def test_a_resolved_alert_cannot_be_taken_on(service: RunningService, history: History) -> None:
    history.ends(2, {"female": "fair"})
    history.evaluate()

    assert acknowledge(service, history.alerts()[0].id).status_code == 409


def test_hostile_notes_are_refused(service: RunningService, history: History, subtests: pytest.Subtests) -> None:
    for body in (
        {"note": 7},
        {"note": "a\u0000b"},
        {"note": "\u001b[2J"},
        {"note": "x" * 2001},
        {"notes": "x"},
        [],
        "x",
        {"note": "\ud800"},
    ):
        with subtests.test(body=body):
            assert acknowledge(service, history.alerts()[0].id, body).status_code == 422


def test_an_alert_that_is_not_there_is_not_found(service: RunningService) -> None:
    assert service.client.get(f"/v1/alerts/{UNKNOWN}").status_code == 404
    assert acknowledge(service, UNKNOWN).status_code == 404
    assert service.client.get("/v1/alerts/x").status_code == 422


def test_a_bound_key_sees_the_alerts_of_its_deployment_only(service: RunningService, history: History) -> None:
    with service.database.transaction() as session:
        other = session.scalars(text("SELECT no FROM deployments WHERE id = 'credit-risk'")).one()
    alert = history.alerts()[0].id
    stranger, own = service.as_(Role.MANAGE, other), service.as_(Role.READ, history.no)

    assert service.client.get("/v1/alerts", headers=stranger).json()["alerts"] == []
    assert service.client.get("/v1/alerts", params={"deployment": "a-model"}, headers=stranger).json()["alerts"] == []
    assert service.client.get("/v1/deployments/a-model/alerts", headers=stranger).status_code == 404
    unseen = service.client.get(f"/v1/alerts/{alert}", headers=stranger)
    assert (unseen.status_code, unseen.json()["detail"]) == (404, f"There is no alert {alert}.")
    assert acknowledge(service, alert, headers=stranger).status_code == 404
    assert len(service.client.get("/v1/alerts", headers=own).json()["alerts"]) == 3
    assert service.client.get(f"/v1/alerts/{alert}", headers=own).status_code == 200
    assert acknowledge(service, alert, headers=service.as_(Role.INGEST, history.no)).status_code == 403
    assert acknowledge(service, alert, headers=own).status_code == 200
    assert service.client.get("/v1/alerts", headers=service.as_(Role.INGEST)).status_code == 403


def test_a_deleted_rule_leaves_its_alerts_resolved_in_the_list(service: RunningService, history: History) -> None:
    service.client.delete("/v1/deployments/a-model/alert-rules/unfair")
    alerts = service.client.get("/v1/alerts", params={"attribute": "sex"}).json()["alerts"]

    assert [(alert["figures"][0]["rule_id"], alert["resolution"]) for alert in alerts] == [("unfair", "rule_deleted")] * 2
    assert history.told()[3:] == [("resolved", "female"), ("resolved", "other")]


def test_putting_a_rule_over_http_resolves_what_it_would_not_open(service: RunningService, history: History) -> None:
    rule = {"name": "Off", "condition": {"kind": "verdict"}, "channels": [CHANNEL], "enabled": False}
    answer = service.client.put("/v1/deployments/a-model/alert-rules/unfair", json=rule)

    assert answer.status_code == 200, answer.text
    assert {alert.resolution for alert in history.alerts()[:2]} == {"rule_disabled"}


def test_the_gauge_counts_alerts_that_are_not_over(service: RunningService, history: History) -> None:
    acknowledge(service, history.alerts()[0].id)
    families = text_string_to_metric_families(service.client.get("/metrics").text)
    (gauge,) = [family for family in families if family.name == "evenhand_alerts"]
    found = {tuple(sample.labels.values()): sample.value for sample in gauge.samples}

    assert {labels: value for labels, value in found.items() if value} == {
        ("a-model", "unfair", "acknowledged"): 1,
        ("a-model", "unfair", "unacknowledged"): 1,
        ("a-model", "failed_checks", "unacknowledged"): 1,
    }
    assert len([labels for labels in found if labels[0] == OTHERS]) == 10


def test_the_gauge_has_a_bounded_number_of_series() -> None:
    alerts = [OpenAlerts(f"d{no}", AlertKind.UNFAIR, AlertState.OPEN, 1 + (no == 700)) for no in range(701)]
    samples = build_alert_gauge(alerts).samples

    names = {sample.labels["deployment"] for sample in samples}
    assert len(names) == MAX_GAUGED_DEPLOYMENTS + 1
    assert "d700" in names
    assert sum(sample.value for sample in samples) == 702
