import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from threading import Event

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs
from syrupy.assertion import SnapshotAssertion

from app.base.errors import LeaseLost, NotFound, ScoringFailed, Unavailable
from app.checks.lease_queries import CHECK_POLICY, CheckPolicy
from app.checks.queries import get_check, page_checks, read_model_answer, request_cancel
from app.checks.subject import Report
from app.database.engine import Database
from app.domain.check import CheckRun, CheckState, Progress
from app.domain.paging import Paging
from app.worker.worker import Worker
from tests.builders.counted_checks import CountedCheck, make_side_tables, rows
from tests.builders.page_words import says
from tests.builders.queued_checks import add_deployments, add_hours, ask, end_leases, reread
from tests.builders.workers import running
from tests.progress import wait_until

LEASE = timedelta(seconds=12)
"""Renewed after a third of it; a worker that is kept waiting for a processor must not lose it."""


def quick(check: CheckRun, database: Database) -> CheckState:
    return reread(database, check).state


def only_check(database: Database, deployment_no: int) -> CheckRun:
    with database.transaction() as session:
        return page_checks(session, deployment_no, Paging(1))[0]


def leased_until(database: Database) -> datetime | None:
    """Of the only check."""
    with database.transaction() as session:
        found: datetime | None = session.scalar(text("SELECT lease_until FROM checks"))
    return found


def raising(error: Exception) -> Callable[..., None]:
    def perform(check: CheckRun, *, report: Report, **_: object) -> None:  # noqa: ARG001 - a real check's signature
        raise error

    return perform


def endless(check: CheckRun, *, report: Report, **_: object) -> None:
    while True:
        report(Progress(step=f"scoring copies of {check.deployment_id}", done=1, total=2))
        time.sleep(0.01)


def test_a_failed_hour_names_the_reason_and_when_it_is_tried_again(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)

    with running(Worker(database, raising(ScoringFailed("The model answered 500.")), concurrency=1)):
        wait_until(lambda: only_check(database, deployment).state is CheckState.FAILED)

    check = only_check(database, deployment)
    assert check.reason == "The model answered 500."
    assert check.next_attempt_at is not None
    assert check.finished_at is not None
    assert check.next_attempt_at - check.finished_at == CHECK_POLICY.retry_delays[0]


def test_our_own_fault_fails_the_check_with_its_id_and_the_worker_goes_on(database: Database) -> None:
    one, two = add_deployments(database, 2)
    with database.transaction() as session:
        broken, sound = ask(session, one), ask(session, two)

    def perform(check: CheckRun, *, report: Report, **_: object) -> None:
        if check.id == broken.id:
            raise ZeroDivisionError
        make_end(check, report=report)

    make_side_tables(database)
    make_end = CountedCheck(database, pages=1, page_seconds=0)
    with running(Worker(database, perform, concurrency=1)):
        wait_until(lambda: reread(database, sound).state is CheckState.SUCCEEDED)

    failed = reread(database, broken)
    assert failed.state is CheckState.FAILED
    assert broken.id in str(failed.reason)
    assert "ZeroDivision" not in str(failed.reason)


@pytest.mark.nightly
def test_progress_is_visible_while_a_check_runs_and_a_person_can_cancel_it(database: Database) -> None:
    (deployment,) = add_deployments(database)
    with database.transaction() as session:
        check = ask(session, deployment)

    with running(Worker(database, endless, concurrency=1, policy=CheckPolicy(lease=LEASE))):
        wait_until(lambda: reread(database, check).progress is not None)
        seen = reread(database, check).progress
        with database.transaction() as session:
            request_cancel(session, check)
        wait_until(lambda: reread(database, check).state is CheckState.CANCELLED)

    assert seen == Progress(step=f"scoring copies of {check.deployment_id}", done=1, total=2)
    assert reread(database, check).reason == "Cancelled on request."


@pytest.mark.nightly
def test_reporting_often_writes_at_most_once_a_second(database: Database) -> None:
    (deployment,) = add_deployments(database)
    with database.transaction() as session:
        check = ask(session, deployment)
        session.execute(text("CREATE TABLE writes (at timestamptz DEFAULT clock_timestamp())"))
        session.execute(
            text("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO writes DEFAULT VALUES; RETURN NEW; END'")
        )
        session.execute(
            text(
                "CREATE TRIGGER note AFTER UPDATE ON checks FOR EACH ROW"
                " WHEN (NEW.progress IS DISTINCT FROM OLD.progress AND NEW.progress IS NOT NULL) EXECUTE FUNCTION note()"
            )
        )

    def perform(check: CheckRun, *, report: Report, **_: object) -> None:
        for done in range(300):
            report(Progress(step="scoring", done=done, total=300))
            time.sleep(0.005)
        CountedCheck(database, pages=0, page_seconds=0).end(check)

    make_side_tables(database)
    with running(Worker(database, perform, concurrency=1)):
        wait_until(lambda: reread(database, check).state is CheckState.SUCCEEDED)

    with database.transaction() as session:
        moments = session.scalars(text("SELECT at FROM writes ORDER BY at")).all()
    assert len(moments) >= 2
    assert all(later - earlier > timedelta(seconds=0.9) for earlier, later in pairwise(moments))


@pytest.mark.nightly
def test_a_check_longer_than_its_lease_is_kept(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    make_side_tables(database)
    sound = CountedCheck(database, pages=1, page_seconds=0)
    may_end = Event()

    def silent(check: CheckRun, *, report: Report, **_: object) -> None:
        may_end.wait()
        sound(check, report=report)

    with running(Worker(database, silent, concurrency=2, policy=CheckPolicy(lease=LEASE))):
        wait_until(lambda: leased_until(database) is not None)
        first = leased_until(database)
        wait_until(lambda: leased_until(database) != first)
        may_end.set()
        wait_until(lambda: len(rows(database, "ends")) == 1)

    assert len(rows(database, "starts")) == 1
    assert only_check(database, deployment).attempts == 1


@pytest.mark.nightly
def test_a_stopping_worker_hands_its_checks_back_for_others_to_take_at_once(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    raised: list[BaseException] = []

    def perform(check: CheckRun, *, report: Report, **_: object) -> None:
        try:
            endless(check, report=report)
        except LeaseLost as error:
            raised.append(error)
            raise

    with running(Worker(database, perform, concurrency=1)):
        wait_until(lambda: only_check(database, deployment).progress is not None)

    check = only_check(database, deployment)
    assert len(raised) == 1
    assert (check.state, check.attempts, check.lease_token) == (CheckState.QUEUED, 0, None)


@pytest.mark.thorough
def test_a_check_whose_database_went_away_is_tried_again_when_its_lease_ran_out(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    make_side_tables(database)
    sound = CountedCheck(database, pages=1, page_seconds=0)
    went_away = Event()

    def perform(check: CheckRun, *, report: Report, **_: object) -> None:
        if check.attempts == 1:
            went_away.set()
            raise Unavailable("The database went away.")
        sound(check, report=report)

    with running(Worker(database, perform, concurrency=1)):
        went_away.wait()
        end_leases(database)
        wait_until(lambda: len(rows(database, "ends")) == 1)

    assert only_check(database, deployment).attempts == 2


@pytest.mark.nightly
def test_a_worker_outlives_an_outage_of_the_database(database: Database, postgres_url: str) -> None:
    one, two = add_deployments(database, 2)
    make_side_tables(database)
    with database.transaction() as session:
        first = ask(session, one)
    name = make_url(database.url).database
    operator = Database(postgres_url, pool_size=1)

    with running(Worker(database, CountedCheck(database, pages=1, page_seconds=0), concurrency=2, policy=CheckPolicy(lease=LEASE))):
        wait_until(lambda: reread(database, first).state is CheckState.SUCCEEDED)
        with operator.transaction() as session:
            session.execute(text(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false"))
            session.execute(text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"), {"name": name})
        time.sleep(1.5)
        with operator.transaction() as session:
            session.execute(text(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true"))
        with database.transaction() as session:
            second = ask(session, two)
        wait_until(lambda: reread(database, second).state is CheckState.SUCCEEDED)
    operator.close()


@pytest.mark.thorough
def test_a_deployment_deleted_during_its_check_only_ends_the_check(database: Database) -> None:
    gone, stays = add_deployments(database, 2)
    make_side_tables(database)
    with database.transaction() as session:
        lost = ask(session, gone)
    sound = CountedCheck(database, pages=1, page_seconds=0)

    def perform(check: CheckRun, *, report: Report, **_: object) -> None:
        if check.deployment_no == gone:
            endless(check, report=report)
        sound(check, report=report)

    with running(Worker(database, perform, concurrency=1, policy=CheckPolicy(lease=LEASE))):
        wait_until(lambda: reread(database, lost).state is CheckState.RUNNING)
        with database.transaction() as session:
            session.execute(text("DELETE FROM deployments WHERE no = :no"), {"no": gone})
            kept = ask(session, stays)
        wait_until(lambda: reread(database, kept).state is CheckState.SUCCEEDED)

    with database.transaction() as session, pytest.raises(NotFound):
        get_check(session, gone, lost.id)


def test_what_an_endpoint_answered_is_told_by_the_check_and_not_by_the_log(database: Database, snapshot: SnapshotAssertion) -> None:
    (deployment,) = add_deployments(database)
    with database.transaction() as session:
        check = ask(session, deployment)
    failed = ScoringFailed("The model answered 500. Look at the model server.", quotation="a person said ")

    with capture_logs() as logged, running(Worker(database, raising(failed), concurrency=1)):
        wait_until(lambda: any(line["event"] == "check_ended" for line in logged))

    (ended,) = [line for line in logged if line["event"] == "check_ended"]
    with database.transaction() as session:
        assert read_model_answer(session, check.no) == "a person said "
    assert says(ended["reason"], "500")
    assert ended["reason"] == snapshot
    assert "a person said" not in str(logged)
