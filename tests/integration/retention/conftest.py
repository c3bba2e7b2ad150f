"""The scene of kept records, made once for each module."""

from collections.abc import Iterator

import pytest

from app.store.database.engine import Database
from tests.builders.archived_months import COUNTED
from tests.builders.evidence_worlds import update
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


@pytest.fixture(scope="module")
def counted() -> SceneMemory:
    """Memory for the scene of `cold`."""
    return SceneMemory()


@pytest.fixture
def cold(database: Database, counted: SceneMemory, model: str) -> Scene:
    """The scene, with March counted. A test takes this one or `stage`."""

    def make() -> Scene:
        made = make_kept_records(database, model)
        update(made, COUNTED)
        return made

    return counted.recall(database, make)
