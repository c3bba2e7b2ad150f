"""The scene of kept records, made once for each module."""

from collections.abc import Iterator

import pytest

from app.database.engine import Database
from tests.builders.kept_records import make_kept_records
from tests.builders.lender import UNFAIR
from tests.models.serving import serve
from tests.scenes import Scene, SceneMemory


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The address of the lender's model."""
    with serve(UNFAIR) as server:
        yield server.url


@pytest.fixture
def stage(database: Database, memory: SceneMemory, model: str) -> Scene:
    return memory.recall(database, lambda: make_kept_records(database, model))
