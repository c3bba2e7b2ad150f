"""Bodies and addresses of the ordinary routes that two readers would understand differently, or that no reader understands."""

import json
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from syrupy.assertion import SnapshotAssertion

from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
JSON = {"Content-Type": "application/json"}


def twice(body: dict[str, Any], name: str) -> str:
    """The body as JSON, in which a member comes a second time."""
    return f"{json.dumps(body)[:-1]}, {json.dumps(name)}: {json.dumps(body[name])}}}"


@pytest.fixture
def registered(service: RunningService) -> RunningService:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    return service


def test_a_member_that_is_named_twice_is_refused_by_its_name(registered: RunningService, subtests: pytest.Subtests) -> None:
    for method, path, body, name in (
        ("POST", "/v1/deployments", deployment(id="other"), "name"),
        ("PATCH", DEPLOYMENT, {"name": "New"}, "name"),
        ("PUT", f"{DEPLOYMENT}/fairness-monitor", monitor(), "attributes"),
        ("POST", "/v1/api-keys", {"name": "k", "role": "read"}, "role"),
        ("PUT", f"{DEPLOYMENT}/training-data", {"records": 1, "distributions": []}, "records"),
        ("POST", f"{DEPLOYMENT}/payload-records", {"records": []}, "records"),
        ("POST", f"{DEPLOYMENT}/feedback-records", {"records": []}, "records"),
    ):
        with subtests.test(method=method, path=path, body=body, name=name):
            answer = registered.client.request(method, path, content=twice(body, name), headers=JSON)

            assert answer.status_code == 422
            assert answer.json()["errors"] == [{"field": "body", "message": f"names the member '{name}' twice in one object"}]


def test_a_number_that_would_be_read_as_zero_is_refused(registered: RunningService, snapshot: SnapshotAssertion) -> None:
    body = json.dumps(monitor() | {"min_records": 0.5}).replace("0.5", "1e-400")

    answer = registered.client.put(f"{DEPLOYMENT}/fairness-monitor", content=body, headers=JSON)

    assert answer.status_code == 422
    assert says(message := answer.json()["errors"][0]["message"], "1e-400")
    assert message == snapshot


def test_a_host_that_is_no_domain_name_is_refused(registered: RunningService, subtests: pytest.Subtests) -> None:
    for url in ("http://xn--/", "http://xn--a/", "http://xn--zzzzzz-/score", "http://" + "a" * 64 + ".xn--/"):
        with subtests.test(url=url):
            endpoint = registered.client.post("/v1/deployments", json=deployment(id="other") | {"endpoint": {"url": url}})
            changed = registered.client.patch(DEPLOYMENT, json={"endpoint": {"url": url}})
            webhook = registered.client.put("/v1/alert-channels/w", json={"kind": "webhook", "name": "w", "url": url})

            assert [answer.status_code for answer in (endpoint, changed, webhook)] == [422, 422, 422]


def test_an_error_of_the_database_does_not_hold_what_was_asked_with(service: RunningService) -> None:
    with pytest.raises(DBAPIError) as failure, service.database.transaction() as session:
        session.execute(text("SELECT CAST(:name AS integer), 1 / 0"), {"name": "ada lovelace"})

    assert "parameters: " not in str(failure.value)


@pytest.mark.parametrize("name", ["\ufffe", "\uffff", "\ufdd0", "\U0001fffe"])
@pytest.mark.nightly
def test_a_name_of_noncharacters_reaches_every_file(registered: RunningService, name: str) -> None:
    registered.client.patch(DEPLOYMENT, json={"name": f"a{name}b"}).raise_for_status()
    watched = monitor(intersections=[])
    watched["attributes"] = [{"feature": "Sex", "monitored": [f"x{name}"], "reference": ["male"]}]
    registered.client.put(f"{DEPLOYMENT}/fairness-monitor", json=watched).raise_for_status()

    for path in ("/report.pdf", "/report.html", "/charts/volume.svg", "/charts/series.svg?metric=disparate_impact&attribute=Sex"):
        answer = registered.client.get(DEPLOYMENT + path)
        assert answer.status_code == 200, (path, answer.text)
