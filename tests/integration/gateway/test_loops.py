"""A call that comes back to the installation that made it is answered 508, whatever door it comes through."""

from pathlib import Path

import httpx
import pytest

from app.alerts.channels.notification import post_json
from app.base.errors import SetupError
from app.calls import pinned_transport as hops
from app.calls.egress_policy import OPEN
from app.calls.pinned_transport import PinnedTransport
from app.calls.scoring.scoring_client import ScoringClient
from app.database.engine import Database
from app.domain.deployment import Endpoint, OutputFields
from tests.integration.gateway.scene import FIELDS, WOMAN, GatewayScene, loans
from tests.models.serving import ModelServer
from tests.service import RunningService, running_service

CALLS = 20


def point(service: RunningService, name: str, target: str, key: str, path: str = "predictions") -> None:
    """Points the endpoint of `name` at the gateway of `target`."""
    endpoint = {
        "url": f"{service.base_url}/v1/deployments/{target}/{path}",
        "timeout_seconds": 5,
        "credentials": {"kind": "bearer", "secret": key},
    }
    service.client.patch(f"/v1/deployments/{name}", json={"endpoint": endpoint}).raise_for_status()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that this process calls."""
    made: list[str] = []
    send = PinnedTransport.handle_async_request

    async def count(transport: PinnedTransport, request: httpx.Request) -> httpx.Response:
        made.append(str(request.url))
        return await send(transport, request)

    monkeypatch.setattr(PinnedTransport, "handle_async_request", count)
    return made


@pytest.mark.parametrize("ring", [["loans"], ["loans", "others"]])
def test_deployments_that_call_each_other_make_one_call_each(scene: GatewayScene, calls: list[str], ring: list[str]) -> None:
    service = scene.service
    service.client.post("/v1/deployments", json=loans(scene.model, id="others")).raise_for_status()
    for name, target in zip(ring, [*ring[1:], ring[0]], strict=True):
        point(service, name, target, service.admin_key)

    answers = [scene.predict() for _ in range(CALLS)]

    assert len(calls) == CALLS
    assert {answer.status_code for answer in answers} == {508}
    problem = answers[0].json()
    assert (answers[0].headers["content-type"], problem["type"]) == ("application/problem+json", "urn:evenhand:problem:call-loop")
    assert "loans" not in problem["detail"]


def test_an_endpoint_test_ends_at_the_first_call(scene: GatewayScene, calls: list[str]) -> None:
    for path in ("predictions", "mitigated-predictions"):
        point(scene.service, "loans", "loans", scene.service.admin_key, path)
        calls.clear()

        test = scene.service.client.post("/v1/deployments/loans/endpoint-tests", json={"records": [dict(zip(FIELDS, WOMAN, strict=True))]})

        assert "508" in test.json()["fault"]
        assert len(calls) == 1


def test_no_door_takes_a_call_that_came_back(scene: GatewayScene, subtests: pytest.Subtests) -> None:
    for path in ("", "health/live", "v1/deployments", "v1/deployments/loans/events", "v1/deployments/loans/mitigated-predictions"):
        with subtests.test(path=path):
            answers = [
                scene.service.client.request(method, f"/{path}", headers={"Evenhand-Hops": hops.read_own_id()})
                for method in ("GET", "POST")
            ]

            assert [answer.status_code for answer in answers] == [508, 508]


def test_receivers_and_models_of_checks_get_the_mark(model: ModelServer) -> None:
    deployment = Endpoint(url=model.url)
    ScoringClient(deployment, OutputFields(probability="probability"), FIELDS).score([WOMAN])
    post_json(model.url, b'{"fields": [], "values": []}', [], OPEN)

    assert model.counts.hops == [hops.read_own_id()] * 2


def test_a_call_passes_through_other_installations_up_to_a_number(scene: GatewayScene) -> None:
    def call(*installations: str) -> tuple[int, str | None]:
        answer = scene.predict(headers=[("Evenhand-Hops", installation) for installation in installations])
        return answer.status_code, scene.model.counts.hops[-1]

    own = hops.read_own_id()
    assert call() == (200, own)
    assert call("a1") == (200, f"a1,{own}")
    assert call("a1,b2", "c3") == (200, f"a1,b2,c3,{own}")
    scene.model.counts.clear()
    assert scene.predict(headers={"Evenhand-Hops": "a1,b2,c3,d4"}).status_code == 508
    assert scene.predict(headers={"Evenhand-Hops": f"a1, {own}"}).status_code == 508
    assert scene.model.counts.requests == 0
    assert call() == (200, own)  # what one request was sent is not that of the next


def test_the_processes_of_a_database_have_one_id(database: Database, tmp_path: Path) -> None:
    ids = []
    for name in "ab":
        with running_service(database, tmp_path / name):
            ids.append(hops.read_own_id())

    assert ids[0] == ids[1]


OWN = [
    ({}, "http://127.0.0.1:8000/x"),
    ({}, "http://localhost:8000/x"),
    ({}, "http://[::1]:8000/x"),
    ({}, "http://[::ffff:127.0.0.1]:8000/x"),
    ({"host": "0.0.0.0", "endpoint_allowlist": "127.0.0.1"}, "http://127.0.0.1:8000/x"),  # noqa: S104 - said, not bound
    ({"host": "10.1.2.3", "endpoint_allowlist": "10.1.2.3"}, "http://10.1.2.3:8000/x"),
    ({"port": 9001}, "http://127.0.0.1:9001/x"),
    ({"public_url": "https://fair.example.com/"}, "https://FAIR.example.com:443/v1/deployments/x/predictions"),
]
OTHERS = [
    ({}, "http://127.0.0.1:8001/x"),
    ({"host": "10.1.2.3", "endpoint_allowlist": "127.0.0.1"}, "http://127.0.0.1:8000/x"),
    ({"public_url": "https://fair.example.com"}, "https://fair.example.com:8443/score"),
]


WHOLE = {"id": "loans", "name": "Loans", "problem_type": "binary", "features": [{"name": "sex", "type": "string"}]}


@pytest.mark.parametrize(("settings", "url"), OWN)
def test_the_services_own_address_is_no_endpoint_and_no_receiver(
    database: Database, tmp_path: Path, settings: dict[str, object], url: str
) -> None:
    token = {"kind": "oauth_client", "name": "n", "secret": "s", "token_url": url}
    endpoint = {"url": "https://10.1.2.3/score", "credentials": token}
    new = WHOLE | {"endpoint": {"url": url}}
    with running_service(database, tmp_path, **settings) as service:
        client = service.client
        client.post("/v1/deployments", json=WHOLE).raise_for_status()
        answers = {
            "endpoint.url": client.patch("/v1/deployments/loans", json={"endpoint": {"url": url}}),
            "endpoint.credentials.token_url": client.patch("/v1/deployments/loans", json={"endpoint": endpoint}),
            "url": client.put("/v1/alert-channels/desk", json={"kind": "webhook", "name": "Desk", "url": url}),
            "deployment.endpoint.url": client.post("/v1/endpoint-tests", json={"deployment": new, "records": [{"sex": "female"}]}),
        }
        created = client.post("/v1/deployments", json=new | {"id": "new"})

    for field, answer in [*answers.items(), ("endpoint.url", created)]:
        errors = {problem["field"]: problem["message"] for problem in answer.json()["errors"]}
        assert answer.status_code == 422
        assert "own address" in errors[field]


@pytest.mark.parametrize(("settings", "url"), OTHERS)
def test_another_address_is_an_endpoint(database: Database, tmp_path: Path, settings: dict[str, object], url: str) -> None:
    with running_service(database, tmp_path, **settings) as service:
        assert service.client.post("/v1/deployments", json=WHOLE | {"endpoint": {"url": url}}).status_code == 201


def test_a_public_address_that_cannot_be_read_is_said_at_the_start(database: Database, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="EVENHAND_PUBLIC_URL"), running_service(database, tmp_path, public_url="example.com"):
        pass
