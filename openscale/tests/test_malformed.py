"""Malformed calls: every route answers IBM's envelope with a message that the SDK shows, and never a fault of ours."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from evenhand_openscale import create_face
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.store.database.engine import Database
from openscale.tests.bodies import BASE, added, fairness, subscription
from tests.databases import Databases
from tests.service import RunningService, running_service

ODD_IDS = ("none", "%00", "fairness.none", "payload_logging.none", "..", "%F0%9F%92%A5", "x" * 300, "fairness.%00", "feedback.%ED%A0%80")
ODD_BODIES = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b'"text"',
    b"{",
    b"[NaN]",
    b'{"name": NaN}',
    b'[{"op": "replace", "path": "/parameters/min_records", "value": "many"}]',
    b'[{"op": "remove", "path": "/"}]',
    b'{"name": "\\u0000"}',
    b'{"name": "\\ud800"}',
    b'{"name": 1e-400}',
    b'{"name": "a", "name": "b"}',
    b"[" * 2_000,
    b"\xff\xfe",
    b'{"target": {"target_type": "subscription", "target_id": "\\u0000"}, "monitor_definition_id": "fairness", "parameters": []}',
    b'{"data_mart_id": "x", "asset": {"asset_id": "x"}, "deployment": {"deployment_id": "x", "name": "x"}}',
    b'[{"request": 1, "response": 2}]',
    b'[{"request": {"fields": ["sex"], "values": [[1]]}, "response": {"fields": [], "values": [[]]}}]',
)


@pytest.fixture(scope="module")
def service(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("malformed")) as service:
            yield service
        database.close()


@pytest.fixture(scope="module")
def known(service: RunningService) -> dict[str, str]:
    """Ids that exist, by the parameter of an address."""
    identifier = added(service.client, "subscriptions", subscription())["metadata"]["id"]
    added(service.client, "monitor_instances", fairness(identifier))
    return {
        "subscription_id": identifier,
        "data_set_id": f"payload_logging.{identifier}",
        "monitor_instance_id": f"fairness.{identifier}",
        "data_mart_id": "00000000-0000-0000-0000-000000000000",
        "monitor_definition_id": "fairness",
    }


OPERATIONS = [
    (method, path, [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"])
    for path, item in create_face().openapi()["paths"].items()
    for method, operation in item.items()
]


def require_envelope(answer: Any) -> None:  # noqa: ANN401 - httpx's
    """Fails unless the answer is a success or an error that the SDK can show."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        found = answer.json()
        assert found["errors"][0]["code"]
        assert found["errors"][0]["message"]
        assert found["trace"] == answer.headers["x-global-transaction-id"]


@pytest.mark.parametrize(("method", "path", "query"), OPERATIONS, ids=[f"{method} {path}" for method, path, _ in OPERATIONS])
@pytest.mark.nightly
def test_no_route_fails_by_ids_bodies_and_parameters_that_make_no_sense(
    service: RunningService, known: dict[str, str], method: str, path: str, query: list[str]
) -> None:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    addresses = [path.format(**dict.fromkeys(names, odd)) for odd in (ODD_IDS if names else ODD_IDS[:1])]
    if method != "delete":
        addresses.append(path.format(**{name: known.get(name, "none") for name in names}))
    bodies = ODD_BODIES if method in {"post", "put", "patch"} else (b"",)
    for address, body in itertools.product(addresses, bodies):
        require_envelope(service.client.request(method, address, content=body, headers={"content-type": "application/json"}))
    for name, odd in itertools.product(query, ("", "-1", "9" * 30, "\0", "NaN", "x,y:z")):
        if method == "get":
            require_envelope(service.client.get(addresses[-1], params={name: odd}))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), lambda own: st.lists(own, max_size=3), max_leaves=6
)
_MEMBERS = st.sampled_from(["features", "favourable_class", "unfavourable_class", "min_records", "max_records"])
_OF_FEATURE = st.dictionaries(st.sampled_from(["feature", "majority", "minority", "threshold"]), _JSON, max_size=4)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(_MEMBERS, _JSON, max_size=3), feature=_OF_FEATURE)
def test_no_parameters_of_fairness_are_a_fault_of_ours(
    service: RunningService, known: dict[str, str], changes: dict[str, Any], feature: dict[str, Any]
) -> None:
    body = fairness(known["subscription_id"])
    body["parameters"]["features"][0] |= feature
    body["parameters"] |= changes
    patch = [{"op": "replace", "path": "/parameters", "value": body["parameters"]}]
    try:
        answer = service.client.patch(f"{BASE}/monitor_instances/{known['monitor_instance_id']}", json=patch)
    except ValueError:  # NaN and half surrogates, which the client itself refuses
        return
    require_envelope(answer)


def test_nobody_gets_in_without_a_key_and_the_refusal_is_ibms(service: RunningService) -> None:
    client = service.new_client()
    for path in (f"{BASE}/data_marts", "/v1/entitlements", "/v1/ml_instances/x/deployments", f"{BASE}/anything"):
        answer = client.get(path)
        assert answer.status_code == 401, path
        require_envelope(answer)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/icp4d-api/v1/authorize", {"json": {"username": "ada", "password": "wrong"}}),
        ("/icp4d-api/v1/authorize", {"json": {"username": "ada", "api_key": "evk_wrong"}}),
        ("/icp4d-api/v1/authorize", {"json": {}}),
        ("/icp4d-api/v1/authorize", {"json": {"username": {}, "password": []}}),
        ("/identity/token", {"data": {"apikey": "evk_wrong"}}),
        ("/identity/token", {"data": {}}),
        ("/identity/token", {"json": {"apikey": "x"}}),
    ],
)
def test_a_log_in_that_is_not_one_is_refused(service: RunningService, path: str, sent: dict[str, Any]) -> None:
    answer = service.new_client().post(path, **sent)

    assert answer.status_code in {401, 415, 422}
    require_envelope(answer)


def test_a_forged_or_foreign_token_does_not_let_in(service: RunningService) -> None:
    token = service.new_client().post("/identity/token", data={"apikey": service.admin_key}).json()["access_token"]
    head, claims, signature = token.split(".")
    for forged in (f"{head}.{claims}.{signature[::-1]}", f"eyJhbGciOiJub25lIn0.{claims}.", f"{head}.e30.{signature}"):
        answer = service.new_client().get(f"{BASE}/data_marts", headers={"Authorization": f"Bearer {forged}"})
        assert answer.status_code == 401
    assert service.new_client().get(f"{BASE}/data_marts", headers={"Authorization": f"Bearer {token}"}).status_code == 200


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"asset": {"asset_id": "t", "problem_type": "binary", "input_data_type": "unstructured_text"}}, "asset.input_data_type"),
    ],
)
def test_a_subscription_that_cannot_be_watched_is_refused_and_not_added(
    service: RunningService, changes: dict[str, Any], field: str
) -> None:
    before = len(service.client.get(f"{BASE}/subscriptions").json()["subscriptions"])
    answer = service.client.post(f"{BASE}/subscriptions", json={**subscription("Refused"), **changes})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"].startswith(f"{field}: ")
    assert "not supported by Evenhand" in answer.text
    assert len(service.client.get(f"{BASE}/subscriptions").json()["subscriptions"]) == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"deployment": {"deployment_id": "t", "name": "t", "scoring_endpoint": {"url": "ftp://x"}}}, "deployment.scoring_endpoint.url"),
        ({"asset_properties": {"prediction_field": "", "feature_fields": ["sex", "sex"]}}, "asset_properties.feature_fields[1].name"),
        ({"deployment": {"deployment_id": "t", "name": " "}}, "deployment.name"),
    ],
)
def test_a_refused_subscription_names_the_member_as_the_script_wrote_it(
    service: RunningService, changes: dict[str, Any], field: str
) -> None:
    answer = service.client.post(f"{BASE}/subscriptions", json={**subscription("Refused"), **changes})

    assert (answer.status_code, answer.json()["errors"][0]["message"].split(": ")[0]) == (422, field), answer.text


def test_a_provider_that_moves_does_not_take_its_secret_along(service: RunningService) -> None:
    own = {"url": "http://127.0.0.1:9", "username": "u", "password": "secret"}
    body = {"name": "moves", "service_type": "custom_machine_learning", "credentials": own}
    provider = added(service.client, "service_providers", body)
    moved = [{"op": "replace", "path": "/credentials/url", "value": "http://127.0.0.2:9"}]

    assert "secret" not in str(provider["entity"]["credentials"].values())
    answer = service.client.patch(f"{BASE}/service_providers/{provider['metadata']['id']}", json=moved)
    assert answer.status_code == 422
    assert "credentials" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"features": [{"feature": "sex", "majority": ["m"], "minority": ["f", "m"]}]}, "parameters.features[0].majority[0]"),
        ({"features": [{"feature": "age", "majority": [[30, 90]], "minority": ["young"]}]}, "parameters.features[0].minority[0]"),
        ({"features": [{"feature": "beauty", "minority": ["much"]}]}, "parameters.features[0].feature"),
        ({"unfavourable_class": [1]}, "parameters.unfavourable_class[0]"),
        ({"min_records": -1}, "parameters.min_records"),
    ],
)
def test_a_refused_monitor_names_the_parameter_as_the_script_wrote_it(
    service: RunningService, known: dict[str, str], parameters: dict[str, Any], field: str
) -> None:
    patch = [{"op": "replace", "path": f"/parameters/{name}", "value": value} for name, value in parameters.items()]
    answer = service.client.patch(f"{BASE}/monitor_instances/{known['monitor_instance_id']}", json=patch)

    assert (answer.status_code, answer.json()["errors"][0]["message"].split(": ")[0]) == (422, field), answer.text
