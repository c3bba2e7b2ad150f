from datetime import datetime
from typing import Any

import httpx

from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

ADDRESS = "/v1/deployments/credit-risk"
CHECKED = {"validate_only": "true"}


def fields(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 422, answer.text
    return {problem["field"] for problem in answer.json()["errors"]}


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    assert datetime.fromisoformat(document["created_at"]).tzinfo is not None
    return {name: value for name, value in document.items() if name not in {"created_at", "updated_at"}}


def count(service: RunningService) -> int:
    return len(service.client.get("/v1/activities").json()["activities"])


def test_a_new_deployment_that_is_only_checked_is_answered_and_not_there(service: RunningService) -> None:
    checked = service.client.post("/v1/deployments", json=deployment(), params=CHECKED)
    read = service.client.get(ADDRESS)
    suggested = service.client.post("/v1/deployments", json=deployment(id=None), params=CHECKED)
    listed = service.client.get("/v1/deployments").json()["deployments"]
    said = count(service)
    created = service.client.post("/v1/deployments", json=deployment())

    assert (checked.status_code, read.status_code, listed, said) == (200, 404, [], 0)
    assert suggested.json()["id"].startswith("credit-risk-")
    assert created.status_code == 201
    assert without_times(created.json()) == without_times(checked.json())


def test_a_new_deployment_is_refused_alike_whether_it_is_only_checked_or_not(service: RunningService) -> None:
    body = deployment(
        name=" ",
        features=[{"name": "Age", "type": "integer"}, {"name": "Age", "type": "string", "kind": "numeric"}],
        endpoint={"url": "http://169.254.169.254/", "credentials": {"kind": "basic", "name": "a:b", "secret": "s"}},
    )
    checked = service.client.post("/v1/deployments", json=body, params=CHECKED)
    meant = service.client.post("/v1/deployments", json=body)
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    taken = service.client.post("/v1/deployments", json=deployment(name="Other"), params=CHECKED)

    assert fields(checked) == {"name", "features[1].name", "features[1].kind", "endpoint.url", "endpoint.credentials.name"}
    assert checked.json()["errors"] == meant.json()["errors"]
    assert taken.status_code == 409


def test_of_a_form_that_is_still_empty_everything_is_told_at_once(service: RunningService) -> None:
    endpoint = {
        "url": "",
        "credentials": {"kind": "bearer", "secret": ""},
        "timeout_seconds": 0,
        "page_size": 0,
        "concurrency": 0,
        "requests_per_second": 0,
    }
    body = deployment(name="", model_revision="", features=[], outputs={"prediction": ""}, endpoint=endpoint)
    new = service.client.post("/v1/deployments", json=body, params=CHECKED)
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    change = {name: body[name] for name in ("name", "model_revision", "features", "outputs", "endpoint")}
    changed = service.client.patch(ADDRESS, json=change, params=CHECKED)

    members = {"url", "credentials.secret", "timeout_seconds", "page_size", "concurrency", "requests_per_second"}
    expected = {"name", "model_revision", "features", "outputs.prediction", *(f"endpoint.{member}" for member in members)}
    assert fields(new) == expected
    assert fields(changed) == expected


def test_a_change_that_is_only_checked_changes_nothing(service: RunningService) -> None:
    before = service.client.post("/v1/deployments", json=deployment()).json()
    service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor()).raise_for_status()
    said = count(service)
    change = {"meta": [], "name": "Other"}
    checked = service.client.patch(ADDRESS, json=change, params=CHECKED)
    unfit = service.client.patch(ADDRESS, json={"features": [{"name": "Sex", "type": "string"}]}, params=CHECKED)
    kept = service.client.get(ADDRESS).json()
    moved = {"endpoint": {"url": "http://169.254.169.254/score", "page_size": 5}, "name": " "}
    several = service.client.patch(ADDRESS, json=moved, params=CHECKED)

    assert (checked.status_code, checked.json()["name"], checked.json()["schema_version"]) == (200, "Other", 2)
    assert unfit.status_code == 409
    assert fields(several) == {"name", "endpoint.url", "endpoint.credentials"}
    assert kept == before
    assert count(service) == said


def test_a_monitor_that_is_only_checked_is_answered_with_its_next_version_and_not_stored(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    address = f"{ADDRESS}/fairness-monitor"
    first = service.client.put(address, json=monitor(), params=CHECKED)
    absent = service.client.get(address)
    service.client.put(address, json=monitor()).raise_for_status()
    second = service.client.put(address, json=monitor(min_records=7), params=CHECKED)
    same = service.client.put(address, json=monitor(), params=CHECKED)
    stored = service.client.get(address).json()

    assert (first.status_code, first.json()["version"], absent.status_code) == (200, 1, 404)
    assert (second.json()["version"], second.json()["min_records"], same.json()["version"]) == (2, 7, 1)
    assert (stored["version"], stored["min_records"]) == (1, 100)
    assert count(service) == 2


def test_a_monitor_is_told_what_the_rules_and_the_training_data_say_at_once(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    postcode = {"feature": "Postcode", "monitored": ["1"], "correlated_features": ["Age"]}
    body = monitor(attributes=[postcode], intersections=[], min_records=0)
    checked = service.client.put(f"{ADDRESS}/fairness-monitor", json=body, params=CHECKED)

    assert fields(checked) == {"min_records", "attributes[0].correlated_features[0]"}


def test_a_misspelt_wish_to_check_only_stores_nothing(service: RunningService) -> None:
    misspelt = service.client.post("/v1/deployments", json=deployment(), params={"validateonly": "true"})
    twice = service.client.post("/v1/deployments?validate_only=true&validate_only=false", json=deployment())
    no_word = service.client.post("/v1/deployments", json=deployment(), params={"validate_only": "maybe"})

    assert (fields(misspelt), fields(twice), fields(no_word)) == ({"query.validateonly"}, {"query.validate_only"}, {"validate_only"})
    assert service.client.get("/v1/deployments").json()["deployments"] == []
