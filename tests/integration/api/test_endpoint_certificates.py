"""An endpoint's own authority and client certificate: used by every call, and neither returned nor logged."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from tests.builders.bodies import deployment, monitor
from tests.builders.row_server import RowServer
from tests.models.certificates import Authority, behind_mutual_tls
from tests.models.serving import ModelServer
from tests.service import RunningService

ADDRESS = "/v1/deployments/credit-risk"
RECORD = {"Age": 31, "Sex": "female", "Owner": True}
AUTHORITY = Authority()
CLIENT = AUTHORITY.issue("evenhand")
TLS = {"authority": AUTHORITY.pem, "certificate": CLIENT.certificate, "key": CLIENT.key}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """A man is approved."""
    label = "No Risk" if row["Sex"] == "male" else "Risk"
    return {"prediction": int(label == "No Risk"), "probability": 0.75, "predictedLabel": label}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with behind_mutual_tls(RowServer(judged), AUTHORITY, tmp_path_factory.mktemp("tls")) as server:
        yield server


def endpoint(model: ModelServer, **changes: object) -> dict[str, Any]:
    return {"url": f"https://localhost:{model.server_port}/score", "tls": TLS, **changes}


def test_the_endpoint_test_and_mitigated_answers_show_the_certificate(service: RunningService, model: ModelServer) -> None:
    service.client.post("/v1/deployments", json=deployment(endpoint=endpoint(model))).raise_for_status()
    service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor()).raise_for_status()

    tested = service.client.post(f"{ADDRESS}/endpoint-tests", json={"records": [RECORD]}).json()
    before = {"deployment": deployment(endpoint=endpoint(model)), "records": [RECORD]}
    unsaved = service.client.post("/v1/endpoint-tests", json=before).json()
    mitigated = service.client.post(f"{ADDRESS}/mitigated-predictions", json={"records": [{"features": RECORD}]})

    assert (tested["ok"], tested["fault"]) == (True, None)
    assert mitigated.status_code == 200, mitigated.text
    assert mitigated.json()["predictions"][0]["prediction"] == 0
    assert unsaved["ok"] is True


def test_the_certificates_are_described_and_never_returned_stored_in_clear_or_logged(
    service: RunningService, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    created = service.client.post("/v1/deployments", json=deployment(endpoint=endpoint(model)))
    other = AUTHORITY.issue("renewed")
    changed = service.client.patch(ADDRESS, json={"endpoint": {"tls": {"certificate": other.certificate, "key": other.key}}})
    page = service.client.get("/deployments/credit-risk/configure", headers={"Accept": "text/html"})
    activities = service.client.get("/v1/activities")
    logged = capsys.readouterr()

    assert (created.status_code, changed.status_code) == (201, 200), changed.text
    assert created.json()["endpoint"]["tls"]["certificate"]["subjects"] == ["CN=evenhand"]
    assert changed.json()["endpoint"]["tls"]["certificate"]["subjects"] == ["CN=renewed"]
    assert changed.json()["endpoint"]["tls"]["authority"]["subjects"] == ["CN=Test Authority"]
    assert changed.json()["endpoint"]["tls"]["key_set"] is True
    details = activities.json()["activities"][0]["details"]
    assert details == {"endpoint.tls.certificate": ["set", "changed"], "endpoint.tls.key": ["set", "changed"]}
    with service.database.transaction() as session:
        stored = session.execute(text("SELECT credentials, endpoint::text FROM deployments")).one()
    shown = created.text + changed.text + page.text + activities.text + logged.out + logged.err + stored[1]
    secret = [line for pem in (CLIENT.key, other.key) for line in pem.splitlines()[1:-1]]
    assert not any(line in shown or line.encode() in bytes(stored[0]) for line in secret)


def test_parts_are_removed_by_null_and_faults_are_named_without_the_text(service: RunningService, model: ModelServer) -> None:
    service.client.post("/v1/deployments", json=deployment(endpoint=endpoint(model))).raise_for_status()

    without_key = service.client.patch(ADDRESS, json={"endpoint": {"tls": {"key": None}}})
    broken = service.client.patch(ADDRESS, json={"endpoint": {"tls": {"key": CLIENT.key[:-60]}}})
    wrong_kind = service.client.patch(ADDRESS, json={"endpoint": {"tls": {"key": [CLIENT.key]}}})
    only_authority = service.client.patch(ADDRESS, json={"endpoint": {"tls": {"certificate": None, "key": None}}})
    removed = service.client.patch(ADDRESS, json={"endpoint": {"tls": None}})

    for answer in (without_key, broken, wrong_kind):
        assert answer.status_code == 422
        assert {error["field"] for error in answer.json()["errors"]} == {"endpoint.tls.key"}
        assert json.dumps(CLIENT.key)[1:200] not in answer.text
        assert CLIENT.key.splitlines()[1] not in answer.text
    assert only_authority.json()["endpoint"]["tls"]["certificate"] is None
    assert removed.json()["endpoint"]["tls"] is None


def test_the_stored_key_is_not_used_at_another_host(service: RunningService, model: ModelServer) -> None:
    service.client.post("/v1/deployments", json=deployment(endpoint=endpoint(model))).raise_for_status()

    moved = service.client.patch(ADDRESS, json={"endpoint": {"url": "https://model.example/score"}})
    with_key = service.client.patch(ADDRESS, json={"endpoint": {"url": "https://model.example/score", "tls": TLS}})

    assert {error["field"] for error in moved.json()["errors"]} == {"endpoint.tls.key"}
    assert with_key.status_code == 200
