"""A deployment whose check found women at a disadvantage, with the alerts that it opened."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from app.alerts.evaluate import evaluate_ended_checks
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.heartbeats import let_a_worker_answer
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import scene
from tests.service import RunningService, running_service


@contextmanager
def service_with_open_alerts(database: Database, folder: Path) -> Iterator[RunningService]:
    """The service with the deployment `credit-risk`, found unfair, and its open alerts; no worker runs, and one seems to answer."""
    with serve(RuleScorer()) as model, running_service(database, folder) as service:
        _open_alerts(database, model.url)
        let_a_worker_answer(database)
        yield service


def _open_alerts(database: Database, model_url: str) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=model_url))
    judge_single_checks(database, stage.deployment.no)
    with database.transaction() as session:
        session.execute(text("UPDATE deployments SET id = 'credit-risk', name = 'Credit risk'"))
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log(applicants(20, 30, 6), hour)
    with ThreadPoolExecutor(1) as pool:  # the browser's event loop is in this thread, where a check cannot run one of its own
        pool.submit(stage.check, hour, trigger=Trigger.SCHEDULE).result()
    evaluate_ended_checks(database)
