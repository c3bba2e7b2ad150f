"""A request of the face is one request to the service: one line in the audit, its own caller, its bounds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.access.principals import Role
from app.database.engine import Database
from tests.builders.openscale_bodies import BASE, added, added_id, applicants, payload, read, subscription
from tests.service import RunningService, running_service

PROVIDER = {"name": "Ours", "service_type": "custom_machine_learning", "credentials": {"username": "u", "password": "p"}}


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    with running_service(database, tmp_path) as service:
        yield service


def events(service: RunningService) -> list[tuple[str, str]]:
    """Action and route of all audit events, oldest first."""
    listed: list[dict[str, Any]] = service.client.get("/v1/audit-events", params={"limit": 1000}).json()["audit_events"]
    return [(event["action"], event["route"]) for event in reversed(listed)]


def test_each_request_leaves_one_event_whatever_it_calls(service: RunningService) -> None:
    added(service.client, "service_providers", PROVIDER)
    name = added_id(service.client, "subscriptions", subscription())
    added(service.client, f"data_sets/payload_logging.{name}/records", payload(applicants(2), "call"))
    read(service.client, f"data_sets/payload_logging.{name}/records")
    read(service.client, "subscriptions")

    assert [event for event in events(service) if "openscale" in event[1]] == [
        ("request.made", "POST /openscale/v2/service_providers"),
        ("deployment.created", "POST /openscale/v2/subscriptions"),
        ("records.read", "GET /openscale/v2/data_sets/{data_set_id}/records"),
    ]


def test_a_role_without_records_reads_none(service: RunningService) -> None:
    name = added_id(service.client, "subscriptions", subscription())
    caller = service.new_client(headers=service.as_(Role.AGGREGATES))

    assert caller.get(f"{BASE}/data_sets/payload_logging.{name}/records").status_code == 403
    assert caller.get(f"{BASE}/data_sets/payload_logging.{name}/records/call-1").status_code == 403
    assert caller.get(f"{BASE}/subscriptions/{name}").status_code == 200


def test_failed_log_ins_count_against_their_own_address(service: RunningService) -> None:
    tries = [service.new_client().post("/icp4d-api/v1/authorize", json={"username": "ada", "password": "x"}).status_code for _ in range(12)]

    assert (tries[0], tries[-1]) == (401, 429)


def test_every_address_but_the_log_ins_needs_a_key(service: RunningService) -> None:
    anyone = service.new_client()

    assert anyone.get("/v2/fairness/heartbeat").json() == {"is_cloud": False}
    for path in (f"{BASE}/data_marts", f"{BASE}/explanation_tasks", "/v1/entitlements", f"{BASE}/none"):
        refused = anyone.get(path)
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (401, "unauthenticated"), path


def test_the_instance_in_an_address_makes_no_difference(service: RunningService) -> None:
    for instance in ("", "/00000000-0000-0000-0000-000000000000", "/12345678-1234-1234-1234-1234567890abcdef"):
        assert service.client.get(f"/openscale{instance}/v2/data_marts").status_code == 200


def test_facts_go_with_their_deployment(service: RunningService) -> None:
    name = added_id(service.client, "subscriptions", subscription(label_column="paid"))
    service.client.delete(f"/v1/deployments/{name}").raise_for_status()
    again = {"id": name, "name": "Again", "problem_type": "binary", "features": [{"name": "sex", "type": "string"}]}
    service.client.post("/v1/deployments", json=again).raise_for_status()

    assert "label_column" not in read(service.client, f"subscriptions/{name}")["entity"]["asset_properties"]


def test_where_the_face_is_not_installed_its_addresses_are_not_there(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.face.FACES", ())
    with running_service(database, tmp_path) as service:
        assert service.client.get(f"{BASE}/data_marts").status_code == 404
        assert service.client.get("/v1/deployments").status_code == 200


def test_a_key_that_is_revoked_logs_nobody_in(service: RunningService) -> None:
    made = service.client.post("/v1/api-keys", json={"name": "k", "role": "read"}).json()
    service.client.delete(f"/v1/api-keys/{made['id']}").raise_for_status()
    stranger = service.new_client()

    assert stranger.post("/identity/token", data={"apikey": made["key"]}).status_code == 401
    assert stranger.post("/icp4d-api/v1/authorize", json={"username": "ada", "api_key": made["key"]}).status_code == 401
