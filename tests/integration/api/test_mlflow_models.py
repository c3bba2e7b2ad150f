"""MLflow models as endpoints of deployments: what may be named, what is refused with its field, and how one is changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.builders.page_words import says
from tests.service import RunningService, running_service

PATH = "/v1/deployments/credit-risk"


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, which allows tables in a folder and the registered model `credit`."""
    with running_service(database, tmp_path / "data", table_roots=str(tmp_path), model_prefixes="models:/credit") as service:
        yield service


def body(tmp_path: Path, endpoint: dict[str, Any]) -> dict[str, Any]:
    """A deployment with its payload in a table and that endpoint."""
    table = {"source": "table", "format": "parquet", "location": str(tmp_path / "scores")}
    return deployment(payload=table) | {"endpoint": endpoint}


def test_a_model_is_stored_with_its_own_defaults_and_can_be_changed(service: RunningService, tmp_path: Path) -> None:
    created = service.client.post("/v1/deployments", json=body(tmp_path, {"source": "mlflow", "uri": "models:/credit/3"}))

    assert created.status_code == 201, created.text
    stored = created.json()["endpoint"]
    found = {name: stored[name] for name in ("source", "uri", "url", "payload_format", "concurrency")}
    assert found == {"source": "mlflow", "uri": "models:/credit/3", "url": "", "payload_format": "mlflow", "concurrency": 1}
    changed = service.client.patch(PATH, json={"endpoint": {"uri": "models:/credit@champion", "concurrency": 2}})
    assert changed.status_code == 200, changed.text
    assert (changed.json()["endpoint"]["uri"], changed.json()["endpoint"]["concurrency"]) == ("models:/credit@champion", 2)
    served = {"source": "http", "uri": None, "url": "http://127.0.0.1:9000/score", "payload_format": "mlflow"}
    assert service.client.patch(PATH, json={"endpoint": served}).json()["endpoint"]["url"] == served["url"]
    loaded = {"source": "mlflow", "uri": "models:/credit/4", "url": None}
    assert service.client.patch(PATH, json={"endpoint": loaded}).json()["endpoint"]["uri"] == "models:/credit/4"


def test_what_cannot_be_loaded_is_refused_with_its_field(service: RunningService, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for endpoint, field, words in (
        ({"source": "mlflow", "uri": "models:/fraud/1"}, "endpoint.uri", "EVENHAND_MODEL_PREFIXES=models:/fraud"),
        ({"source": "mlflow", "uri": "/models/credit"}, "endpoint.uri", "EVENHAND_MODEL_PREFIXES=/models"),
        ({"source": "mlflow", "uri": "s3://models/credit"}, "endpoint.uri", "must be models:/NAME/VERSION"),
        ({"source": "mlflow"}, "endpoint.uri", "is required"),
        ({"source": "mlflow", "uri": "models:/credit/1", "url": "http://127.0.0.1/"}, "endpoint.url", "called by HTTP"),
        ({"source": "mlflow", "uri": "models:/credit/1", "headers": {"x": "y"}}, "endpoint.headers", "called by HTTP"),
        ({"source": "onnx", "uri": "models:/credit/1"}, "endpoint.source", "http"),
        ({"url": "http://127.0.0.1/", "uri": "models:/credit/1"}, "endpoint.uri", "give the source mlflow"),
        ({}, "endpoint.url", "is required"),
    ):
        with subtests.test(endpoint=endpoint, field=field, words=words):
            answer = service.client.post("/v1/deployments", json=body(tmp_path, endpoint))

            assert answer.status_code == 422
            assert [error["field"] for error in answer.json()["errors"]] == [field]
            assert words in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("path", ["models/../elsewhere", "models/link", "models/link/inside", "elsewhere", "models-2", "models/loop"])
def test_a_folder_outside_those_allowed_is_refused_alike_whether_it_is_there_or_not(
    database: Database, tmp_path: Path, path: str, *, is_there: bool
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "models" / "loop").symlink_to(tmp_path / "models" / "loop")
    if is_there:
        for name in ("elsewhere/inside", "models-2"):
            (tmp_path / name).mkdir(parents=True)
    settings = {"table_roots": str(tmp_path), "model_prefixes": f"{tmp_path}/models"}
    with running_service(database, tmp_path / "data", **settings) as service:
        uri = f"{tmp_path}/{path}"
        created = service.client.post("/v1/deployments", json=body(tmp_path, {"source": "mlflow", "uri": uri}))
        allowed = body(tmp_path, {"source": "mlflow", "uri": f"{tmp_path}/models/credit"})
        assert service.client.post("/v1/deployments", json=allowed).status_code == 201
        changed = service.client.patch(PATH, json={"endpoint": {"uri": uri}})

    for answer in (created, changed):
        assert answer.status_code == 422
        (problem,) = answer.json()["errors"]
        assert problem["field"] == "endpoint.uri"
        assert says(problem["message"], "not within those that the operator allows", "link out of them")


def test_only_a_deployment_with_its_payload_in_a_table_may_have_a_model(service: RunningService) -> None:
    answer = service.client.post("/v1/deployments", json=deployment() | {"endpoint": {"source": "mlflow", "uri": "models:/credit/3"}})

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["endpoint.source"]
    assert "unless the payload lies in a table" in answer.json()["errors"][0]["message"]


def test_a_model_is_not_loaded_for_a_test_of_the_endpoint(service: RunningService, tmp_path: Path) -> None:
    loaded = body(tmp_path, {"source": "mlflow", "uri": "models:/credit/3"})
    new = service.client.post("/v1/endpoint-tests", json={"deployment": loaded, "records": [{}]})
    assert service.client.post("/v1/deployments", json=loaded).status_code == 201
    stored = service.client.post(f"{PATH}/endpoint-tests", json={})

    assert new.status_code == 422
    assert [error["field"] for error in new.json()["errors"]] == ["deployment.endpoint.source"]
    assert stored.status_code == 409
    assert "only workers load it" in stored.json()["detail"]


def test_calls_are_not_passed_on_to_a_model_that_only_checks_load(service: RunningService, tmp_path: Path) -> None:
    loaded = body(tmp_path, {"source": "mlflow", "uri": "models:/credit/3"})
    assert service.client.post("/v1/deployments", json=loaded).status_code == 201

    answer = service.client.post(f"{PATH}/predictions", json={})

    assert answer.status_code == 409
    assert "MLflow model that only checks load" in answer.json()["detail"]
