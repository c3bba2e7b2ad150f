"""Snippets that ask the model in the deployment's own payload format, run against a model that speaks it."""

from typing import Any

import pytest

from app.access.principals import Role
from app.payloads.codec import JSON
from app.payloads.registry import PayloadFormat
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.service import RunningService

COLUMNS = [{"name": "sex", "type": "string"}, {"name": "income", "type": "integer"}]
JSON_FORMATS = [row for row in PayloadFormat if row.codec.content_type == row.codec.accept == JSON]
OTHERS = [row for row in PayloadFormat if row not in JSON_FORMATS]


def registered(service: RunningService, url: str, payload_format: PayloadFormat) -> list[dict[str, Any]]:
    """The snippets of a deployment with an endpoint of that format."""
    endpoint: dict[str, Any] = {"url": url, "payload_format": payload_format}
    if payload_format is PayloadFormat.MAPPED:
        endpoint["mapping"] = {"records": "$.people[*]", "answers": "$.results[*]"}
    body = {"id": "own", "name": "Own", "problem_type": "binary", "features": COLUMNS, "endpoint": endpoint}
    body |= {"outputs": {"prediction": "prediction", "probability": "probability"}}
    service.client.delete("/v1/deployments/own")
    service.client.post("/v1/deployments", json=body).raise_for_status()
    found: list[dict[str, Any]] = service.client.get("/v1/deployments/own/logging-snippets").raise_for_status().json()["snippets"]
    return found


@pytest.mark.nightly
def test_every_format_of_json_has_code_that_asks_in_it_and_others_have_the_client_alone(service: RunningService) -> None:
    asked, client_alone = set(), set()
    for payload_format in PayloadFormat:
        found = registered(service, "http://127.0.0.1:9/score", payload_format)
        assert found[0]["form"] == "client"
        own = [
            snippet
            for snippet in found
            if snippet["form"] == payload_format and "answer = httpx.post(" in snippet["code"] and "Evenhand(" in snippet["code"]
        ]
        (asked if own else client_alone).add(payload_format)
        assert [snippet for snippet in found if snippet["asks_model"]] == own
        # Pages name a snippet by these members.
        kinds = [(snippet["logs"], snippet["form"], snippet["language"], snippet["asks_model"]) for snippet in found]
        assert len(set(kinds)) == len(kinds)
        for snippet in own:
            compile(snippet["code"], "snippet", "exec")

    assert asked | client_alone == set(PayloadFormat)
    assert client_alone >= set(OTHERS)
    assert asked >= {PayloadFormat.FIELDS_VALUES, PayloadFormat.INPUT_DATA, PayloadFormat.MLFLOW, PayloadFormat.MLFLOW_RECORDS}
    assert asked >= {PayloadFormat.INSTANCES, PayloadFormat.OPEN_INFERENCE, PayloadFormat.JSON_RECORDS, PayloadFormat.MAPPED}


def test_the_code_logs_what_the_model_answers(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_KEY", service.key(Role.INGEST))
    assert service.base_url
    with serve(RuleScorer()) as server:
        found = registered(service, server.url, PayloadFormat.FIELDS_VALUES)
        (own,) = (snippet for snippet in found if snippet["form"] == "fields_values" and "Evenhand(" in snippet["code"])
        exec(compile(own["code"], "snippet", "exec"), {})  # noqa: S102 - as a person would run it
    (stored,) = service.client.get("/v1/deployments/own/payload-records").json()["payload_records"]

    assert stored["id"] == "example-asked-1"
    assert stored["prediction"] in (0, 1)
    assert 0 <= stored["probability"] <= 1


def test_values_are_those_of_the_newest_record_of_the_present_columns(service: RunningService) -> None:
    registered(service, "http://127.0.0.1:9/score", PayloadFormat.FIELDS_VALUES)
    record = {"features": {"sex": 'it\'s "her"', "income": 41234}, "prediction": 0, "probability": 0.25}
    service.client.post("/v1/deployments/own/payload-records", json={"records": [record]}).raise_for_status()
    real = service.client.get("/v1/deployments/own/logging-snippets").json()
    service.client.patch("/v1/deployments/own", json={"features": [*COLUMNS, {"name": "age", "type": "integer"}]}).raise_for_status()
    made_up = service.client.get("/v1/deployments/own/logging-snippets").json()

    (example,) = real["example"]["records"]
    assert {name: example[name] for name in record} == record
    assert all("41234" in snippet["code"] for snippet in real["snippets"] if snippet["logs"] == "payload")
    assert all("41234" not in snippet["code"] for snippet in made_up["snippets"])
    assert set(made_up["example"]["records"][0]["features"]) == {"sex", "income", "age"}


def test_a_record_is_tried_and_nothing_is_stored(service: RunningService) -> None:
    registered(service, "http://127.0.0.1:9/score", PayloadFormat.FIELDS_VALUES)
    example = service.client.get("/v1/deployments/own/logging-snippets").json()["example"]
    wrong = {"features": {"sex": "female", "income": "much"}, "prediction": 1}
    path = "/v1/deployments/own/record-tests"

    fine = service.client.post(path, json=example).raise_for_status().json()
    mixed = service.client.post(path, json={"records": [*example["records"], wrong]}).raise_for_status().json()
    refused = service.client.post(path, json={"rows": []})
    bound = service.client.post(path, json=example, headers=service.as_(Role.READ))

    assert fine == {"sent": 1, "accepted": 1, "rejected": 0, "rejections": []}
    assert (mixed["sent"], mixed["accepted"], mixed["rejected"]) == (2, 1, 1)
    assert [(rejection["index"], rejection["field"]) for rejection in mixed["rejections"]] == [(1, "features.income")]
    assert (refused.status_code, bound.status_code) == (422, 403)
    assert service.client.get("/v1/deployments/own/payload-records").json()["payload_records"] == []
