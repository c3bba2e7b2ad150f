"""A small deployment whose model can be read: men are approved, women only when rich."""

from collections.abc import Iterator

import pytest

from app.database.engine import Database
from app.domain.deployment import Endpoint
from tests.builders.applicants import APPLICANT, monitor_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import Scene, scene


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """The model, served."""
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """The watched deployment."""
    return scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))
