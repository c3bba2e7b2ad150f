"""A server written for OpenScale, as it is: its deployments are discovered and its model is asked, with each kind of log-in."""

import base64
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.builders.openscale_bodies import added, added_id, applicants, fairness, payload, subscription
from tests.builders.workers import ended
from tests.models.custom_provider import CustomProvider, custom_provider
from tests.models.rules import RuleScorer
from tests.service import RunningService

GRANT = "urn:ibm:params:oauth:grant-type:apikey"
BASIC = f"Basic {base64.b64encode(b'model:secret-7f3').decode()}"
LOG_INS: dict[str, tuple[dict[str, Any], str | None]] = {
    "none": ({"auth_type": "none"}, None),
    "no auth_type": ({}, None),
    "basic": ({"auth_type": "basic", "username": "model", "password": "secret-7f3"}, BASIC),
    "basic without auth_type": ({"username": "model", "password": "secret-7f3"}, BASIC),
    "api key": ({"auth_type": "api_key", "apikey": "secret-7f3"}, "Bearer secret-7f3"),
    "bearer": ({"auth_type": "bearer", "token": "secret-7f3"}, "Bearer secret-7f3"),
}


def add_provider(service: RunningService, server: CustomProvider, name: str, credentials: dict[str, Any]) -> str:
    body = {"name": name, "service_type": "custom_machine_learning", "credentials": {"url": server.url, **credentials}}
    return added_id(service.client, "service_providers", body)


def check_copies(service: RunningService, subscription_id: str) -> None:
    instance = added_id(service.client, "monitor_instances", fairness(subscription_id))
    added(service.client, f"data_sets/payload_logging.{subscription_id}/records", payload(applicants(), "call"))
    run = added_id(service.client, f"monitor_instances/{instance}/runs", {})
    check = ended(service, f"/v1/deployments/{subscription_id}", {"id": run})
    assert check["state"] == "succeeded", check["reason"]


@pytest.mark.parametrize("name", LOG_INS)
@pytest.mark.nightly
def test_a_provider_is_asked_for_its_deployments_and_its_model_for_copies(service: RunningService, name: str) -> None:
    credentials, authorization = LOG_INS[name]
    with custom_provider(RuleScorer(), authorization) as server:
        provider = add_provider(service, server, name, credentials)
        discovered = service.client.get(f"/v1/ml_instances/{provider}/deployments", params={"datamart_id": "x"})

        assert discovered.json() == {"count": 1, "resources": [server.resource]}, discovered.text
        scoring_url = discovered.json()["resources"][0]["entity"]["scoring_url"]
        identifier = added(service.client, "subscriptions", {**subscription(name, scoring_url), "service_provider_id": provider})
        mine = identifier["metadata"]["id"]
        check_copies(service, mine)

        assert (server.discoveries, server.scored, server.refused) == (1, 40 + 2, 0)  # two unchanged
        assert "secret-7f3" not in str(identifier)


@pytest.mark.parametrize("wrong", [{"username": "model", "password": "wrong-9q2"}, {"apikey": "wrong-9q2"}, {}])
@pytest.mark.thorough
def test_a_provider_that_refuses_is_named_without_the_secret_that_it_repeats(service: RunningService, wrong: dict[str, Any]) -> None:
    with custom_provider(RuleScorer(), BASIC) as server:
        provider = add_provider(service, server, f"refuses {wrong}", wrong)
        answer = service.client.get(f"/v1/ml_instances/{provider}/deployments")

    message = answer.json()["errors"][0]["message"]
    assert (answer.status_code, "answered 401" in message) == (502, True), answer.text
    assert "wrong-9q2" not in answer.text
    assert base64.b64encode(b"model:wrong-9q2").decode() not in answer.text


@pytest.mark.parametrize(
    ("stated", "path", "asked"),
    [
        ({"auth_provider": "cloud"}, "/identity/token", {"grant_type": GRANT, "response_type": "cloud_iam", "apikey": "key-5d8"}),
        ({"auth_provider": "cpd", "username": "ada"}, "/icp4d-api/v1/authorize", {"username": "ada", "api_key": "key-5d8"}),
        ({"auth_provider": "MCSP"}, "/siusermgr/api/1.0/apikeys/token", {"apikey": "key-5d8"}),
    ],
)
@pytest.mark.nightly
def test_a_key_is_exchanged_for_a_token_where_the_provider_says_so(
    service: RunningService, stated: dict[str, str], path: str, asked: dict[str, str]
) -> None:
    with custom_provider(RuleScorer(), "Bearer token-4c1") as server:
        exchanged = {"auth_type": "api_key", "apikey": "key-5d8", "auth_url": server.url, **stated}
        provider = add_provider(service, server, path, exchanged)
        discovered = service.client.get(f"/v1/ml_instances/{provider}/deployments")
        assert discovered.json()["count"] == 1, discovered.text

        scoring_url = discovered.json()["resources"][0]["entity"]["scoring_url"]
        mine = added_id(service.client, "subscriptions", {**subscription(path, scoring_url), "service_provider_id": provider})
        check_copies(service, mine)
        stored = service.client.get(f"/v1/deployments/{mine}").json()["endpoint"]["credentials"]

    assert server.scored == 40 + 2  # two unchanged
    assert {sent_to for sent_to, _ in server.asked_for_tokens} == {path}
    body = server.asked_for_tokens[0][1]
    assert (json.loads(body) if body.startswith("{") else dict(parse_qsl(body))) == asked
    assert (stored["token_url"], server.refused) == (f"{server.url}{path}", 0)
    assert "key-5d8" not in str(stored)


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({}, "auth_provider"),
        ({"auth_provider": "github"}, "auth_provider"),
        ({"auth_provider": "cpd"}, "username"),
        ({"auth_type": "basic", "auth_url": None}, "auth_type"),
        ({"auth_type": "bearer", "apikey": None}, "auth_type"),
    ],
)
@pytest.mark.thorough
def test_credentials_that_lack_a_part_are_refused_before_anything_is_stored(
    service: RunningService, stated: dict[str, str | None], field: str
) -> None:
    with custom_provider(RuleScorer(), None) as server:
        exchanged = {"auth_type": "api_key", "apikey": "key-5d8", "auth_url": server.url, **stated}
        body = {"name": f"unclear {stated}", "service_type": "custom_machine_learning", "credentials": exchanged}
        answer = service.client.post("/openscale/v2/service_providers", json=body)

    assert (answer.status_code, server.asked_for_tokens) == (422, [])
    assert f"credentials.{field}" in answer.json()["errors"][0]["message"]
    assert "key-5d8" not in answer.text


@pytest.mark.thorough
def test_a_stored_key_is_not_sent_to_another_giver_of_tokens(service: RunningService) -> None:
    with custom_provider(RuleScorer(), None) as server:
        exchanged = {"auth_type": "api_key", "apikey": "key-5d8", "auth_url": server.url, "auth_provider": "cloud"}
        provider = add_provider(service, server, "moved", exchanged)
        change = [{"op": "replace", "path": "/credentials/auth_url", "value": "http://127.0.0.1:9"}]
        answer = service.client.patch(f"/openscale/v2/service_providers/{provider}", json=change)

    assert (answer.status_code, "sent again as a whole" in answer.text) == (422, True)
