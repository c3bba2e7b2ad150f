from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.integration.gateway.scene import GatewayScene, open_scene
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that can be read, behind HTTP."""
    with serve(RuleScorer()) as server:
        yield server


@pytest.fixture
def scene(database: Database, tmp_path: Path, model: ModelServer) -> Iterator[GatewayScene]:
    """The service with the deployment `loans`, whose endpoint is that model."""
    with open_scene(database, tmp_path, model) as scene:
        yield scene
