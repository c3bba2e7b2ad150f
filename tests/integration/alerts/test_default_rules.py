"""Rules of a new deployment in worlds of known truth: a model that is away, a stopped worker, no records, and nothing wrong."""

from datetime import timedelta

import pytest

from app.alerts.evaluate import evaluate_ended_checks, evaluate_passing_time
from app.alerts.queries import AlertFilter, page_alerts
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.checks.lease_queries import CHECK_POLICY, claim_check
from app.database.engine import Database
from app.domain.alert import Alert, Resolution
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from app.domain.paging import Paging
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.builders.queued_checks import add_hours, let_pass
from tests.connections import connect
from tests.models.faulty import Fault, faulty
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import Scene, scene


def decide_alerts(database: Database) -> list[Alert]:
    """All alerts, after the worker has looked at ended checks and at the clock."""
    evaluate_ended_checks(database)
    evaluate_passing_time(database)
    with database.transaction() as session:
        return page_alerts(session, AlertFilter(), Paging(100))


def check_now(stage: Scene, address: str, *, back: int = 1) -> None:
    """Checks the hour of now and some before with the model at that address."""
    with connect(stage.database.url) as connection:
        connection.execute("UPDATE deployments SET endpoint = jsonb_set(endpoint, '{url}', to_jsonb(%s::text))", [address])
    now = floor_to_hour(utc_now())
    stage.check(now - back * HOUR, now + HOUR, Trigger.REQUEST)


def test_a_model_that_is_away_opens_an_alert_that_its_next_answers_end(database: Database) -> None:
    with faulty(Fault.STATUS_404) as away, serve(RuleScorer()) as back:
        stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=back.url))
        stage.log(applicants(20, 20, 20), utc_now())
        check_now(stage, away.url, back=2)
        assert decide_alerts(database) == []
        check_now(stage, away.url)
        (opened,) = decide_alerts(database)
        check_now(stage, back.url)
        (ended,) = decide_alerts(database)

    sentence = str(opened.facts["sentence"])
    assert opened.worst.rule_id == "failed-checks"
    assert sentence.startswith(
        "The last 2 checks got no usable answers of the model, so counterfactual figures are missing. The model's endpoint "
    )
    assert "answered 404 Not Found" in sentence
    assert (ended.resolution, ended.facts["sentence"]) == (Resolution.RECOVERED, "Checks go through again.")


def test_a_worker_that_stops_in_each_attempt_of_two_checks_opens_an_alert(database: Database) -> None:
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    stage.log(applicants(20, 20, 20), utc_now())
    add_hours(database, stage.deployment.no, 2)
    for number in range(2 * (CHECK_POLICY.max_attempts + 1)):
        with database.transaction() as session:
            claim_check(session, token=f"worker {number}", policy=CHECK_POLICY)
        let_pass(database, CHECK_POLICY.lease)
    (opened,) = decide_alerts(database)

    assert opened.worst.rule_id == "failed-checks"
    assert str(opened.facts["sentence"]).startswith(
        "The last 2 checks failed. The check was interrupted 4 times before it could end: its worker stopped, or lost the database."
    )


@pytest.mark.parametrize(("hours", "is_logged"), [(60, False), (73, False), (73, True)])
def test_records_that_stay_away_longer_than_a_weekend_open_an_alert(database: Database, hours: int, *, is_logged: bool) -> None:
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    registered = utc_now() - hours * HOUR
    with connect(database.url) as connection:
        connection.execute("UPDATE deployments SET created_at = %s", [registered])
    if is_logged:
        stage.log(applicants(20, 20, 20), registered)
    opened = decide_alerts(database)

    last = f"The last record was logged at {registered:%Y-%m-%d %H:%M} UTC." if is_logged else "No record was ever logged."
    expected = [] if hours < 72 else [("no-records", f"No record was logged for 73 hours. {last}")]
    assert [(alert.worst.rule_id, alert.facts["sentence"]) for alert in opened] == expected


def test_a_fair_model_that_answers_opens_none(database: Database) -> None:
    with serve(RuleScorer()) as model:
        stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=model.url))
        stage.log(applicants(20, 20, 20), utc_now() - timedelta(seconds=1))
        check_now(stage, model.url)

    assert decide_alerts(database) == []
