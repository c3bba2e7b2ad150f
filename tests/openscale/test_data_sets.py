"""Data sets of a subscription: named, deleted without their records, and back again; and records that are sent again later."""

import httpx
import pytest

from tests.builders.openscale_bodies import BASE, added, applicants, message_of, payload, read
from tests.service import RunningService


def change(service: RunningService, data_set: str, path: str, value: object) -> httpx.Response:
    return service.client.patch(f"{BASE}/data_sets/{data_set}", json=[{"op": "replace", "path": path, "value": value}])


def test_a_name_and_a_description_are_kept_also_when_the_subscription_changes(service: RunningService, subscribed: str) -> None:
    data_set = f"feedback.{subscribed}"
    assert change(service, data_set, "/name", "Labels of 2026").status_code == 200
    assert change(service, data_set, "/description", "By the auditors").json()["entity"]["name"] == "Labels of 2026"

    patch = [{"op": "replace", "path": "/asset_properties/label_column", "value": "paid_back"}]
    assert service.client.patch(f"{BASE}/subscriptions/{subscribed}", json=patch).status_code == 200
    entity = read(service.client, f"data_sets/{data_set}")["entity"]
    assert (entity["name"], entity["description"]) == ("Labels of 2026", "By the auditors")
    assert read(service.client, f"data_sets/payload_logging.{subscribed}")["entity"]["name"] == "Payload of Credit"


@pytest.mark.parametrize(
    ("path", "value", "advice"),
    [
        (
            "/data_schema/fields",
            [],
            "data_schema: of a data set cannot be changed in Evenhand: patch /asset_properties of its subscription",
        ),
        ("/type", "feedback", "type: of a data set cannot be changed in Evenhand: only name and description can be"),
        ("/owner", "ada", "owner: of a data set cannot be changed in Evenhand: only name and description can be"),
        ("/name", 7, "name: "),
    ],
)
def test_what_else_a_data_set_says_cannot_be_changed(
    service: RunningService, subscribed: str, path: str, value: object, advice: str
) -> None:
    answer = change(service, f"payload_logging.{subscribed}", path, value)

    assert (answer.status_code, advice in message_of(answer)) == (422, True), answer.text


def test_a_deleted_data_set_is_gone_until_it_is_added_again_and_its_records_stay(service: RunningService, subscribed: str) -> None:
    data_set = f"payload_logging.{subscribed}"
    records = f"data_sets/{data_set}/records"
    added(service.client, records, payload(applicants(3), "kept"))
    refused = service.client.delete(f"{BASE}/data_sets/{data_set}", params={"force": "true"})
    assert (refused.status_code, "without force" in message_of(refused)) == (409, True)

    assert service.client.delete(f"{BASE}/data_sets/{data_set}").status_code == 202
    left = service.client.get(f"{BASE}/data_sets", params={"target.target_id": subscribed}).json()["data_sets"]
    assert [resource["metadata"]["id"] for resource in left] == [f"feedback.{subscribed}"]
    send = service.client.request
    for method, path in (("GET", f"data_sets/{data_set}"), ("DELETE", f"data_sets/{data_set}"), ("GET", records)):
        assert send(method, f"{BASE}/{path}").status_code == 404
    assert send("POST", f"{BASE}/{records}", json=payload(applicants(3), "late")).status_code == 404

    target = {"target_type": "subscription", "target_id": subscribed}
    added(service.client, "data_sets", {"type": "payload_logging", "target": target, "name": "payload"})
    assert read(service.client, records, limit=0, include_total_count=True)["total_count"] == 3


def test_a_data_set_of_a_deployment_of_rest_v1_can_be_deleted(service: RunningService) -> None:
    definition = {
        "name": "By REST",
        "problem_type": "binary",
        "features": [{"name": "sex", "type": "string"}],
        "outputs": {"prediction": "prediction"},
    }
    created = service.client.post("/v1/deployments", json=definition)
    assert created.status_code == 201, created.text
    data_set = f"feedback.{created.json()['id']}"

    assert service.client.delete(f"{BASE}/data_sets/{data_set}").status_code == 202
    assert service.client.get(f"{BASE}/data_sets/{data_set}").status_code == 404


def test_a_record_that_is_sent_again_with_another_time_is_a_success_and_stored_once(service: RunningService, subscribed: str) -> None:
    path = f"data_sets/payload_logging.{subscribed}/records"
    first, later, other = (payload(applicants(2), "again") for _ in range(3))
    first[0]["scoring_timestamp"], later[0]["scoring_timestamp"] = "2026-11-01T10:00:00Z", "2026-11-01T10:00:05Z"
    other[0]["response"]["values"][0] = [0, 0.3]

    answers = [service.client.post(f"{BASE}/{path}", json=body) for body in (first, later, other)]
    states = [service.client.get(f"/openscale{answer.headers['location']}").json() for answer in answers]

    assert [state["state"] for state in states] == ["active", "active", "error"]
    assert "1 of 2 records were not stored. The first: records[0].id: " in states[2]["failure"]["errors"][0]["message"]
    listed = read(service.client, path)["records"]
    assert {resource["entity"]["values"]["scoring_timestamp"] for resource in listed} == {"2026-11-01T10:00:00.000000Z"}
    assert len(listed) == 2


@pytest.mark.parametrize("path", ["monitoring_services/drift_v2/archives", "monitoring_services/drift/monitor_instances/drift.x/archives"])
def test_a_question_for_headers_only_has_the_reason_in_the_header_that_the_sdk_shows(service: RunningService, path: str) -> None:
    answer = service.client.head(f"{BASE}/{path}")

    assert answer.status_code == 409
    shown = answer.headers["x-global-transaction-id"]
    assert shown == f"{answer.headers['x-request-id']} (Drift, explainability and model risk management are not supported by Evenhand.)"
