"""A server written for OpenScale, as it is: its deployments are discovered and its model is asked, with each kind of log-in."""

import base64
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from app.checks.check import perform_check
from app.mitigation.window.mitigating import mitigate_window
from app.schedule.worker import Worker
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.database.engine import Database
from tests.builders.openscale import added, applicants, fairness, payload, subscription
from tests.builders.workers import ended, running
from tests.databases import Databases
from tests.models.custom_provider import CustomProvider, custom_provider
from tests.models.rules import RuleScorer
from tests.service import RunningService, running_service

BASIC = f"Basic {base64.b64encode(b'model:secret-7f3').decode()}"
LOG_INS: dict[str, tuple[dict[str, Any], str | None]] = {
    "none": ({"auth_type": "none"}, None),
    "no auth_type": ({}, None),
    "basic": ({"auth_type": "basic", "username": "model", "password": "secret-7f3"}, BASIC),
    "basic without auth_type": ({"username": "model", "password": "secret-7f3"}, BASIC),
    "api key": ({"auth_type": "api_key", "apikey": "secret-7f3"}, "Bearer secret-7f3"),
    "bearer": ({"auth_type": "bearer", "token": "secret-7f3"}, "Bearer secret-7f3"),
}


@pytest.fixture(scope="module")
def service(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with databases.lent() as url:
        database = Database(url)
        folder = tmp_path_factory.mktemp("provider")
        with running_service(database, folder) as service:
            # The endpoints' credentials are sealed with the service's own key.
            sealer = open_secret_box(Settings(data_dir=folder))
            perform = partial(perform_check, database=database, sealer=sealer, further=mitigate_window)
            with running(Worker(database, perform, concurrency=1)):
                yield service
        database.close()


def add_provider(service: RunningService, server: CustomProvider, name: str, credentials: dict[str, Any]) -> str:
    body = {"name": name, "service_type": "custom_machine_learning", "credentials": {"url": server.url, **credentials}}
    found: str = added(service.client, "service_providers", body)["metadata"]["id"]
    return found


@pytest.mark.parametrize("name", LOG_INS)
def test_a_provider_is_asked_for_its_deployments_and_its_model_for_copies(service: RunningService, name: str) -> None:
    credentials, authorization = LOG_INS[name]
    with custom_provider(RuleScorer(), authorization) as server:
        provider = add_provider(service, server, name, credentials)
        discovered = service.client.get(f"/v1/ml_instances/{provider}/deployments", params={"datamart_id": "x"})

        assert discovered.json() == {"count": 1, "resources": [server.resource]}, discovered.text
        scoring_url = discovered.json()["resources"][0]["entity"]["scoring_url"]
        identifier = added(service.client, "subscriptions", {**subscription(name, scoring_url), "service_provider_id": provider})
        mine = identifier["metadata"]["id"]
        instance = added(service.client, "monitor_instances", fairness(mine))["metadata"]["id"]
        added(service.client, f"data_sets/payload_logging.{mine}/records", payload(applicants(), "call"))
        run = added(service.client, f"monitor_instances/{instance}/runs", {})["metadata"]["id"]
        check = ended(service, f"/v1/deployments/{mine}", {"id": run})

        assert check["state"] == "succeeded", check["reason"]
        assert (server.discoveries, server.scored, server.refused) == (1, 40, 0)
        assert "secret-7f3" not in str(identifier)


@pytest.mark.parametrize("wrong", [{"username": "model", "password": "wrong-9q2"}, {"apikey": "wrong-9q2"}, {}])
def test_a_provider_that_refuses_is_named_without_the_secret_that_it_repeats(service: RunningService, wrong: dict[str, Any]) -> None:
    with custom_provider(RuleScorer(), BASIC) as server:
        provider = add_provider(service, server, f"refuses {wrong}", wrong)
        answer = service.client.get(f"/v1/ml_instances/{provider}/deployments")

    message = answer.json()["errors"][0]["message"]
    assert (answer.status_code, "answered 401" in message) == (502, True), answer.text
    assert "wrong-9q2" not in answer.text
    assert base64.b64encode(b"model:wrong-9q2").decode() not in answer.text


def test_a_key_that_is_to_be_exchanged_for_a_token_is_refused_before_anything_is_sent(service: RunningService) -> None:
    with custom_provider(RuleScorer(), None) as server:
        exchanged = {"auth_type": "api_key", "apikey": "k", "auth_provider": "cpd", "auth_url": server.url}
        provider = add_provider(service, server, "exchanged", exchanged)
        answer = service.client.get(f"/v1/ml_instances/{provider}/deployments")

    assert answer.status_code == 422
    assert "auth_url" in answer.json()["errors"][0]["message"]
    assert server.discoveries == server.refused == 0


def test_only_those_who_manage_may_discover(service: RunningService) -> None:
    answer = service.new_client().get("/v1/ml_instances/any/deployments")

    assert answer.status_code == 401
