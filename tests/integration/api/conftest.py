from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.service import RunningService, running_service


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on a fresh database."""
    with running_service(database, tmp_path) as service:
        yield service
