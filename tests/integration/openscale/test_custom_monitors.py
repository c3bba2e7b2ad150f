"""Custom monitors: defined, instantiated and filled by scripts; shown with their limits, and never computed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.security.principals import Role
from app.store.database.engine import Database
from tests.builders.openscale import BASE, ZERO, added, read, subscription
from tests.databases import Databases
from tests.service import RunningService, running_service

POSTED = [
    {"timestamp": "2026-03-01T10:00:00Z", "run_id": "first/1", "metrics": [{"sensitivity": 0.67, "region": "us-south"}]},
    {"timestamp": "2026-03-01T11:00:00Z", "run_id": "second", "metrics": [{"sensitivity": 0.92, "specificity": 0.5, "region": "eu"}]},
]


def definition(name: str = "my model performance", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A definition as the SDK sends it."""
    metrics = [
        {"name": "sensitivity", "thresholds": [{"type": "lower_limit", "default": 0.8}], "required": True},
        {"name": "specificity", "thresholds": [{"type": "lower_limit", "default": 0.75}]},
    ]
    return {"name": name, "metrics": metrics, "tags": [{"name": "region", "description": "of the customer"}], **changes}


def instance(subscription_id: str, definition_id: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """An instance as the SDK sends it."""
    target = {"target_type": "subscription", "target_id": subscription_id}
    return {"data_mart_id": ZERO, "monitor_definition_id": definition_id, "target": target, "parameters": {}, **changes}


@dataclass(frozen=True, slots=True)
class Defined:
    """A service with a subscription and a custom monitor of it, to which two measurements were posted."""

    service: RunningService
    subscription: str
    address: str

    @property
    def client(self) -> httpx.Client:
        return self.service.client


@pytest.fixture(scope="module")
def defined(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Defined]:
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("custom")) as service:
            subscription_id = added(service.client, "subscriptions", subscription())["metadata"]["id"]
            made = added(service.client, "monitor_definitions", definition())["metadata"]["id"]
            of_eu = [{"value": 0.95, "applies_to": [{"type": "tag", "key": "region", "value": "eu"}]}]
            limit = {"metric_id": "sensitivity", "type": "lower_limit", "value": 0.6, "specific_values": of_eu}
            body = instance(subscription_id, made, thresholds=[limit])
            address = f"monitor_instances/{added(service.client, 'monitor_instances', body)['metadata']['id']}"
            answered: Any = added(service.client, f"{address}/measurements", POSTED)
            assert [one["measurement_id"] == one["metadata"]["id"] for one in answered] == [True, True]
            yield Defined(service, subscription_id, address)
        database.close()


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, "; ".join(one["message"] for one in answer.json()["errors"])


def test_a_definition_is_listed_with_ids_made_of_its_names(defined: Defined) -> None:
    found = read(defined.client, "monitor_definitions/my_model_performance")["entity"]

    assert [one["id"] for one in (*found["metrics"], *found["tags"])] == ["sensitivity", "specificity", "region"]
    assert "my_model_performance" in [one["metadata"]["id"] for one in read(defined.client, "monitor_definitions")["monitor_definitions"]]
    logger = defined.service.as_(Role.INGEST)
    assert defined.client.get(f"{BASE}/monitor_definitions", headers=logger).status_code == 200
    assert defined.client.post(f"{BASE}/monitor_definitions", json=definition("x"), headers=logger).status_code == 403


def test_posted_measurements_are_shown_with_limits_of_the_instance_before_those_of_the_definition(defined: Defined) -> None:
    newest, oldest = read(defined.client, f"{defined.address}/measurements")["measurements"]

    assert newest["entity"]["values"][0]["metrics"] == [
        {"id": "sensitivity", "value": 0.92, "lower_limit": 0.95},
        {"id": "specificity", "value": 0.5, "lower_limit": 0.75},
    ]
    assert newest["entity"]["values"][0]["tags"] == [{"id": "region", "value": "eu"}]
    assert oldest["entity"]["values"][0]["metrics"] == [{"id": "sensitivity", "value": 0.67, "lower_limit": 0.6}]
    assert [one["entity"]["issue_count"] for one in (newest, oldest)] == [2, 0]
    assert read(defined.client, f"{defined.address}/measurements/{oldest['metadata']['id']}")["entity"]["run_id"] == "first/1"
    recent = read(defined.client, "measurements", target_id=defined.subscription, monitor_definition_id="my_model_performance")
    assert recent["measurements"] == [newest]
    assert len(read(defined.client, f"{defined.address}/measurements", filter="region:eq:eu")["measurements"]) == 1


def test_a_posted_run_id_is_a_run_that_is_over_and_nothing_else_is(defined: Defined) -> None:
    first = read(defined.client, f"{defined.address}/runs", limit=1)
    second = defined.client.get(f"/openscale{first['next']['url']}").json()
    runs = [*first["runs"], *second["runs"]]

    assert [(one["metadata"]["id"], one["entity"]["status"]["state"]) for one in runs] == [("second", "finished"), ("first/1", "finished")]
    assert (first["total_count"], "next" in second) == (2, False)
    assert read(defined.client, f"{defined.address}/runs/second")["metadata"]["id"] == "second"
    assert defined.client.get(f"{BASE}/{defined.address}/runs/third").status_code == 404
    code, message = refusal(defined.client.post(f"{BASE}/{defined.address}/runs", json={}))
    assert (code, "computes nothing" in message, "measurements.add" in message) == (409, True, True)
    cancel = [{"op": "replace", "path": "/status/state", "value": "canceled"}]
    assert defined.client.patch(f"{BASE}/{defined.address}/runs/second", json=cancel).status_code == 409
    assert defined.client.get(f"/v1/deployments/{defined.subscription}/checks").json()["checks"] == []


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        ({"sensitivity": 0.5, "beauty": 1}, "[0].metrics[0].beauty: is no metric and no tag of my model performance"),
        ({"sensitivity": "high"}, "[0].metrics[0].sensitivity: must be a number"),
        ({"sensitivity": True}, "[0].metrics[0].sensitivity: must be a number"),
        ({"specificity": 0.5}, "[0].metrics[0].sensitivity: is required"),
        ({"sensitivity": 0.5, "region": ["eu"]}, "[0].metrics[0].region: must be a text or a number"),
    ],
)
def test_a_measurement_that_does_not_fit_the_definition_names_the_member(defined: Defined, metrics: dict[str, Any], named: str) -> None:
    sent = [{"timestamp": "2026-03-01T12:00:00Z", "metrics": [metrics]}]
    code, message = refusal(defined.client.post(f"{BASE}/{defined.address}/measurements", json=sent))

    assert (code, named in message) == (422, True), message
    assert len(read(defined.client, f"{defined.address}/measurements")["measurements"]) == 2


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"name": "Fairness"}, "already"),
        ({"name": "MY model PERFORMANCE"}, "already"),
        ({"name": "my-model performance"}, "already"),
        ({"name": "\N{GREEK SMALL LETTER ALPHA}"}, "Latin letter"),
        ({"metrics": []}, "metrics"),
        ({"tags": [{"name": "Sensitivity"}]}, "'sensitivity' twice"),
        ({"schedule": {"repeat_interval": 1}}, "schedule: is not supported by Evenhand"),
        ({"monitor_runtime": {"type": "custom_metrics_provider"}}, "monitor_runtime: is not supported"),
        ({"parameters_schema": {"type": "object"}}, "parameters_schema: is not supported"),
    ],
)
def test_a_definition_that_asks_for_more_is_refused_by_name(defined: Defined, changes: dict[str, Any], named: str) -> None:
    code, message = refusal(defined.client.post(f"{BASE}/monitor_definitions", json=definition("another") | changes))

    assert (code in {409, 422}, named in message) == (True, True), message


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"parameters": {"custom_metrics_provider_id": "p", "enable_custom_metric_runs": True}}, "parameters.custom_metrics_provider_id"),
        ({"schedule": {"repeat_interval": 1, "repeat_unit": "hour"}}, "schedule: is not supported"),
        ({"thresholds": [{"metric_id": "beauty", "type": "lower_limit", "value": 1}]}, "thresholds[0].metric_id: 'beauty' is no metric"),
    ],
)
def test_an_instance_that_asks_to_be_run_is_refused_by_name(defined: Defined, changes: dict[str, Any], named: str) -> None:
    own = added(defined.client, "monitor_definitions", definition(f"own {named}"))["metadata"]["id"]
    code, message = refusal(defined.client.post(f"{BASE}/monitor_instances", json=instance(defined.subscription, own, **changes)))

    assert (code, named in message) == (422, True), message
    assert defined.client.delete(f"{BASE}/monitor_definitions/{own}").status_code == 202


def test_a_definition_with_instances_keeps_its_metrics_and_is_deleted_by_force_with_all_that_was_posted(defined: Defined) -> None:
    client = defined.client
    own = added(client, "monitor_definitions", definition("Sales"))["metadata"]["id"]
    address = f"monitor_instances/{added(client, 'monitor_instances', instance(defined.subscription, own))['metadata']['id']}"
    added(client, f"{address}/measurements", POSTED)

    less = definition("Sales", metrics=definition()["metrics"][:1])
    code, message = refusal(client.put(f"{BASE}/monitor_definitions/{own}", json=less))
    assert (code, "specificity cannot be removed from Sales" in message) == (409, True)
    more = definition("Sales figures", metrics=[*definition()["metrics"], {"name": "Lift"}])
    assert client.put(f"{BASE}/monitor_definitions/{own}", json=more).json()["metadata"]["id"] == own
    patch = [{"op": "replace", "path": "/description", "value": "of each region"}]
    changed = client.patch(f"{BASE}/monitor_definitions/{own}", json=patch).json()["entity"]
    assert (changed["name"], changed["description"], changed["metrics"][2]["id"]) == ("Sales figures", "of each region", "lift")

    code, message = refusal(client.delete(f"{BASE}/monitor_definitions/{own}"))
    assert (code, "1 monitor instances of Sales figures" in message) == (409, True)
    assert client.delete(f"{BASE}/monitor_definitions/{own}", params={"force": True}).status_code == 202
    assert client.get(f"{BASE}/{address}").status_code == client.get(f"{BASE}/monitor_definitions/{own}").status_code == 404
    assert read(client, "measurements", target_id=defined.subscription, monitor_definition_id=own)["measurements"] == []


def test_evenhands_own_definitions_are_fixed(defined: Defined) -> None:
    for call in (
        defined.client.delete(f"{BASE}/monitor_definitions/fairness"),
        defined.client.put(f"{BASE}/monitor_definitions/fairness", json=definition("other")),
    ):
        code, message = refusal(call)
        assert (code, "definition Fairness is not supported by Evenhand" in message) == (409, True)


def test_an_instance_belongs_to_its_subscription(defined: Defined) -> None:
    other = added(defined.client, "subscriptions", subscription("Other"))["metadata"]["id"]
    body = instance(other, "my_model_performance")
    made = added(defined.client, "monitor_instances", body)["metadata"]["id"]
    assert defined.client.post(f"{BASE}/monitor_instances", json=body).status_code == 409
    found = read(defined.client, "monitor_instances", **{"target.target_id": other})["monitor_instances"]
    assert [one["metadata"]["id"] for one in found] == [made]
    assert read(defined.client, f"monitor_instances/{made}/measurements")["measurements"] == []

    assert defined.client.delete(f"{BASE}/subscriptions/{other}").status_code == 202
    assert defined.client.get(f"{BASE}/monitor_instances/{made}").status_code == 404
