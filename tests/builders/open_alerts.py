"""A deployment whose check found women at a disadvantage, with the alerts that it opened."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import text

from app.alerts.evaluating import evaluate_ended_checks
from app.clock import HOUR, hour_of, utc_now
from app.domain.checks import Trigger
from app.domain.deployments import Endpoint
from app.store.database.engine import Database
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.scenes import scene


def open_alerts(database: Database, model_url: str) -> None:
    """Stores the deployment `credit-risk`, checks its last hour and opens the alerts. No worker is needed, and none may resolve them."""
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=model_url))
    judge_single_checks(database, stage.deployment.no)
    with database.transaction() as session:
        session.execute(text("UPDATE deployments SET id = 'credit-risk', name = 'Credit risk'"))
    hour = hour_of(utc_now()) - HOUR
    stage.log(applicants(20, 30, 6), hour)
    with ThreadPoolExecutor(1) as pool:  # the browser's event loop is in this thread, where a check cannot run one of its own
        pool.submit(stage.check, hour, trigger=Trigger.SCHEDULE).result()
    evaluate_ended_checks(database)
