from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.checks import Trigger
from app.domain.deployments import Endpoint
from app.domain.monitors import MonitoredAttribute
from app.domain.values import Range
from app.store.database.engine import Database
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.integration.reports.reported import HOSTILE, Reported
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene
from tests.service import running_service

AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 45),), reference=(Range(46, 80),))


@pytest.fixture
def reported(database: Database, tmp_path: Path) -> Iterator[Reported]:
    """Three checked hours with records and labels, and one without."""
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))
        for hour in range(3):
            rows = applicants(60, 50, 20 + 3 * hour, prefix=f"{hour}-")
            stage.log(rows, NOON + hour * HOUR)
            stage.label([(row["id"], row["prediction"] if no % 5 else 1 - row["prediction"]) for no, row in enumerate(rows)], NOON)
        checks = [stage.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE) for hour in range(4)]
        with running_service(database, tmp_path) as service:
            service.client.patch("/v1/deployments/a-model", json={"name": HOSTILE}).raise_for_status()
            yield Reported(stage, checks, service)
