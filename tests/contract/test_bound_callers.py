"""What a caller that is bound to one deployment may name outside of it: one decision for each text that a request may hold.

Evenhand reads tables and loads models by rights of its own, and sends alerts to people: only callers that are not bound choose these. It
calls addresses by the operator's rule for them, with what the caller sends: each manager chooses these. Channels are there for all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.access.principals import Role
from app.database.engine import Database
from app.main import _create_api
from tests.builders.bodies import deployment
from tests.service import RunningService, running_service

OF_UNBOUND = {"location", "uri", "to"}
CALLED = {"url", "token_url"}
FOR_ALL = {"channels"}
"""Ids of channels, whose receivers a caller that is not bound has chosen, and which a bound one cannot read."""

VALUES = """
action actor alerts answers assignee at attribute attributes authority batch body categories certificate
check check_id classes column columns comparisons constants control controls correlated_features cursor day
declared_by declared_on deployment deployment_id earliest Evenhand-Record-Id expires_at favourable feature features field fields
from group groups headers hour id id_column intersections key label label_column labels_until meta metric metrics
model_revision monitored name note observed_at outputs owner partition_by password person prediction
prediction_column probability probability_column purpose reason record record_ids records reference
scan_id scope scored_at secret since strata text time_column time_format unfavourable until value values
weight weights zone
"""
"""Texts that name no place: parts of records and figures, names within the deployment, times, and what is sent along."""

OPERATIONS = {"createDeployment", "changeDeployment", "testNewEndpoint", "putAlertChannel"}
"""Those that take one of `OF_UNBOUND` or `CALLED`; each is tried below, and in `test_loops.py` of the gateway."""

TIMES = {("requestCheck", "to"), ("requestAttribution", "to")}


def read_texts() -> Iterator[tuple[str, str]]:
    """Yields each operation and the name of each text in its body and parameters."""
    document = _create_api().openapi()

    def read(schema: dict[str, Any], name: str, deeper: int = 8) -> Iterator[str]:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if not deeper:
            return
        if schema.get("type") == "string" and not {"enum", "const"} & schema.keys():
            yield name
        for part in (part for kind in ("anyOf", "oneOf", "allOf") for part in schema.get(kind, ())):
            yield from read(part, name, deeper - 1)
        for member, below in schema.get("properties", {}).items():
            yield from read(below, member, deeper - 1)
        for below in (schema.get("items"), schema.get("additionalProperties")):
            if isinstance(below, dict):
                yield from read(below, name, deeper - 1)

    for operation in (operation for path in document["paths"].values() for operation in path.values()):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield from ((operation["operationId"], name) for name in read(content.get("schema", {}), "body"))
        for parameter in operation.get("parameters", ()):
            if parameter["in"] != "path":
                yield from ((operation["operationId"], name) for name in read(parameter["schema"], parameter["name"]))


def test_each_text_of_a_request_is_decided_on() -> None:
    texts = set(read_texts()) - TIMES

    assert {name for _, name in texts} - OF_UNBOUND - CALLED - FOR_ALL == set(VALUES.split())
    assert {operation for operation, name in texts if name in OF_UNBOUND | CALLED} == OPERATIONS
    assert {operation for operation, name in texts if name in FOR_ALL} == {"putAlertRule", "putReportSchedule", "requestKeptReport"}


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service with the tables and the model of two deployments."""
    for name in ("own", "other"):
        (tmp_path / "lake" / name).mkdir(parents=True)
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "MLmodel").write_text("flavors: {}\n")
    settings = {"table_roots": str(tmp_path / "lake"), "model_prefixes": str(tmp_path / "models")}
    with running_service(database, tmp_path / "data", **settings) as service:
        yield service


def table(folder: Path, name: str, **more: object) -> dict[str, Any]:
    return {"source": "table", "location": str(folder / "lake" / name), **more}


def test_a_bound_manager_chooses_no_table_and_no_model(service: RunningService, tmp_path: Path) -> None:
    body = deployment(payload=table(tmp_path, "own"), endpoint={"source": "mlflow", "uri": str(tmp_path / "models" / "own")})
    service.client.post("/v1/deployments", json=body).raise_for_status()
    bound = service.as_(Role.MANAGE, deployment_no=1)

    def patch(headers: dict[str, str] = bound, **changes: object) -> tuple[int, str]:
        answer = service.client.patch("/v1/deployments/credit-risk", json=changes, headers=headers)
        return answer.status_code, answer.json().get("detail", "")

    before = service.client.get("/v1/deployments/credit-risk").json()
    for field, changes in {
        "payload.location": {"payload": table(tmp_path, "other")},
        "payload.format": {"payload": table(tmp_path, "own", format="delta")},
        "feedback.location, feedback.format": {"feedback": table(tmp_path, "other")},
        "endpoint.uri": {"endpoint": {"uri": str(tmp_path / "models" / "other")}},
    }.items():
        status, detail = patch(**changes)
        assert (status, f"may not set {field}" in detail) == (403, True), (field, detail)
    outside = patch(payload={"source": "table", "location": "/etc"})
    assert outside[0] == 403
    assert "EVENHAND_TABLE_ROOTS" not in outside[1]
    assert service.client.get("/v1/deployments/credit-risk").json() == before

    assert patch(payload=table(tmp_path, "own", columns={"id": "number"}), name="Renamed")[0] == 200
    assert patch(endpoint={"source": "http", "url": "http://127.0.0.1:9000/score", "uri": ""})[0] == 200
    assert patch(service.as_(Role.MANAGE), payload=table(tmp_path, "other"), feedback=table(tmp_path, "own"))[0] == 200
    assert patch(feedback=None)[0] == 200


def test_a_bound_manager_makes_no_deployment_and_no_receiver(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    bound = service.as_(Role.MANAGE, deployment_no=1)
    channel = {"name": "Mine", "kind": "email", "to": ["me@example.com"]}

    answers = [
        service.client.post("/v1/deployments", json=deployment(id="another"), headers=bound),
        service.client.post("/v1/endpoint-tests", json={"deployment": deployment()}, headers=bound),
        service.client.put("/v1/alert-channels/mine", json=channel, headers=bound),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
