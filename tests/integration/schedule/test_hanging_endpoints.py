"""Endpoints that accept connections and never answer: what they hold up, when they are left alone, and how they are tried again."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select, text
from syrupy.assertion import SnapshotAssertion

from app.base.errors import EndpointDown, ScoringFailed
from app.base.settings import Settings
from app.calls.scoring import ask_page as pacing
from app.checks.check import perform_check
from app.checks.queries import queue_requested
from app.database.engine import Database
from app.deployments.queries import IS_OPEN, Deployments, build_definition
from app.domain.check import CheckRun, CheckState, Failure, Span, Trigger
from app.domain.deployment import HEALTHY, OPENS_AFTER_FAILURES, BreakerState, Endpoint, EndpointHealth
from app.mitigation.window.mitigate_window import mitigate_window
from app.worker.worker import Worker
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.builders.page_words import says
from tests.builders.queued_checks import reread
from tests.builders.workers import running
from tests.models.faulty import closed_url
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.progress import wait_until
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene

CONCURRENCY = Settings().worker_concurrency


@contextmanager
def never_answering() -> Iterator[str]:
    """The URL of an endpoint whose connections are accepted by the system, and then nothing comes."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/score"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries an endpoint as often as ever, with a fiftieth of the pauses."""
    monkeypatch.setattr(pacing, "_FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as started:
        yield started


def staged(database: Database, name: str, url: str, *, timeout_seconds: float = 300.0) -> Scene:
    """A deployment with records to check."""
    stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=url, timeout_seconds=timeout_seconds), deployment_id=name)
    stage.number_from(1000 * stage.deployment.no)
    stage.log(applicants(20, 20, prefix=name), NOON)
    return stage


def asked(stage: Scene, trigger: Trigger = Trigger.REQUEST) -> CheckRun:
    with stage.database.transaction() as session:
        span = Span(start=NOON, end=NOON + HOUR)
        return queue_requested(session, stage.deployment.no, span=span, trigger=trigger, requested_by="a person")


def worker(database: Database, *, limit: timedelta = timedelta(hours=1)) -> Worker:
    perform = partial(perform_check, database=database, sealer=PlainSealer(), further=mitigate_window)
    return Worker(database, perform, concurrency=CONCURRENCY, limit=limit)


def health(stage: Scene) -> EndpointHealth:
    with stage.database.transaction() as session:
        return Deployments(session, PlainSealer()).get_by_no(stage.deployment.no).health


def step_of(database: Database, check: CheckRun) -> str | None:
    now = reread(database, check)
    return now.progress.step if now.state is CheckState.RUNNING and now.progress else None


@pytest.mark.nightly
def test_endpoints_that_never_answer_do_not_hold_up_the_check_of_another_deployment(database: Database, server: ModelServer) -> None:
    with never_answering() as url:
        hanging = [asked(staged(database, f"hangs-{no}", url)) for no in range(CONCURRENCY)]
        with running(worker(database)):
            wait_until(lambda: all(step_of(database, check) == "asking the model about copies" for check in hanging))
            healthy = asked(staged(database, "healthy", server.url))
            wait_until(lambda: reread(database, healthy).state is CheckState.SUCCEEDED)

            assert [reread(database, check).state for check in hanging] == [CheckState.RUNNING] * CONCURRENCY


@pytest.mark.nightly
def test_a_check_that_has_used_up_its_time_says_at_what_it_was_and_what_to_do(database: Database, snapshot: SnapshotAssertion) -> None:
    with never_answering() as url:
        check = asked(staged(database, "hangs", url))
        with running(worker(database, limit=timedelta(seconds=2))):
            wait_until(lambda: reread(database, check).state is CheckState.FAILED)

    ended = reread(database, check)
    assert ended.failure is Failure.TIMED_OUT
    assert says(said := str(ended.reason), "copies", "0 of 42")
    assert said == snapshot
    assert "EVENHAND_CHECK_MINUTES" in str(ended.reason)


def fail_checks(stage: Scene, count: int, trigger: Trigger = Trigger.SCHEDULE) -> None:
    """Checks of later and later hours that get no answer."""
    for no in range(count):
        with suppress(EndpointDown):  # an attempt follows
            perform(stage, stage.queue(Span(start=NOON + no * HOUR, end=NOON + (no + 1) * HOUR), trigger))


def perform(stage: Scene, run: CheckRun) -> None:
    try:
        stage.perform(run)
    finally:
        stage.stop_running()


def let_the_rest_pass(stage: Scene) -> None:
    with stage.database.transaction() as session:
        session.execute(text("UPDATE endpoint_failures SET open_until = now()"))


def range_of(stage: Scene, trigger: Trigger = Trigger.RANGE) -> CheckRun:
    return stage.queue(Span(start=NOON, end=NOON + HOUR), trigger)


def test_an_endpoint_that_failed_in_a_row_is_left_alone_and_the_reason_says_until_when(database: Database) -> None:
    stage = staged(database, "down", closed_url())

    fail_checks(stage, OPENS_AFTER_FAILURES - 1)
    assert health(stage).state is BreakerState.CLOSED
    fail_checks(stage, 1, Trigger.RANGE)
    assert health(stage).state is BreakerState.OPEN

    with pytest.raises(
        ScoringFailed, match=r"was not asked: it gave no answer to 3 checks in a row, .*not called again before .*refused"
    ) as found:
        perform(stage, stage.queue(Span(start=NOON + 9 * HOUR, end=NOON + 10 * HOUR), Trigger.SCHEDULE))
    assert not isinstance(found.value, EndpointDown)
    assert health(stage).failures == OPENS_AFTER_FAILURES


@pytest.mark.parametrize("trigger", [Trigger.REQUEST, Trigger.RANGE])
@pytest.mark.thorough
def test_a_check_that_somebody_asks_for_tries_an_endpoint_that_is_left_alone_with_one_record(
    database: Database, server: ModelServer, trigger: Trigger
) -> None:
    stage = staged(database, "down", closed_url())
    fail_checks(stage, OPENS_AFTER_FAILURES, Trigger.RANGE)
    with database.transaction() as session:  # the same address answers again
        session.execute(
            text("UPDATE deployments SET endpoint = jsonb_set(endpoint::jsonb, '{url}', to_jsonb(:url ::text))"), {"url": server.url}
        )

    perform(stage, range_of(stage, trigger))

    assert server.counts.requests == 2
    assert server.counts.rows == 1 + 40 + 2
    assert health(stage) == HEALTHY


def test_when_its_rest_is_over_one_record_tries_the_endpoint_and_another_failure_opens_it_again(database: Database) -> None:
    stage = staged(database, "down", closed_url())
    fail_checks(stage, OPENS_AFTER_FAILURES, Trigger.RANGE)
    let_the_rest_pass(stage)
    assert health(stage).state is BreakerState.HALF_OPEN

    run = range_of(stage)
    perform(stage, run)

    assert "1 attempt)" in (stage.result(run).run.reason or "")
    assert health(stage).state is BreakerState.OPEN
    assert health(stage).failures == OPENS_AFTER_FAILURES + 1


def test_another_endpoint_of_the_deployment_begins_without_failures(database: Database, server: ModelServer) -> None:
    stage = staged(database, "down", closed_url())
    fail_checks(stage, OPENS_AFTER_FAILURES, Trigger.RANGE)

    with database.transaction() as session:
        deployments = Deployments(session, PlainSealer())
        deployment = deployments.get_by_no(stage.deployment.no)
        deployments.change(deployment, replace(build_definition(deployment), endpoint=Endpoint(url=server.url)))

    assert health(stage) == HEALTHY


def test_a_breaker_that_opened_while_the_clock_was_ahead_is_not_open(database: Database) -> None:
    stage = staged(database, "down", closed_url())
    fail_checks(stage, OPENS_AFTER_FAILURES)
    with database.transaction() as session:
        before = session.scalar(select(IS_OPEN))
        session.execute(text("UPDATE endpoint_failures SET open_until = open_until + interval '3 days'"))
        assert (before, session.scalar(select(IS_OPEN))) == (True, False)
