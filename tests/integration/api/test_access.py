import asyncio
import base64
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import text

from app.access.authenticator import Authenticator
from app.access.keys.queries import create_key
from app.access.principals import Role
from app.base.errors import Unauthenticated
from app.database.engine import Database
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

A_KEY_WE_DO_NOT_KNOW = "evk_aaaaaaaa_" + "x" * 43

CLOSED = [
    "/v1/deployments",
    "/v1/deployments/credit-risk",
    "/v1/api-keys",
    "/v1/metrics",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/docs/checks",
]


@pytest.fixture
def no_key(service: RunningService) -> Iterator[httpx.Client]:
    with service.new_client() as client:
        yield client


NO_KEYS = [None, "", "Bearer", "Bearer evk_short", f"Bearer {A_KEY_WE_DO_NOT_KNOW}", "Basic !!", "Digest x", "Bearer evk_\u00fc"]


def test_without_a_key_of_ours_nothing_is_shown(no_key: httpx.Client) -> None:
    for path in CLOSED:
        for authorization in NO_KEYS:
            answer = no_key.get(path, headers=[] if authorization is None else [(b"Authorization", authorization.encode())])

            assert answer.status_code == 401, (path, authorization)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["www-authenticate"].split()[0] == ("Basic" if path.startswith(("/docs", "/openapi")) else "Bearer")


def test_health_needs_no_key(no_key: httpx.Client) -> None:
    assert [no_key.get(path).status_code for path in ("/health/live", "/health/ready")] == [200, 200]


def test_a_key_may_be_sent_as_the_password_of_http_basic(service: RunningService, no_key: httpx.Client) -> None:
    pair = base64.b64encode(f"anybody:{service.admin_key}".encode()).decode()

    assert no_key.get("/docs", headers={"Authorization": f"Basic {pair}"}).status_code == 200


def test_a_role_may_do_what_it_is_for_and_no_more(service: RunningService, subtests: pytest.Subtests) -> None:
    service.client.post("/v1/deployments", json=deployment())

    for role, expected in (
        (Role.INGEST, (403, 403, 403, 403)),
        (Role.READ, (200, 403, 403, 403)),
        (Role.MANAGE, (200, 200, 200, 403)),
        (Role.ADMIN, (200, 200, 200, 200)),
    ):
        with subtests.test(role=role, expected=expected):
            headers = service.as_(role)
            client = service.client

            answers = (
                client.get("/v1/deployments/credit-risk", headers=headers),
                client.patch("/v1/deployments/credit-risk", json={}, headers=headers),
                client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor(), headers=headers),
                client.get("/v1/api-keys", headers=headers),
            )

            assert tuple(answer.status_code for answer in answers) == expected


def test_a_bound_key_knows_of_no_other_deployment(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    service.client.post("/v1/deployments", json=deployment(id="other"))
    with service.database.transaction() as session:
        no = session.scalar(text("SELECT no FROM deployments WHERE id = 'credit-risk'"))
    headers = service.as_(Role.MANAGE, no)
    client = service.client

    own = client.get("/v1/deployments/credit-risk", headers=headers)
    other = client.get("/v1/deployments/other", headers=headers)
    missing = client.get("/v1/deployments/missing", headers=headers)
    listed = client.get("/v1/deployments", headers=headers).json()["deployments"]

    assert own.status_code == 200
    assert other.json()["detail"].replace("other", "missing") == missing.json()["detail"]
    assert (other.status_code, missing.status_code) == (404, 404)
    assert [found["id"] for found in listed] == ["credit-risk"]
    assert client.delete("/v1/deployments/other", headers=headers).status_code == 404
    assert client.post("/v1/deployments", json=deployment(id="new"), headers=headers).status_code == 403
    assert client.get("/metrics", headers=headers).status_code == 403


def test_an_admin_creates_lists_and_revokes_keys_and_their_text_is_shown_once(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    made = service.client.post("/v1/api-keys", json={"name": "scorer", "role": "read", "deployment_id": "credit-risk"})
    key, key_id = made.json()["key"], made.json()["id"]
    fresh = Authenticator(service.database)

    listed = service.client.get("/v1/api-keys")

    assert made.status_code == 201
    assert key not in listed.text
    assert key_id in [found["id"] for found in listed.json()["keys"]]
    assert service.client.get("/v1/deployments/credit-risk", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    with service.database.transaction() as session:
        assert key not in str(session.execute(text("SELECT api_keys::text FROM api_keys")).all())
    assert service.client.delete(f"/v1/api-keys/{key_id}").status_code == 204
    assert service.client.delete(f"/v1/api-keys/{key_id}").status_code == 204
    with pytest.raises(Unauthenticated, match="revoked"):
        asyncio.run(fresh.authenticate(f"Bearer {key}"))
    assert service.client.delete("/v1/api-keys/aaaaaaaa").status_code == 404


def test_keys_that_make_no_sense_are_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    service.client.post("/v1/deployments", json=deployment())

    for body, field in (
        ({"name": "a", "role": "king"}, "role"),
        ({"name": " ", "role": "read"}, "name"),
        ({"name": "a", "role": "read", "deployment_id": "missing"}, "deployment_id"),
        ({"name": "a", "role": "admin", "deployment_id": "credit-risk"}, "deployment"),
    ):
        with subtests.test(body=body, field=field):
            answer = service.client.post("/v1/api-keys", json=body)

            assert answer.status_code == 422
            assert [problem["field"] for problem in answer.json()["errors"]] == [field]


def test_a_key_seen_lately_is_believed_for_five_seconds_and_a_revoked_one_not_longer(database: Database) -> None:
    seconds = [100.0]
    authenticator = Authenticator(database, clock=lambda: seconds[0])
    with database.transaction() as session:
        key = create_key(session, role=Role.READ, name="k")
    asyncio.run(authenticator.authenticate(f"Bearer {key}"))
    with database.transaction() as session:
        session.execute(text("UPDATE api_keys SET revoked_at = now()"))

    seconds[0] = 104.9
    assert asyncio.run(authenticator.authenticate(f"Bearer {key}")).role is Role.READ
    seconds[0] = 105.0
    with pytest.raises(Unauthenticated, match="revoked"):
        asyncio.run(authenticator.authenticate(f"Bearer {key}"))
