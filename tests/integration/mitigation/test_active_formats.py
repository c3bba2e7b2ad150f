"""Mitigated answers in every payload format, for callers who speak to the model in it."""

import json
from typing import Any

import httpx
import pytest

from app.domain.deployment import BodyMapping, Endpoint, FieldType, OutputFields
from app.payloads.codec import Codec, RequestOptions
from app.payloads.registry import PayloadFormat, bind_codec
from tests.builders.row_server import row_server
from tests.integration.mitigation.live import ADDRESS, register
from tests.models.speaking import MAPPING
from tests.service import RunningService

PATH = f"{ADDRESS}/mitigated-predictions"
TYPES = {"sex": FieldType.STRING, "income": FieldType.NUMBER, "age": FieldType.INTEGER, "owner": FieldType.BOOLEAN}
ROWS: list[list[Any]] = [["female", 10_000.5, 40, True], ["male", 10_000.5, 40, False]]
MITIGATED = OutputFields(prediction="mitigated_prediction", probability="mitigated_probability")
WITH_FORMS = ["fields_values", "input_data", "mlflow"]


def approve(row: dict[str, Any]) -> dict[str, Any]:
    """Men are approved."""
    is_man = row["sex"] in ("male", 1)
    return {"prediction": int(is_man), "probability": 0.75 if is_man else 0.25}


def codec_for_test(payload_format: str) -> Codec:
    mapping = BodyMapping(**MAPPING) if payload_format == "mapped" else None
    return bind_codec(Endpoint(url="http://model/", payload_format=payload_format, mapping=mapping))


def post(service: RunningService, spoken: str, rows: list[list[Any]], types: dict[str, FieldType], **query: str) -> httpx.Response:
    codec = codec_for_test(spoken)
    message = codec.write_message(list(types), rows, options=RequestOptions(types=tuple(types.values())))
    headers = {name.decode(): value.decode() for name, value in message.headers}
    answer = service.client.post(PATH, content=message.body, headers=headers, params={"timeout_seconds": "300", **query})
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("payload_format", [row.value for row in PayloadFormat])
def test_a_request_for_the_model_is_answered_in_its_format(service: RunningService, payload_format: str) -> None:
    types, rows, sexes = TYPES, ROWS, ("female", "male")
    if payload_format == "open_inference_matrix":  # columns of one type
        types, rows, sexes = dict.fromkeys(TYPES, FieldType.INTEGER), [[0, 10_000, 40, 1], [1, 10_000, 40, 0]], (0, 1)
    sex = {"feature": "sex", "monitored": [sexes[0]], "reference": [sexes[1]]}
    mapping = {"mapping": MAPPING} if payload_format == "mapped" else {}
    with row_server(approve) as server:
        server.columns = list(types)
        calls = {"url": server.url_of(payload_format), "payload_format": payload_format, **mapping}
        register(service, server, sex, features=[{"name": name, "type": one} for name, one in types.items()], calls=calls)
        as_they_come = post(service, payload_format, rows, types)
        by_name = post(service, payload_format, rows, types, payload_format=payload_format)

    for answer in (as_they_come, by_name):
        facts = json.loads(answer.headers["Evenhand-Mitigation"]) if "Evenhand-Mitigation" in answer.headers else answer.json()
        assert facts["mode"] == "lift_only"
        assert facts["logged"] == {"stored": 2, "duplicate": 0, "conflict": 0}
        assert ("ids" in facts) == ("Evenhand-Mitigation" not in answer.headers)
        assert predictions_of(payload_format, answer.content) == [(1, 0.75), (1, 0.75)]


def predictions_of(payload_format: str, body: bytes) -> list[tuple[Any, Any]]:
    if payload_format == "sagemaker_csv":  # columns without names: the model's two, then ours
        return [(int(line.split(",")[2]), float(line.split(",")[3])) for line in body.decode().splitlines()]
    if payload_format == "mapped":
        return [(record["mitigated_prediction"], record["mitigated_probability"]) for record in json.loads(body)["results"]["each"]]
    found = codec_for_test(payload_format).read_answer(body, outputs=MITIGATED, expected_rows=2).predictions
    return [(answer.prediction, answer.probability) for answer in found]


def test_a_format_that_is_not_the_endpoints_is_taken_by_name_only(service: RunningService) -> None:
    sex = {"feature": "sex", "monitored": ["female"], "reference": ["male"]}
    with row_server(approve) as server:
        register(service, server, sex, features=[{"name": name, "type": one} for name, one in TYPES.items()])
        named = post(service, "kserve_v1", ROWS, TYPES, payload_format="kserve_v1")
        unnamed = service.client.post(PATH, json={"instances": ROWS})
        no_such = service.client.post(PATH, json={"instances": ROWS}, params={"payload_format": "sesame"})
        no_mapping = service.client.post(PATH, json={"instances": ROWS}, params={"payload_format": "mapped"})
        short = service.client.post(PATH, json={"instances": [["female"]]}, params={"payload_format": "kserve_v1"})
        wrong = service.client.post(PATH, json={"instances": [[1, 2, 3, 4]]}, params={"payload_format": "kserve_v1"})

    assert [prediction["mitigated_prediction"] for prediction in named.json()["predictions"]] == [1, 1]
    answers = {"body": unnamed, "payload_format": no_mapping, "instances[0]": short, "instances[0].sex": wrong}
    for field, answer in answers.items():
        assert answer.status_code == 422
        assert field in {error["field"] for error in answer.json()["errors"]}, answer.text
    assert no_such.status_code == 422


@pytest.mark.thorough
@pytest.mark.parametrize("payload_format", [row.value for row in PayloadFormat if row.value not in WITH_FORMS])
def test_a_body_of_another_kind_is_refused_and_names_the_body(service: RunningService, payload_format: str) -> None:
    mapping = {"mapping": MAPPING} if payload_format == "mapped" else {}
    with row_server(approve) as server:
        calls = {"url": server.url_of(payload_format), "payload_format": payload_format, **mapping}
        sex = {"feature": "sex", "monitored": ["female"], "reference": ["male"]}
        register(service, server, sex, features=[{"name": name, "type": one} for name, one in TYPES.items()], calls=calls)
        bodies = [b"", b"\xff\x00\x01", b"[[", b"{}", b"[]", b"null", b'{"inputs": {}}', b"1,2\n", b'{"instances": 7}']
        statuses = [service.client.post(PATH, content=body, headers={"Content-Type": "application/json"}).status_code for body in bodies]
        asked = server.counts.requests

    assert set(statuses) <= {413, 422}, dict(zip(bodies, statuses, strict=True))
    assert asked == 0
