"""A service with the deployment `loans`, called through its gateway or by events."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from app.database.engine import Database
from app.intake.gateway import service as gateway
from tests.models.serving import ModelServer
from tests.progress import wait_until
from tests.service import RunningService, running_service

COLUMNS = [("sex", "string"), ("income", "number"), ("age", "integer")]
FIELDS = [name for name, _ in COLUMNS]
WOMAN, MAN = ["female", 20_000.5, 33], ["male", 20_000.5, 51]

V2_REQUEST = {
    "inputs": [
        {"name": "sex", "shape": [1], "datatype": "BYTES", "data": ["female"]},
        {"name": "income", "shape": [1], "datatype": "FP64", "data": [20000.5]},
        {"name": "age", "shape": [1], "datatype": "INT64", "data": [33]},
    ]
}
V2_ANSWER = {
    "model_name": "loans",
    "outputs": [
        {"name": "prediction", "shape": [1], "datatype": "INT64", "data": [0]},
        {"name": "probability", "shape": [1], "datatype": "FP64", "data": [0.1]},
    ],
}


@dataclass(frozen=True)
class GatewayScene:
    """The service, and short ways to call it."""

    service: RunningService
    model: ModelServer

    def predict(self, rows: list[list[Any]] | None = None, **options: Any) -> httpx.Response:  # noqa: ANN401 - those of httpx
        """Calls the model through the gateway, in its own format."""
        body = {"fields": FIELDS, "values": rows or [WOMAN]}
        return self.service.client.post("/v1/deployments/loans/predictions", **({"json": body} | options))

    def records(self) -> dict[str, dict[str, Any]]:
        """The stored records by id."""
        page = self.service.client.get("/v1/deployments/loans/payload-records", params={"limit": 1000}).raise_for_status().json()
        return {record["id"]: record for record in page["payload_records"]}

    def await_records(self, count: int) -> dict[str, dict[str, Any]]:
        """Waits until so many are stored."""
        wait_until(lambda: len(self.records()) >= count, f"{count} records are stored")
        return self.records()

    def counts(self) -> list[dict[str, Any]]:
        """The counts of what became of calls, of all hours."""
        page = self.service.client.get("/v1/deployments/loans/intake-counts").raise_for_status().json()
        return [count for hour in page["hours"] for count in hour["counts"]]

    def await_counts(self, count: int) -> list[dict[str, Any]]:
        """Waits until there are so many, each of one source and outcome."""
        wait_until(lambda: len(self.counts()) >= count, f"{count} outcomes are counted")
        return self.counts()

    def arrived(self) -> dict[str, int]:
        """The arrived records by source, of all hours."""
        hours = self.service.client.get("/v1/deployments/loans/ingestion").raise_for_status().json()["hours"]
        return {one["source"]: one["records"] for hour in hours for one in hour["arrived"]}

    def orphans(self) -> int:
        """The halves of calls that were counted as rejected because the other half never came."""
        page = self.service.client.get("/v1/deployments/loans/ingestion").raise_for_status().json()
        return sum(
            rejection["records"] for rejection in page["rejections"] if (rejection["source"], rejection["reason"]) == ("event", "orphan")
        )

    def not_received(self) -> int:
        """The records that the service knows to be missing."""
        page = self.service.client.get("/v1/deployments/loans/missing-records").raise_for_status().json()
        return sum(hour["not_received"] for hour in page["hours"])


def loans(model: ModelServer, **changes: object) -> dict[str, Any]:
    """The deployment, with this model as its endpoint."""
    return {
        "id": "loans",
        "name": "Loans",
        "problem_type": "binary",
        "features": [{"name": name, "type": kind} for name, kind in COLUMNS],
        "outputs": {"prediction": "prediction", "probability": "probability"},
        "model_revision": "r1",
        "endpoint": {"url": model.url, "timeout_seconds": 60},
        **changes,
    }


@contextmanager
def open_scene(database: Database, data_dir: Path, model: ModelServer, **settings: object) -> Iterator[GatewayScene]:
    """The service on that database, until the block ends."""
    impatient = patch.multiple(gateway, HOUSEKEEPING_SECONDS=0.05, SWEEP_SECONDS=0.05)
    with impatient, running_service(database, data_dir, **settings) as service:
        service.client.post("/v1/deployments", json=loans(model)).raise_for_status()
        yield GatewayScene(service, model)
