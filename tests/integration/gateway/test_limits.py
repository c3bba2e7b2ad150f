"""Limits of a key at the gateway and on events: callers get their answers or a pause, and senders of events never an error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from app.access.keys import limit_keeper as key_limits
from app.database.engine import Database
from tests.integration.gateway.scene import FIELDS, WOMAN, GatewayScene, open_scene
from tests.models.serving import ModelServer
from tests.progress import wait_until

EVENT = {"ce-specversion": "1.0", "ce-source": "here", "content-type": "application/json"}


@pytest.fixture
def limited(database: Database, tmp_path: Path, model: ModelServer) -> Iterator[GatewayScene]:
    """The scene, in which a limit applies soon."""
    with patch.object(key_limits, "SYNC_SECONDS", 0.05), open_scene(database, tmp_path, model) as scene:
        yield scene


def make_key(scene: GatewayScene) -> dict[str, Any]:
    body = {"name": "caller", "role": "ingest", "deployment_id": "loans"}
    key: dict[str, Any] = scene.service.client.post("/v1/api-keys", json=body).raise_for_status().json()
    return key


def limit(scene: GatewayScene, key: dict[str, Any], **limits: float) -> None:
    scene.service.client.put(f"/v1/api-keys/{key['id']}/limits", json=limits).raise_for_status()


def predict(scene: GatewayScene, key: dict[str, Any]) -> Any:  # noqa: ANN401 - an answer of httpx
    return scene.predict(json={"fields": FIELDS, "values": [WOMAN]}, headers={"Authorization": f"Bearer {key['key']}"})


def report(scene: GatewayScene, key: dict[str, Any]) -> dict[str, Any]:
    headers = {**EVENT, "ce-id": "c1", "ce-type": "org.kubeflow.serving.inference.request", "Authorization": f"Bearer {key['key']}"}
    answer = scene.service.client.post("/v1/deployments/loans/events", headers=headers, content=json.dumps({"instances": [WOMAN]}).encode())
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def use_of(scene: GatewayScene, key: dict[str, Any]) -> dict[str, Any]:
    found = scene.service.client.get("/v1/key-use").json()["keys"]
    return next((use for use in found if use["key_id"] == key["id"]), {"requests": 0, "records": 0, "bytes": 0, "refused": 0})


def test_calls_beyond_the_rate_get_a_pause_and_do_not_reach_the_model(limited: GatewayScene) -> None:
    key = make_key(limited)
    assert predict(limited, key).status_code == 200
    limit(limited, key, requests_per_second=0.01)

    def is_refused() -> bool:
        return predict(limited, key).status_code == 429

    wait_until(is_refused, "the rate applies")
    asked = limited.model.counts.requests
    answer = predict(limited, key)

    assert (answer.status_code, answer.json()["type"]) == (429, "urn:evenhand:problem:rate-reached")
    assert int(answer.headers["Retry-After"]) >= 1
    assert limited.model.counts.requests == asked
    wait_until(lambda: use_of(limited, key)["refused"] >= 2, "the refusals are counted")


def test_a_caller_whose_storage_is_used_up_gets_its_answer_and_the_record_counts_as_not_received(limited: GatewayScene) -> None:
    key = make_key(limited)
    limit(limited, key, max_bytes=1)

    def is_lost() -> bool:
        assert predict(limited, key).status_code == 200
        return limited.not_received() > 0

    wait_until(is_lost, "the storage applies")
    wait_until(lambda: use_of(limited, key)["refused"] > 0, "the refusal is counted")


def test_use_of_the_gateway_and_of_events_is_counted(limited: GatewayScene) -> None:
    key = make_key(limited)
    assert predict(limited, key).status_code == 200
    wait_until(lambda: use_of(limited, key)["requests"] == 1, "the call is counted")
    called = use_of(limited, key)
    assert report(limited, key)["received"] == 1
    wait_until(lambda: use_of(limited, key)["requests"] == 2, "the event is counted")
    reported = use_of(limited, key)

    assert called["records"] == reported["records"] == 1
    assert 0 < called["bytes"] < reported["bytes"]


def test_events_beyond_a_limit_are_ignored_with_the_reason_and_answered(limited: GatewayScene) -> None:
    key = make_key(limited)
    limit(limited, key, max_bytes=1)
    answers: list[dict[str, Any]] = []

    def is_ignored() -> bool:
        answers.append(report(limited, key))
        return bool(answers[-1]["ignored"])

    wait_until(is_ignored, "the storage applies")

    assert "may store 1 bytes" in answers[-1]["reasons"][0]
