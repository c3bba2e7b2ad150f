"""Habits of published scripts that a subscription, a monitor instance and a run must understand."""

from typing import Any

import pytest

from app.access.principals import Role
from app.access.users.user_rules import create_user
from tests.builders.openscale_bodies import BASE, ZERO, added, added_id, applicants, fairness, message_of, payload, read, subscription
from tests.builders.workers import ended
from tests.service import RunningService

JSON_HEADERS = {"Content-Type": "application/json; charset=utf-8", "X-Team": "risk"}


class Scripted:
    """A service with a worker and a model, and subscriptions by their name."""

    def __init__(self, service: RunningService, model_url: str) -> None:
        self.service, self.client, self.model_url = service, service.client, model_url

    def subscribe(self, name: str, url: str | None = None, **endpoint: Any) -> str:  # noqa: ANN401 - JSON
        """Adds a subscription with 40 records and a fairness instance, and returns its id."""
        body = subscription(name, url)
        if url is not None:
            body["deployment"]["scoring_endpoint"] |= endpoint
        subscription_id = added_id(self.client, "subscriptions", body)
        added(self.client, f"data_sets/payload_logging.{subscription_id}/records", payload(applicants(), name))
        added(self.client, "monitor_instances", fairness(subscription_id))
        return subscription_id

    def run(self, kind: str, subscription_id: str) -> dict[str, Any]:
        """Runs an instance to its end and returns the run."""
        run = added(self.client, f"monitor_instances/{kind}.{subscription_id}/runs", {})
        ended(self.service, f"/v1/deployments/{subscription_id}", {"id": run["metadata"]["id"]})
        found: dict[str, Any] = read(self.client, f"monitor_instances/{kind}.{subscription_id}/runs/{run['metadata']['id']}")["entity"]
        return found


@pytest.fixture(scope="module")
def scripted(service: RunningService, model_url: str) -> Scripted:
    return Scripted(service, model_url)


def test_a_header_that_says_that_json_is_sent_is_no_header_of_the_endpoint(scripted: Scripted) -> None:
    found = scripted.subscribe("Headers", scripted.model_url, request_headers=JSON_HEADERS)

    assert read(scripted.client, f"subscriptions/{found}")["entity"]["deployment"]["scoring_endpoint"]["request_headers"] == {
        "X-Team": "***"
    }
    body = subscription("Other", scripted.model_url)
    body["deployment"]["scoring_endpoint"]["request_headers"] = {"Content-Type": "text/csv"}
    refused = scripted.client.post(f"{BASE}/subscriptions", json=body)
    assert (refused.status_code, "Content-Type: says how a request is sent" in message_of(refused)) == (422, True)


def test_a_patch_does_not_watch_a_side_that_nobody_is_to_watch(scripted: Scripted) -> None:
    client, name = scripted.client, scripted.subscribe("One side")
    address = f"/v1/deployments/{name}/fairness-monitor"
    monitor = client.get(address).json()
    attributes = [{**attribute, "upper_threshold": None} for attribute in monitor["attributes"]]
    kept = {key: value for key, value in monitor.items() if key not in {"version", "warnings", "measured_metrics"}}
    assert client.put(address, json={**kept, "attributes": attributes}).status_code == 200

    patch = [{"op": "replace", "path": "/parameters/min_records", "value": 11}]
    assert client.patch(f"{BASE}/monitor_instances/fairness.{name}", json=patch).status_code == 200
    after = client.get(address).json()
    assert (after["min_records"], after["attributes"][0]["upper_threshold"]) == (11, None)


def test_a_run_takes_the_parameters_of_its_instance_and_names_others(scripted: Scripted) -> None:
    name = scripted.subscribe("Parameters")
    path = f"{BASE}/monitor_instances/fairness.{name}/runs"
    own = fairness(name)["parameters"]

    assert scripted.client.post(path, json={"parameters": own}).status_code == 201
    refused = scripted.client.post(path, json={"parameters": {**own, "min_records": 20, "beauty": 1}})
    assert refused.status_code == 422
    assert [field in message_of(refused) for field in ("parameters.min_records:", "parameters.beauty:", "parameters.features")] == [
        True,
        True,
        False,
    ]


@pytest.mark.thorough
def test_a_quality_run_that_compared_nothing_has_not_succeeded(scripted: Scripted) -> None:
    name = scripted.subscribe("No prediction")
    added(scripted.client, "monitor_instances", {**fairness(name), "monitor_definition_id": "quality", "parameters": {}})
    labelled = [{"sex": sex, "income": income, "age": age, "approved": 1} for sex, income, age in applicants(20)]
    added(scripted.client, f"data_sets/feedback.{name}/records", labelled)
    run = scripted.run("quality", name)

    assert (run["status"]["state"], "measurement_id" in run["parameters"]) == ("error", False)
    assert "no endpoint to ask" in run["status"]["failure"]["errors"][0]["message"]
    checks = read(scripted.client, f"monitor_instances/quality.{name}/runs")["runs"]
    address = f"{BASE}/monitor_instances/quality.{name}/measurements/{checks[0]['metadata']['id']}"
    assert scripted.client.get(address).status_code == 404
    # The same check measured fairness.
    of_fairness = read(scripted.client, f"monitor_instances/fairness.{name}/runs")["runs"]
    assert {resource["entity"]["status"]["state"] for resource in of_fairness} == {"finished"}


def test_ranges_are_read_as_they_were_sent(scripted: Scripted) -> None:
    name = scripted.subscribe("Ranges")
    feature = {"feature": "age", "majority": [[26, 75]], "minority": [[18, 25.5]], "threshold": 0.8}
    patch = [{"op": "replace", "path": "/parameters/features", "value": [feature]}]
    assert scripted.client.patch(f"{BASE}/monitor_instances/fairness.{name}", json=patch).status_code == 200

    (found,) = read(scripted.client, f"monitor_instances/fairness.{name}")["entity"]["parameters"]["features"]
    assert str((found["majority"], found["minority"])) == "([[26, 75]], [[18, 25.5]])"


@pytest.mark.parametrize(
    ("space", "query", "count"), [("production", "", 1), ("pre_production", "", 0), ("production", "?skip_scheduler=true", 0)]
)
def test_the_first_run_of_a_fairness_instance_begins_by_itself(scripted: Scripted, space: str, query: str, count: int) -> None:
    """Scripts wait for the run `list_runs(…)["runs"][0]` right after they have created the instance."""
    client, name = scripted.client, f"{space} {len(query)}"
    provider = added(client, "service_providers", {"name": name, "service_type": "custom_machine_learning", "operational_space_id": space})
    body = {**subscription(name, scripted.model_url), "service_provider_id": provider["metadata"]["id"]}
    subscription_id = added_id(client, "subscriptions", body)
    added(client, f"data_sets/payload_logging.{subscription_id}/records", payload(applicants(), name))
    instance = added_id(client, f"monitor_instances{query}", fairness(subscription_id))
    runs = read(client, f"monitor_instances/{instance}/runs", limit=1)["runs"]

    assert len(runs) == count
    for run in runs:
        ended(scripted.service, f"/v1/deployments/{subscription_id}", {"id": run["metadata"]["id"]})
        (measured,) = read(client, f"monitor_instances/{instance}/measurements")["measurements"]
        assert measured["entity"]["values"][0]["metrics"][0] == {"id": "fairness_value", "value": 50.0, "lower_limit": 95.0}


@pytest.mark.thorough
def test_a_run_shows_the_parameters_of_its_own_monitor_or_none(scripted: Scripted) -> None:
    client, name = scripted.client, scripted.subscribe("Versions")
    before = scripted.run("fairness", name)["parameters"]
    patch = [{"op": "replace", "path": "/parameters/favourable_class", "value": [0]}]
    patch += [{"op": "replace", "path": "/parameters/unfavourable_class", "value": [1]}]
    assert client.patch(f"{BASE}/monitor_instances/fairness.{name}", json=patch).status_code == 200
    after = read(client, f"monitor_instances/fairness.{name}/runs/{before['measurement_id']}")["entity"]["parameters"]

    assert before["favourable_class"] == [1]
    assert after == {one: before[one] for one in ("measurement_id", "is_group_bias_completed", "total_records_processed")}


def test_a_patch_of_limits_sets_them_although_features_were_read_with_their_thresholds(scripted: Scripted) -> None:
    client, name = scripted.client, scripted.subscribe("Limits")
    address = f"{BASE}/monitor_instances/fairness.{name}"

    def lowest(path: str, value: object) -> list[float]:
        assert client.patch(address, json=[{"op": "replace", "path": path, "value": value}]).status_code == 200
        monitor = client.get(f"/v1/deployments/{name}/fairness-monitor").json()
        return [attribute["threshold"] for attribute in monitor["attributes"]]

    assert lowest("/thresholds", [{"metric_id": "fairness_value", "type": "lower_limit", "value": 70}]) == [0.7]
    assert lowest("/parameters/features/0/threshold", 0.6) == [0.6]
    assert lowest("/parameters/min_records", 11) == [0.6]


@pytest.mark.nightly
def test_quality_that_is_run_before_there_is_a_fairness_instance_ends_as_an_error_and_is_measured_by_its_first_run(
    scripted: Scripted,
) -> None:
    client = scripted.client
    name = added_id(client, "subscriptions", subscription("Quality first", scripted.model_url))
    added(client, f"data_sets/payload_logging.{name}/records", payload(applicants(), "quality first"))
    labelled = [{"sex": sex, "income": income, "age": age, "approved": 1} for sex, income, age in applicants(20)]
    added(client, f"data_sets/feedback.{name}/records", labelled)
    added(client, "monitor_instances", {**fairness(name), "monitor_definition_id": "quality", "parameters": {}})
    run = added(client, f"monitor_instances/quality.{name}/runs", {})

    assert read(client, f"monitor_instances/quality.{name}/runs/{run['metadata']['id']}") == run
    assert run["entity"]["status"]["state"] == "error"
    assert "Create a monitor instance of fairness" in run["entity"]["status"]["failure"]["errors"][0]["message"]
    for made_up in ("unmeasured.AAAA", f"unmeasured.{run['metadata']['id']}", run["metadata"]["id"].replace("unmeasured.", "")):
        assert client.get(f"{BASE}/monitor_instances/quality.{name}/runs/{made_up}").status_code == 404
    assert client.get(f"{BASE}/data_sets/feedback.{name}/requests/{run['metadata']['id'].removeprefix('unmeasured.')}").status_code == 404

    added(client, "monitor_instances", fairness(name))
    (first,) = read(client, f"monitor_instances/quality.{name}/runs")["runs"]
    ended(scripted.service, f"/v1/deployments/{name}", {"id": first["metadata"]["id"]})
    (measured,) = read(client, f"monitor_instances/quality.{name}/measurements")["measurements"]
    (value,) = measured["entity"]["values"]
    assert value["tags"] == [{"id": "model_type", "value": "original"}]
    assert value["metrics"][0] == {"id": "accuracy", "value": 0.75}


def test_a_provider_of_an_earlier_run_is_deleted_before_its_subscription(scripted: Scripted) -> None:
    client = scripted.client
    provider = added_id(client, "service_providers", {"name": "Earlier", "service_type": "custom_machine_learning"})
    body = {**subscription("Provided", scripted.model_url), "service_provider_id": provider}
    name = added_id(client, "subscriptions", body)

    assert client.delete(f"{BASE}/service_providers/{provider}").status_code == 202
    found = read(client, f"subscriptions/{name}")["entity"]
    assert (found["service_provider_id"], found["deployment"]["scoring_endpoint"]["url"]) == (ZERO, scripted.model_url)
    assert read(client, f"service_providers/{ZERO}")["entity"]["name"] == "Evenhand REST v1"
    assert client.delete(f"{BASE}/subscriptions/{name}").status_code == 202


def test_the_address_that_the_sdk_makes_up_for_a_headless_subscription_is_no_endpoint(scripted: Scripted) -> None:
    body = subscription("Headless")
    body["deployment"]["url"] = "https://dummyScoringUrl"
    name = added_id(scripted.client, "subscriptions", body)

    assert scripted.client.get(f"/v1/deployments/{name}").json()["endpoint"] is None
    body["deployment"] = {**body["deployment"], "name": "Real", "url": scripted.model_url}
    real = added_id(scripted.client, "subscriptions", body)
    assert scripted.client.get(f"/v1/deployments/{real}").json()["endpoint"]["url"] == scripted.model_url


def test_scripts_log_in_by_basic_authentication_for_calls_without_the_sdk(scripted: Scripted) -> None:
    with scripted.service.database.transaction() as session:
        create_user(session, "ada", password="correct horse battery staple", role=Role.READ)  # noqa: S106 - of a test
    address, anyone = "/v1/preauth/validateAuth", scripted.service.new_client()
    for name, secret in (("ada", "correct horse battery staple"), ("anybody", scripted.service.key(Role.READ))):
        token = anyone.get(address, auth=(name, secret)).json()["accessToken"]
        answer = anyone.get(f"{BASE}/data_marts", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
    sent: list[dict[str, Any]] = [{}, {"headers": {"Authorization": "Basic ???"}}, {"headers": {"Authorization": "Bearer x"}}]
    sent += [{"auth": ("ada", "wrong")}, {"auth": ("ada", "evk_wrongkey_wrong")}]
    assert [anyone.get(address, **one).status_code for one in sent] == [401] * len(sent)
    assert [anyone.get(address, auth=(name, "x")).status_code for name in ("a" * 600, "a\0da")] == [422, 422]
