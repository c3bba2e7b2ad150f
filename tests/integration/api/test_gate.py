"""Who shows no key learns nothing, not even whether what was sent could be read."""

import pytest

from tests.service import RunningService

AUTHORIZATIONS = [None, "Bearer evk_aaaaaaaa_" + "x" * 43, "Basic !!!", "Bearer", "Negotiate abc"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/deployments"),
        ("GET", "/v1/deployments/none"),
        ("GET", "/v1/deployments?limit=nonsense"),
        ("PUT", "/v1/deployments/none/fairness-monitor"),
        ("POST", "/v1/deployments/none/payload-records"),
        ("POST", "/v1/deployments/none/feedback-records"),
        ("GET", "/v1/deployments/none/measurements"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
        ("GET", "/no/such/path"),
        ("GET", "/healthy"),
    ],
)
def test_everything_but_health_asks_for_a_key_before_anything_else(
    service: RunningService, subtests: pytest.Subtests, method: str, path: str
) -> None:
    for authorization in AUTHORIZATIONS:
        with subtests.test(authorization=authorization), service.new_client() as client:
            headers = {} if authorization is None else {"Authorization": authorization}
            answer = client.request(method, path, headers=headers, content=b"{not json")

            assert answer.status_code == 401
            assert answer.headers["content-type"] == "application/problem+json"
            scheme = "Basic" if path.startswith(("/docs", "/openapi")) else "Bearer"
            assert answer.headers["www-authenticate"].startswith(scheme)


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_health_asks_nobody(service: RunningService, path: str) -> None:
    with service.new_client() as client:
        assert client.get(path).status_code == 200
