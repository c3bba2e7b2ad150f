"""A deployment of loans, and short ways to ask its mitigated endpoint."""

from typing import Any

from tests.models.serving import ModelServer
from tests.service import RunningService

ADDRESS = "/v1/deployments/loans"

FEATURES = [
    {"name": "sex", "type": "string"},
    {"name": "colour", "type": "string"},
    {"name": "age", "type": "integer"},
    {"name": "income", "type": "number"},
]
SEX = {"feature": "sex", "monitored": ["female"], "reference": ["male"]}
COLOUR = {"feature": "colour", "monitored": ["red", "blue"], "reference": ["green"]}
AGE = {"feature": "age", "monitored": [[18, 25]], "reference": [[26, 75]]}


def register(service: RunningService, server: ModelServer | None, *attributes: dict[str, Any], **changes: Any) -> None:  # noqa: ANN401
    """The deployment with a monitor of these attributes; `changes` are its own members, `outcomes` and `mlflow` apart."""
    outcomes = changes.pop("outcomes", {"favourable": [1], "unfavourable": [0]})
    is_mlflow = changes.pop("mlflow", False)
    endpoint = {}
    if server is not None:
        url = server.mlflow_url if is_mlflow else server.url
        endpoint = {"endpoint": {"url": url, "payload_format": "mlflow" if is_mlflow else "fields_values"} | changes.pop("calls", {})}
    deployment = {
        "id": "loans",
        "name": "Loans",
        "problem_type": "binary",
        "features": FEATURES,
        "outputs": {"prediction": "prediction", "probability": "probability"},
        **endpoint,
        **changes,
    }
    service.client.post("/v1/deployments", json=deployment).raise_for_status()
    if attributes:
        service.client.put(f"{ADDRESS}/fairness-monitor", json={**outcomes, "attributes": list(attributes)}).raise_for_status()


def applicant(**changes: object) -> dict[str, Any]:
    """The features of a woman, green, of middle age, with half of what she needs."""
    return {"sex": "female", "colour": "green", "age": 40, "income": 10_000, **changes}


def ask(service: RunningService, *applicants: dict[str, Any], **query: object) -> dict[str, Any]:
    """The answer to records with the ids a-0, a-1 and so on, however long it takes unless the query says."""
    records = [{"id": f"a-{place}", "features": features} for place, features in enumerate(applicants)]
    answer = service.client.post(f"{ADDRESS}/mitigated-predictions", json={"records": records}, params={"timeout_seconds": 300} | query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def words(answer: dict[str, Any]) -> list[str]:
    """What became of each record."""
    return [row["mitigation"] for row in answer["predictions"]]
