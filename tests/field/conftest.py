"""One service for all programs of a module."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog

from app.clock import utc_now
from app.store.database.engine import Database
from tests.builders.docs_steps import background_work
from tests.databases import Databases
from tests.service import RunningService, running_service

AFTER = datetime(2026, 11, 28, tzinfo=UTC)
"""The records of the cases lie before it."""


@pytest.fixture(autouse=True)
def _quiet_service(_own_logging: None) -> None:
    """Keeps the service's log out of what commands in this process print."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


@pytest.fixture(scope="module")
def shared_service(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with its worker. Each program registers deployments of its own."""
    if utc_now() < AFTER:
        pytest.skip(f"records of the cases lie in the future: the clock of this machine is before {AFTER:%Y-%m-%d}")
    folder = tmp_path_factory.mktemp("field")
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, folder) as service, background_work(database, folder):
            yield service
        database.close()
