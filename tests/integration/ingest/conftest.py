from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.service import RunningService, running_service


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service on a fresh database, with the deployment `credit-risk`."""
    with running_service(database, tmp_path) as service:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        yield service
