from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from app.base.values import Range
from app.checks.queries import read_run
from app.database.engine import Database
from app.database.tables import CheckRow
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.integration.reports.reported import HOSTILE, Reported
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import RunningService, running_service

AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 45),), reference=(Range(46, 80),))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def reported(database: Database, server: ModelServer, memory: SceneMemory, tmp_path: Path) -> Iterator[Reported]:
    """Three checked hours with records and labels, and one without."""

    def make() -> Scene:
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))
        for hour in range(3):
            rows = applicants(60, 50, 20 + 3 * hour, prefix=f"{hour}-")
            stage.log(rows, NOON + hour * HOUR)
            stage.label([(row["id"], row["prediction"] if no % 5 else 1 - row["prediction"]) for no, row in enumerate(rows)], NOON)
        for hour in range(4):
            stage.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE)
        return stage

    stage = memory.recall(database, make)
    with database.transaction() as session:
        runs = [read_run(session, no) for no in session.scalars(select(CheckRow.no).order_by(CheckRow.no))]
    with running_service(database, tmp_path) as service:
        service.client.patch("/v1/deployments/a-model", json={"name": HOSTILE}).raise_for_status()
        yield Reported(stage, runs, service)


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on an empty database."""
    with running_service(database, tmp_path) as running:
        yield running
