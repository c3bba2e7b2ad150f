"""Golden models registered through the API, and their rows logged."""

import json
from typing import Any

from tests.golden import golden
from tests.models.serving import ModelServer
from tests.scenes import golden_columns, golden_rows
from tests.service import RunningService

BATCH = 5_000


def registered(service: RunningService, case: str, server: ModelServer) -> tuple[str, list[dict[str, Any]]]:
    """A deployment of the golden model with its monitor; its address and its rows."""
    model = json.loads((golden(case) / "model.json").read_text())
    columns = golden_columns(model, [term["feature"] for term in model["terms"] if term["type"] == "numeric"])
    address = f"/v1/deployments/{case.lower()}"
    deployment = {
        "id": case.lower(),
        "name": case,
        "problem_type": "binary",
        "features": [{"name": column.name, "type": column.type, "kind": column.kind} for column in columns],
        "outputs": {"prediction": "prediction", "probability": "probability"},
        "endpoint": {"url": server.url},
    }
    attributes = [
        {"feature": entry["config"]["attribute"], **{key: entry["config"][key] for key in ("monitored", "reference", "threshold")}}
        for entry in json.loads((golden(case) / "openscale.json").read_text()).values()
    ]
    monitor = {"favourable": [1], "unfavourable": [0], "attributes": attributes, "min_records": 100, "max_records": 20_000}
    assert service.client.post("/v1/deployments", json=deployment).status_code == 201
    assert service.client.put(f"{address}/fairness-monitor", json=monitor).status_code == 200
    return address, golden_rows(golden(case), columns)


def log_native(service: RunningService, address: str, rows: list[dict[str, Any]], names: list[str]) -> None:
    """Logs the rows as native records."""
    for start in range(0, len(rows), BATCH):
        records = [
            {
                "id": row["id"],
                "features": {name: row[name] for name in names},
                "prediction": row["prediction"],
                "probability": row["probability"],
            }
            for row in rows[start : start + BATCH]
        ]
        receipt = service.client.post(f"{address}/payload-records", json={"records": records}).json()
        assert (receipt["accepted"], receipt["rejected"]) == (len(records), 0)


def log_fields_values(service: RunningService, address: str, rows: list[dict[str, Any]], names: list[str]) -> None:
    """Logs the rows as bodies of fields and values."""
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        body = {
            "scoring_id": f"batch-{start}",
            "request": {"fields": names, "values": [[row[name] for name in names] for row in part]},
            "response": {"fields": ["prediction", "probability"], "values": [[row["prediction"], row["probability"]] for row in part]},
        }
        receipt = service.client.post(f"{address}/payload-records", json=body).json()
        assert (receipt["accepted"], receipt["rejected"]) == (len(part), 0)
