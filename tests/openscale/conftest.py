"""A service for all tests of a file."""

from collections.abc import Iterator

import pytest

from app.database.engine import Database
from tests.builders.openscale_bodies import added_id, subscription
from tests.builders.workers import working
from tests.databases import Databases
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.service import RunningService, running_service


@pytest.fixture(scope="module")
def service(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with a worker, which reads the credentials that it has sealed."""
    folder = tmp_path_factory.mktemp("service")
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, folder) as service, working(database, folder):
            yield service
        database.close()


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """The address of the applicants' model."""
    with serve(RuleScorer()) as model:
        yield model.url


@pytest.fixture
def subscribed(service: RunningService) -> str:
    """The id of a subscription that no other test uses."""
    return added_id(service.client, "subscriptions", subscription())
