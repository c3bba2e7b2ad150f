from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.service import RunningService, running_service

LOANS = {
    "id": "loans",
    "name": "Loans",
    "problem_type": "binary",
    "features": [{"name": "sex", "type": "string"}, {"name": "income", "type": "integer"}],
    "meta": [{"name": "region", "type": "string"}],
    "outputs": {"prediction": "prediction", "probability": "probability"},
    "model_revision": "r1",
}


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service with a deployment `loans`."""
    with running_service(database, tmp_path / "data") as service:
        service.client.post("/v1/deployments", json=LOANS).raise_for_status()
        yield service
