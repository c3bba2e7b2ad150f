"""Subscriptions, records and monitor instances as the OpenScale SDK sends them, without the SDK."""

from typing import Any

import httpx

BASE = "/openscale/v2"
ZERO = "00000000-0000-0000-0000-000000000000"

FEATURES = ["sex", "income", "age"]
_TYPES = {"sex": "string", "income": "double", "age": "integer"}


def applicants(count: int = 40) -> list[list[Any]]:
    """Half of them women, half of them rich."""
    return [["male" if n % 2 else "female", 60_000 if n % 4 < 2 else 20_000, 20 + n % 40] for n in range(count)]


def decided(rows: list[list[Any]]) -> list[list[Any]]:
    """What a model answers that approves men, and women only if rich."""
    return [[1, 0.9] if sex == "male" or income >= 50_000 else [0, 0.1] for sex, income, _ in rows]


def subscription(name: str = "Credit", url: str | None = None, **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A subscription of the applicants' model."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {"modeling_role": "feature"}} for name, kind in _TYPES.items()]
    return {
        "data_mart_id": ZERO,
        "service_provider_id": ZERO,
        "asset": {"asset_id": name, "asset_type": "model", "problem_type": "binary", "input_data_type": "structured", "name": name},
        "deployment": {
            "deployment_id": name,
            "name": name,
            "deployment_type": "online",
            **({} if url is None else {"scoring_endpoint": {"url": url}}),
        },
        "asset_properties": {
            "label_column": "approved",
            "prediction_field": "prediction",
            "probability_fields": ["probability"],
            "feature_fields": FEATURES,
            "categorical_fields": ["sex"],
            "input_data_schema": {"type": "struct", "fields": fields},
            **properties,
        },
    }


def payload(rows: list[list[Any]], scoring_id: str) -> list[dict[str, Any]]:
    """A logged call, in the SDK's form."""
    answered = {"fields": ["prediction", "probability"], "values": decided(rows)}
    return [{"scoring_id": scoring_id, "request": {"fields": FEATURES, "values": rows}, "response": answered, "response_time": 4}]


def fairness(subscription_id: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A fairness instance of the applicants' sex."""
    return {
        "data_mart_id": ZERO,
        "monitor_definition_id": "fairness",
        "target": {"target_type": "subscription", "target_id": subscription_id},
        "parameters": {
            "features": [{"feature": "sex", "majority": ["male"], "minority": ["female"], "threshold": 0.95}],
            "favourable_class": [1],
            "unfavourable_class": [0],
            "min_records": 10,
            **parameters,
        },
    }


def added(client: httpx.Client, path: str, body: object) -> dict[str, Any]:
    """What was added, after it was answered as such."""
    answer = client.post(f"{BASE}/{path}", json=body)
    assert answer.status_code in {201, 202}, answer.text
    content: dict[str, Any] = answer.json()
    return content


def added_id(client: httpx.Client, path: str, body: object) -> str:
    """The id of what was added."""
    return str(added(client, path, body)["metadata"]["id"])


def read(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:  # noqa: ANN401 - parameters
    """An answer to a question."""
    answer = client.get(f"{BASE}/{path}", params=query)
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def message_of(answer: httpx.Response) -> str:
    """What an error says."""
    return "; ".join(error["message"] for error in answer.json()["errors"])
