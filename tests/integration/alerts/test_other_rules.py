"""Alerts about failed checks, the model's endpoint, and records that stay away; and a real worker beside a model that fails."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from syrupy.assertion import SnapshotAssertion

from app.alerts import evaluate as evaluating
from app.alerts.lifecycle import list_deployments_with_ended_checks
from app.alerts.rules.rule_queries import delete_rule, page_rules
from app.base.errors import Unavailable
from app.checks.check import perform_check
from app.checks.queries import get_check, queue_requested
from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor
from app.deployments.queries import Deployments
from app.domain.alert import (
    AlertKind,
    AlertState,
    EvidenceCondition,
    FailedChecksCondition,
    LateLabelsCondition,
    Resolution,
    StaleDataCondition,
    VerdictCondition,
)
from app.domain.check import CheckState, Failure, Span, Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.domain.paging import Paging
from app.mitigation.window.mitigate_window import mitigate_window
from app.worker.looks import look_at_clock, look_for_ended_checks, start_ticker
from app.worker.worker import Worker
from tests.builders.alert_history import History, moment, utc
from tests.builders.page_words import says
from tests.builders.queued_checks import add_deployments, ask
from tests.models.faulty import Fault, faulty
from tests.progress import wait_until
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene

HOURLY = timedelta(hours=1)


@pytest.fixture
def history(database: Database) -> History:
    history = History(database)
    history.rule("unfair", VerdictCondition(), enabled=False)
    return history


def test_failed_checks_open_an_alert_after_so_many_in_a_row_and_one_that_goes_through_resolves_it(
    history: History, snapshot: SnapshotAssertion
) -> None:
    history.rule("failing", FailedChecksCondition(checks_in_a_row=2))
    history.fails(0, Failure.OTHER)
    history.evaluate()
    before = history.alerts()
    check = history.fails(1)
    history.evaluate()
    opened = history.alert()
    history.is_idle(2)
    history.evaluate()

    assert before == []
    assert (opened.kind, opened.facts["checks_in_a_row"], opened.facts["since"]) == (AlertKind.FAILED_CHECKS, 2, utc(1))
    assert (opened.facts["check_id"], opened.facts["failure"]) == (check.id, "scoring-failed")
    assert says(opened.facts["sentence"], "2", "500")
    assert opened.facts["sentence"] == snapshot
    assert (history.alert().resolution, history.alert().facts["sentence"]) == (Resolution.RECOVERED, "Checks go through again.")
    assert [event for event, _ in history.told()] == ["opened", "resolved"]


def test_attempts_at_the_same_check_are_one_failed_check(history: History) -> None:
    history.rule("failing", FailedChecksCondition(checks_in_a_row=2))
    history.rule("at-once", FailedChecksCondition())
    history.fails(0)
    for _ in range(3):
        history.evaluate()
        history.execute("UPDATE checks SET alerts_due = true, attempts = attempts + 1")
    history.evaluate()

    assert history.alert().worst.rule_id == "at-once"
    assert history.alert().facts["checks_in_a_row"] == 1


def test_a_check_that_goes_through_breaks_the_row(history: History) -> None:
    history.rule("failing", FailedChecksCondition(checks_in_a_row=2))
    history.fails(0)
    history.ends(1, {})
    history.fails(2)
    history.fails(3, trigger=Trigger.RANGE)
    history.evaluate()

    assert history.alerts() == []


def test_a_check_that_could_not_ask_the_model_counts_as_one_that_failed(history: History) -> None:
    history.rule("failing", FailedChecksCondition(checks_in_a_row=2))
    history.fails(0)
    history.ends(1, {}, failure=Failure.SCORING_FAILED)
    history.evaluate()
    opened = history.alert()
    history.ends(2, {}, failure=Failure.SCORING_FAILED)
    history.evaluate()
    still = history.alert()
    history.ends(3, {})
    history.evaluate()

    sentence = "The last 2 checks got no usable answers of the model, so counterfactual figures are missing. The model answered 500."
    assert opened.facts["sentence"] == sentence
    assert (opened.facts["checks_in_a_row"], still.facts["checks_in_a_row"]) == (2, 3)
    assert history.alert().state is AlertState.RESOLVED


def test_a_new_deployment_has_rules_on_failed_checks_and_missing_records_which_may_be_deleted(database: Database) -> None:
    stage = scene(database, COLUMNS, MONITOR, endpoint=None)
    with stage.database.transaction() as session:
        rules = page_rules(session, stage.deployment.no, Paging(10))
        delete_rule(session, rules[1])
        left = page_rules(session, stage.deployment.no, Paging(10))

    assert {rule.id: rule.content.condition for rule in rules} == {
        "unfair": EvidenceCondition(),
        "failed-checks": FailedChecksCondition(checks_in_a_row=2),
        "no-records": StaleDataCondition(),
        "late-labels": LateLabelsCondition(),
    }
    assert [one.id for one in left] == ["unfair", "no-records", "late-labels"]


def test_a_deployment_without_a_monitor_has_no_failing_checks_any_more(history: History) -> None:
    history.rule("failing", FailedChecksCondition())
    history.fails(0)
    history.evaluate()
    with history.database.transaction() as session:
        delete_monitor(session, history.no)
    history.tick()

    assert history.alert().resolution is Resolution.NO_LONGER_WATCHED


def test_records_that_stay_away_open_an_alert_that_the_next_record_resolves(history: History, snapshot: SnapshotAssertion) -> None:
    history.rule("silence", StaleDataCondition(hours=2))
    now = datetime.now(UTC)
    last = now - timedelta(hours=3)
    history.scene.log([{"sex": "male", "prediction": 1}], last)
    history.tick()
    history.tick()
    opened = history.alert()
    history.scene.log([{"sex": "male", "prediction": 1}], now)
    history.tick()

    assert opened.kind is AlertKind.STALE_DATA
    assert moment(opened.facts["since"]) == moment(opened.facts["newest_record_at"]) == last
    assert says(opened.facts["sentence"], "3", f"{last:%Y-%m-%d %H:%M}", "UTC")
    assert opened.facts["sentence"] == snapshot
    assert (history.alert().resolution, history.alert().facts["sentence"]) == (Resolution.RECOVERED, "Records are logged again.")
    assert [event for event, _ in history.told()] == ["opened", "resolved"]


def test_records_of_a_clock_that_was_ahead_hide_no_silence(history: History) -> None:
    history.rule("silence", StaleDataCondition(hours=2))
    now = datetime.now(UTC)
    for at in (now - 3 * HOURLY, now + 24 * HOURLY):
        history.scene.log([{"sex": "male", "prediction": 1}], at)
    history.tick()

    assert moment(history.alert().facts["since"]) == now - 3 * HOURLY


def test_a_check_made_while_the_clock_was_ahead_overtakes_none(history: History) -> None:
    history.rule("unfair", VerdictCondition())
    hours_ahead = (datetime.now(UTC) - NOON) // HOURLY + 48
    history.ends(hours_ahead, {"female": "fair"})
    history.evaluate()
    history.ends(0, {"female": "unfair"})
    history.evaluate()

    assert history.alert().facts["since"] == utc(1)


def test_a_deployment_that_never_had_a_record_is_given_the_time_since_it_was_registered(
    history: History, snapshot: SnapshotAssertion
) -> None:
    history.rule("silence", StaleDataCondition(hours=1))
    history.tick()
    early = history.alerts()
    history.let_pass(HOURLY)
    history.tick()

    assert early == []
    assert says(said := history.alert().facts["sentence"], "1")
    assert said == snapshot
    assert history.alert().facts["newest_record_at"] is None


def test_a_longer_wait_resolves_an_alert_that_it_does_not_cover(history: History) -> None:
    history.rule("silence", StaleDataCondition(hours=1))
    history.let_pass(HOURLY)
    history.tick()
    history.rule("silence", StaleDataCondition(hours=10))
    history.tick()

    assert history.alert().resolution is Resolution.RECOVERED


@pytest.mark.nightly
def test_the_ticker_works_out_alerts_by_itself(history: History) -> None:
    history.rule("failing", FailedChecksCondition())
    history.fails(0)
    ticker = start_ticker(history.database, worker_id="w")
    try:
        wait_until(lambda: bool(history.alerts()))
    finally:
        ticker.shutdown()

    assert history.alert().worst.rule_id == "failing"


def test_a_database_that_is_away_is_no_reason_to_die() -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/nothing")

    look_for_ended_checks(away)
    look_at_clock(away)

    away.close()


COLUMNS = (
    Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
MONITOR = Monitor(
    outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
    attributes=(MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),),
    min_records=10,
)


@pytest.mark.nightly
def test_a_model_that_fails_is_told_and_one_that_is_unfair_when_it_is_back(database: Database) -> None:
    with faulty(Fault.STATUS_422) as model:
        stage = scene(database, COLUMNS, MONITOR, endpoint=Endpoint(url=model.url))
        history = _rules_of(stage)
        people = [{"sex": sex, "income": 1000, "prediction": int(sex == "male")} for sex in ["male", "female"] * 50]
        stage.log(people, datetime.now(UTC) - timedelta(minutes=1))
        with _worker(database):
            _run(stage, CheckState.SUCCEEDED)
            history.evaluate()
            told_first = {(alert.kind, alert.state) for alert in history.alerts()}
            model.fault = Fault.NONE
            _run(stage, CheckState.SUCCEEDED)
            history.evaluate()

    (failed,) = (alert for alert in history.alerts() if alert.kind is AlertKind.FAILED_CHECKS)
    (unfair,) = (alert.figures for alert in history.alerts() if alert.kind is AlertKind.UNFAIR)
    assert told_first == {(AlertKind.FAILED_CHECKS, AlertState.OPEN), (AlertKind.UNFAIR, AlertState.OPEN)}
    assert failed.state is AlertState.RESOLVED
    assert "422" in str(failed.facts["reason"])
    assert {(figure.data, figure.group) for figure in unfair} == {("as_logged", "female"), ("counterfactual", "female")}
    assert {figure.facts["value"] for figure in unfair} == {0.0}


def _rules_of(stage: Scene) -> History:
    history = History(stage.database, stage)
    history.rule("failing", FailedChecksCondition())
    return history


def _run(stage: Scene, expected: CheckState) -> None:
    now = datetime.now(UTC)
    with stage.database.transaction() as session:
        check = queue_requested(
            session, stage.deployment.no, span=Span(start=now - HOUR, end=now), trigger=Trigger.REQUEST, requested_by="a person"
        )

    def ended() -> bool:
        with stage.database.transaction() as session:
            return get_check(session, check.deployment_no, check.id).state is expected

    wait_until(ended)


@contextmanager
def _worker(database: Database) -> Iterator[None]:
    perform = partial(perform_check, database=database, sealer=PlainSealer(), further=mitigate_window)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(database, perform, concurrency=1).run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_deployment_is_deleted_with_its_alerts_and_rules(history: History) -> None:
    history.rule("failing", FailedChecksCondition())
    history.fails(0)
    history.evaluate()
    history.fails(1)
    with history.database.transaction() as session:
        Deployments(session, PlainSealer()).delete("a-model")
    history.evaluate()
    history.tick()

    assert [history.scene.count(table) for table in ("alerts", "alert_rules", "notifications")] == [0, 0, 0]


def test_a_deployment_that_is_being_deleted_holds_nobody_up_and_loses_nothing_if_it_stays(history: History) -> None:
    history.rule("failing", FailedChecksCondition())
    history.rule("silence", StaleDataCondition(hours=1))
    history.let_pass(HOURLY)
    history.fails(0)
    with pytest.raises(KeyboardInterrupt):
        _delete_and_change_ones_mind(history)
    during = history.alerts()
    history.evaluate()
    history.tick()

    assert during == []
    assert {alert.worst.rule_id for alert in history.alerts()} == {"failing", "silence"}


def _delete_and_change_ones_mind(history: History) -> None:
    with history.database.transaction() as session:
        Deployments(session, PlainSealer()).delete("a-model")
        assert history.evaluate() == 0
        history.tick()
        raise KeyboardInterrupt


def test_a_deployment_that_is_locked_before_its_checks_are_deleted_keeps_its_check_for_later(history: History) -> None:
    history.rule("failing", FailedChecksCondition())
    history.fails(0)
    with history.database.transaction() as session:
        session.execute(text("SELECT FROM deployments FOR UPDATE"))
        during = history.evaluate()
    after = history.evaluate()

    assert (during, after) == (0, 1)
    assert history.alert().worst.rule_id == "failing"


def test_a_deployment_that_the_database_gives_up_on_does_not_hold_up_the_others_for_ever(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.fails(0)
    for no in add_deployments(history.database, 3):
        with history.database.transaction() as session:
            ask(session, no)
    history.execute("UPDATE checks SET state = 'failed', alerts_due = true")
    hold = evaluating.hold_deployment

    def gives_up(session: Session, deployment_no: int) -> bool:
        if deployment_no == history.no:
            raise Unavailable("The statement took too long.")
        return hold(session, deployment_no)

    monkeypatch.setattr(evaluating, "hold_deployment", gives_up)
    for _ in range(100):
        with suppress(Unavailable):
            history.evaluate()
    with history.database.transaction() as session:
        left = list_deployments_with_ended_checks(session)

    assert left == [history.no]
