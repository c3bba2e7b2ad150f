"""Bodies that the API accepts, for tests to send and to spoil."""

from typing import Any


def deployment(**changes: object) -> dict[str, Any]:
    """A credit-risk deployment with an endpoint that needs a password."""
    return {
        "id": "credit-risk",
        "name": "Credit risk",
        "problem_type": "binary",
        "features": [{"name": "Age", "type": "integer"}, {"name": "Sex", "type": "string"}, {"name": "Owner", "type": "boolean"}],
        "meta": [{"name": "Postcode", "type": "string"}],
        "outputs": {"prediction": "prediction", "probability": "probability", "label": "predictedLabel"},
        "model_revision": "r1",
        "endpoint": {
            "url": "http://127.0.0.1:9000/score",
            "credentials": {"kind": "basic", "name": "evenhand", "secret": "sesame"},
            "page_size": 500,
        },
        **changes,
    }


def monitor(**changes: object) -> dict[str, Any]:
    """A monitor that fits `deployment()`."""
    return {
        "favourable": ["No Risk"],
        "unfavourable": ["Risk"],
        "attributes": [
            {"feature": "Sex", "monitored": ["female"], "reference": ["male"], "threshold": 0.95},
            {"feature": "Age", "monitored": [[18, 25]], "reference": [[26, 75]]},
        ],
        "intersections": [["Sex", "Age"]],
        **changes,
    }
