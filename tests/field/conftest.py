"""One service for all programs of a module."""

from collections.abc import Iterator
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
import structlog

from app.base.clock import utc_now
from app.database.engine import Database
from app.intake.gateway import service as gateway
from tests.builders.docs_steps import background_work
from tests.databases import Databases
from tests.field.doors import ServiceDoors, open_doors
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


@pytest.fixture(scope="module")
def doors(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceDoors]:
    """All ways into a service, whose checks run in the thread of the test."""
    folder = tmp_path_factory.mktemp("doors")
    impatient = patch.multiple(gateway, HOUSEKEEPING_SECONDS=0.05, SWEEP_SECONDS=0.05)
    with databases.lent() as url, impatient:
        database = Database(url)
        with running_service(database, folder) as service, open_doors(service, folder) as doors:
            yield doors
        database.close()
