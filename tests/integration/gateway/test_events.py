"""Events of KServe, Seldon and Azure's collector: both halves of a call make its records, in either order, once."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import httpx
import pytest

from app.access.principals import Role
from app.base.clock import utc_now
from app.database.tables import CallHalfRow
from app.intake.gateway import store_calls as storing
from tests.builders.docs_pages import DOCS, blocks
from tests.integration.gateway.scene import FIELDS, MAN, V2_ANSWER, V2_REQUEST, WOMAN, GatewayScene
from tests.progress import wait_until

REQUEST = json.dumps({"instances": [WOMAN, MAN]}).encode()
ANSWER = json.dumps({"predictions": [{"prediction": 0, "probability": 0.1}, {"prediction": 1, "probability": 0.9}]}).encode()


def kserve(side: str, call_id: str, body: bytes) -> dict[str, Any]:
    """What KServe's logger sends, as in its `pkg/logger/worker.go`."""
    return {
        "headers": {
            "ce-specversion": "1.0",
            "ce-id": call_id,
            "ce-type": f"org.kubeflow.serving.inference.{side}",
            "ce-source": "http://localhost:9081/",
            "ce-time": "2026-03-01T09:00:00.123456789Z",
            "ce-inferenceservicename": "loans",
            "ce-namespace": "default",
            "ce-component": "predictor",
            "ce-endpoint": "default",
            "ce-metadata": "{}",
            "content-type": "application/json",
        },
        "content": body,
    }


def send(scene: GatewayScene, message: dict[str, Any], path: str = "/v1/deployments/loans/events") -> dict[str, Any]:
    answer = scene.service.client.post(path, **message)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def waiting(scene: GatewayScene) -> int:
    """Halves that wait for the other one."""
    with scene.service.database.transaction() as session:
        return session.query(CallHalfRow).count()


@pytest.mark.parametrize("order", [("request", "response"), ("response", "request")])
@pytest.mark.nightly
def test_the_halves_of_kserves_logger_make_records_in_either_order(scene: GatewayScene, order: tuple[str, str]) -> None:
    bodies = {"request": REQUEST, "response": ANSWER}
    assert send(scene, kserve(order[0], "c1", bodies[order[0]])) == {"received": 1, "ignored": 0, "reasons": []}
    wait_until(lambda: waiting(scene) == 1, "the first half waits")
    send(scene, kserve(order[1], "c1", bodies[order[1]]))

    records = scene.await_records(2)
    assert records.keys() == {"c1-1", "c1-2"}
    assert (records["c1-2"]["prediction"], records["c1-2"]["features"]["sex"]) == (1, "male")
    assert records["c1-1"]["scored_at"].startswith("2026-03-01T09:00:00.123456")
    wait_until(lambda: waiting(scene) == 0, "nothing waits any more")


def test_events_that_come_twice_make_one_record(scene: GatewayScene) -> None:
    for _ in range(2):
        send(scene, kserve("request", "c1", REQUEST))
        send(scene, kserve("response", "c1", ANSWER))

    assert scene.await_records(2).keys() == {"c1-1", "c1-2"}


def test_seldons_halves_are_paired_by_the_requests_id_and_not_by_that_of_the_event(scene: GatewayScene) -> None:
    for number, (side, body) in enumerate((("request", V2_REQUEST), ("response", V2_ANSWER))):
        headers = {
            "CE-SpecVersion": "0.3",
            "CE-ID": f"event-{number}",
            "CE-Type": f"io.seldon.serving.inference.{side}",
            "CE-Requestid": "r-7",
            "CE-Modelid": "classifier",
            "Content-Type": "application/json",
        }
        send(scene, {"headers": headers, "content": json.dumps(body)})

    assert scene.await_records(1)["r-7"]["probability"] == 0.1


def test_structured_events_and_batches_are_read(scene: GatewayScene) -> None:
    request = {"specversion": "1.0", "id": "c1", "type": "org.kubeflow.serving.inference.request", "source": "s", "data": V2_REQUEST}
    answer = {**request, "type": "org.kubeflow.serving.inference.response"}
    del answer["data"]
    answer["data_base64"] = base64.b64encode(json.dumps(V2_ANSWER).encode()).decode()
    send(scene, {"content": json.dumps(request), "headers": {"Content-Type": "application/cloudevents+json"}})
    batch = {
        "content": json.dumps([answer, {"type": "?"}, 7]),
        "headers": {"Content-Type": "application/cloudevents-batch+json; charset=utf-8"},
    }

    found = send(scene, batch)

    assert (found["received"], found["ignored"]) == (1, 2)
    assert scene.await_records(1).keys() == {"c1"}


def test_a_batch_of_kafka_connect_that_comes_twice_is_stored_once(scene: GatewayScene) -> None:
    """The batch as the connector makes it by the settings on the page."""
    (settings,) = [json.loads(block.body) for block in blocks(DOCS / "how-to" / "log-by-events.md") if block.language == "json"]
    messages = [
        json.dumps({"id": f"application-{number}", "features": dict(zip(FIELDS, row, strict=True)), "prediction": 1, "probability": 0.9})
        for number, row in enumerate([WOMAN, MAN])
    ]
    batch = settings["batch.prefix"] + settings["batch.separator"].join(messages) + settings["batch.suffix"]
    path, headers = urlsplit(settings["http.url"]).path, {"Content-Type": settings["http.headers.content.type"]}

    receipts = [scene.service.client.post(path, content=batch, headers=headers).raise_for_status().json() for _ in range(2)]

    assert [(receipt["accepted"], receipt["duplicate"]) for receipt in receipts] == [(2, 0), (0, 2)]


def test_azures_collector_is_pointed_at_us_by_its_environment(scene: GatewayScene) -> None:
    """Replays what the unmodified `azureml-ai-monitoring` sent, recorded by a server that its environment variables named."""
    key = scene.service.key(Role.INGEST)
    recorded = json.loads((Path(__file__).parent / "azure_recorded.json").read_text(encoding="utf-8"))
    with scene.service.new_client() as client:
        for request in recorded["requests"]:
            # The key of the recording; requests has made HTTP Basic of the user in the URL.
            assert request["headers"].pop("Authorization") == "Basic bG9hbnM6S0VZ"
            answer = client.post(request["path"], content=request["body"], headers=request["headers"], auth=httpx.BasicAuth("loans", key))
            assert answer.status_code == 200
        unnamed = client.post("/modeldata/log", headers={"Authorization": f"Bearer {key}"}, json=[])
        unknown = client.post("/modeldata/log", json=[])

    records = scene.await_records(2)
    assert records.keys() == {"call-1-1", "call-1-2"}
    assert [records[each]["features"]["age"] for each in sorted(records)] == [33, 51]
    sent_at = datetime.fromtimestamp(int(recorded["requests"][0]["headers"]["ce-time"]), UTC)
    assert records["call-1-1"]["scored_at"] == sent_at.isoformat().replace("+00:00", "Z")
    assert (unnamed.status_code, unknown.status_code) == (422, 401)
    assert unnamed.json()["errors"][0]["field"] == "AZUREML_MDC_HOST"


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        ({}, b""),
        ({"ce-type": "io.seldon.serving.feedback", "ce-id": "1"}, b"{}"),
        ({"ce-type": "io.kserve.inference.response", "ce-id": "1"}, b"{}"),
        ({"ce-type": "org.kubeflow.serving.inference.request"}, b"{}"),
        ({"ce-type": "org.kubeflow.serving.inference.request", "ce-id": "x" * 300}, b"{}"),
        ({"content-type": "application/cloudevents+json"}, b"{not json"),
        ({"content-type": "application/cloudevents+json", "content-encoding": "br"}, b"{}"),
        ({"content-type": "application/cloudevents+json"}, b'{"type":"io.seldon.serving.inference.request","id":"1","data_base64":"?"}'),
    ],
)
def test_what_is_no_half_of_a_call_gets_200_and_is_counted_with_the_reason(
    scene: GatewayScene, headers: dict[str, str], content: bytes
) -> None:
    found = send(scene, {"headers": headers, "content": content})

    assert (found["received"], found["ignored"], len(found["reasons"])) == (0, 1, 1)
    (count,) = scene.await_counts(1)
    assert (count["source"], count["outcome"], count["count"], count["reason"]) == ("events", "ignored", 1, found["reasons"][0])


def test_a_probability_that_rounding_moved_out_of_its_range_is_stored_within_it_and_counted(scene: GatewayScene) -> None:
    send(scene, kserve("request", "c1", REQUEST))
    send(scene, kserve("response", "c1", ANSWER.replace(b"0.9", b"1.0000001192")))

    assert scene.await_records(2)["c1-2"]["probability"] == 1
    assert {(count["outcome"], count["count"]) for count in scene.await_counts(2)} == {("stored", 2), ("rounded_probability", 1)}


@pytest.mark.nightly
def test_halves_without_their_other_half_expire_and_are_counted(scene: GatewayScene) -> None:
    send(scene, kserve("request", "lonely", REQUEST))
    send(scene, kserve("response", "lost", ANSWER))
    wait_until(lambda: waiting(scene) == 2, "both wait")

    with patch.object(storing, "MAX_HALF_AGE", timedelta(0)):
        found = scene.await_counts(2)

    assert {(counted["outcome"], counted["count"]) for counted in found} == {("unpaired_request", 1), ("unpaired_response", 1)}
    assert waiting(scene) == 0
    wait_until(lambda: scene.orphans() == 2, "the page of ingestion counts both")


@pytest.mark.thorough
def test_a_clock_that_jumps_ahead_expires_no_half(scene: GatewayScene) -> None:
    send(scene, kserve("request", "c1", REQUEST))
    wait_until(lambda: waiting(scene) == 1, "it waits")
    with patch.object(storing, "utc_now", lambda: utc_now() + timedelta(days=3)):
        with patch.object(storing, "expire_halves", wraps=storing.expire_halves) as expire:
            wait_until(lambda: expire.call_count >= 2, "halves were looked at with the other clock")
        send(scene, kserve("response", "c1", ANSWER))
        scene.await_records(2)


@pytest.mark.nightly
def test_a_half_that_comes_again_after_its_call_was_stored_is_no_orphan(scene: GatewayScene) -> None:
    for side, body in (("request", REQUEST), ("response", ANSWER)):
        send(scene, kserve(side, "c1", body))
    scene.await_records(2)
    wait_until(lambda: waiting(scene) == 0, "both halves are gone")
    send(scene, kserve("request", "c1", REQUEST))
    wait_until(lambda: waiting(scene) == 1, "the repetition waits")

    with patch.object(storing, "MAX_HALF_AGE", timedelta(0)):
        wait_until(lambda: waiting(scene) == 0, "it expires")

    assert {count["outcome"] for count in scene.await_counts(1)} == {"stored"}


def test_the_oldest_halves_of_a_deployment_expire_beyond_its_bound(scene: GatewayScene) -> None:
    with patch.object(storing, "MAX_HALVES", 2):
        for number in range(4):
            send(scene, kserve("request", f"c{number}", REQUEST))
        (count,) = scene.await_counts(1)
        wait_until(lambda: scene.counts()[0]["count"] == 2, "two expire")

    assert (count["outcome"], waiting(scene)) == ("unpaired_request", 2)


def test_events_need_a_key_that_may_log_for_the_deployment(scene: GatewayScene) -> None:
    message = kserve("request", "c1", REQUEST)
    post = scene.service.client.post

    assert post("/v1/deployments/loans/events", **_with(message, {"Authorization": ""})).status_code == 401
    assert post("/v1/deployments/loans/events", **_with(message, scene.service.as_(Role.READ))).status_code == 403
    assert post("/v1/deployments/nobody/events", **message).status_code == 404


def _with(message: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    return {**message, "headers": message["headers"] | headers}
