from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.base.errors import Conflict, LeaseLost
from app.checks.lease_queries import CHECK_POLICY, claim_check, finish_check, release_check, renew_lease
from app.checks.queries import queue_scheduled, request_cancel
from app.database.binary_rows import shorten_waits
from app.database.engine import Database
from app.database.tables import CheckRow
from app.domain.check import CheckRun, CheckState, Failure, Progress, Trigger
from tests.builders.queued_checks import add_deployments, add_hours, ask, let_pass, reread

POLICY = replace(CHECK_POLICY, lease=timedelta(minutes=9))
"""The policy of the workers, with a lease that does not run out while a busy machine goes through a test."""


def take(database: Database, worker: str = "one") -> CheckRun | None:
    with database.transaction() as session:
        return claim_check(session, token=worker, policy=POLICY)


def taken(database: Database, worker: str = "one") -> CheckRun:
    check = take(database, worker)
    assert check is not None
    return check


def succeed(database: Database, check: CheckRun) -> None:
    with database.transaction() as session:
        finish_check(session, check, state=CheckState.SUCCEEDED, window={}, alerts_due=POLICY.alerts_follow(check, CheckState.SUCCEEDED))


def break_down(database: Database, check: CheckRun) -> None:
    with database.transaction() as session:
        due = POLICY.alerts_follow(check, CheckState.FAILED)
        pause = POLICY.retry_after(check)
        finish_check(
            session,
            check,
            state=CheckState.FAILED,
            reason="The model is down.",
            failure=Failure.SCORING_FAILED,
            retry_after=pause,
            alerts_due=due,
        )


def store(database: Database, step: Callable[[Session], object]) -> None:
    with database.transaction() as session:
        step(session)


def test_checks_for_now_come_first_then_the_oldest_hour_then_ranges(database: Database) -> None:
    young, old, asked, past = add_deployments(database, 4)
    young_hour, _ = add_hours(database, young, 2)
    old_hour, _, _ = add_hours(database, old, 3)
    with database.transaction() as session:
        ranged, request = ask(session, past, Trigger.RANGE), ask(session, asked)

    order = [taken(database) for _ in range(4)]

    assert (order[0].id, order[3].id) == (request.id, ranged.id)
    assert [(check.deployment_no, check.span.start) for check in order[1:3]] == [(old, old_hour), (young, young_hour)]
    assert take(database) is None


def test_a_deployment_runs_one_check_at_a_time_and_its_hours_in_order(database: Database) -> None:
    (deployment,) = add_deployments(database)
    expected = add_hours(database, deployment, 3)

    seen = []
    while (check := take(database)) is not None:
        assert take(database, "another") is None
        seen.append(check.span.start)
        succeed(database, check)

    assert seen == expected


def test_nobody_overtakes_an_hour_that_another_worker_is_just_taking(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 3)

    with database.transaction() as first:
        assert claim_check(first, token=str(1), policy=POLICY) is not None
        second = take(database, "second")

    assert second is None


def test_workers_that_claim_at_once_never_share_a_check_or_a_deployment(database: Database) -> None:
    nos = add_deployments(database, 3)
    for no in nos:
        add_hours(database, no, 4)
        with database.transaction() as session:
            ask(session, no)
    together = Barrier(8)

    def race(worker: str) -> CheckRun | None:
        together.wait()
        return take(database, worker)

    with ThreadPoolExecutor(8) as pool:
        won = [check for check in pool.map(race, map(str, range(8))) if check is not None]

    assert len({check.deployment_no for check in won}) == len(won)
    assert len(won) >= 1


def test_a_failed_hour_is_tried_again_at_the_stated_times_and_then_no_more(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)

    delays = []
    for attempt in range(1, POLICY.max_attempts + 1):
        check = taken(database)
        assert check.attempts == attempt
        break_down(database, check)
        failed = reread(database, check)
        assert (failed.state, failed.reason) == (CheckState.FAILED, "The model is down.")
        delays.append(failed.next_attempt_at and failed.finished_at and failed.next_attempt_at - failed.finished_at)
        assert take(database) is None
        let_pass(database, max(POLICY.retry_delays))

    assert delays == [*POLICY.retry_delays, None]
    assert take(database) is None


def test_an_hour_that_waits_for_its_retry_does_not_block_the_next_one_and_then_goes_first(database: Database) -> None:
    (deployment,) = add_deployments(database)
    oldest, second, _third = add_hours(database, deployment, 3)
    check = taken(database)
    break_down(database, check)

    next_check = taken(database)
    succeed(database, next_check)
    let_pass(database, POLICY.retry_delays[0])
    retried = taken(database)

    assert (next_check.span.start, retried.span.start) == (second, oldest)


def test_a_requested_check_that_failed_is_not_tried_again(database: Database) -> None:
    (deployment,) = add_deployments(database)
    with database.transaction() as session:
        ask(session, deployment)
    check = taken(database)

    break_down(database, check)

    assert reread(database, check).next_attempt_at is None
    let_pass(database, max(POLICY.retry_delays))
    assert take(database) is None


def test_a_silent_workers_check_is_taken_over_when_its_lease_ran_out(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 2)
    lost = taken(database, "silent")

    early = take(database, "next")
    let_pass(database, POLICY.lease)
    check = taken(database, "next")

    assert early is None
    assert (check.id, check.attempts, check.lease_token) == (lost.id, 2, "next")


def test_whoever_lost_the_lease_can_write_nothing(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    lost = taken(database, "silent")
    let_pass(database, POLICY.lease)
    held = taken(database, "next")

    for step in (
        lambda session: finish_check(session, lost, state=CheckState.SUCCEEDED, window={}, alerts_due=True),
        lambda session: finish_check(
            session, lost, state=CheckState.FAILED, reason="no", failure=Failure.OTHER, retry_after=None, alerts_due=True
        ),
        lambda session: renew_lease(session, lost, lease=POLICY.lease, progress=Progress(step="no")),
        lambda session: release_check(session, lost),
    ):
        with pytest.raises(LeaseLost):
            store(database, step)

    assert reread(database, held) == held


def test_renewing_keeps_the_lease_and_shows_the_progress(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    check = taken(database)
    let_pass(database, POLICY.lease - timedelta(minutes=1))

    store(database, lambda session: renew_lease(session, check, lease=POLICY.lease, progress=Progress(step="scoring", done=3, total=7)))
    let_pass(database, timedelta(minutes=2))

    assert take(database) is None
    assert reread(database, check).progress == Progress(step="scoring", done=3, total=7)


def test_a_check_that_was_interrupted_too_often_fails_and_says_so(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    for _ in range(POLICY.max_attempts):
        check = taken(database)
        let_pass(database, POLICY.lease)

    assert take(database) is None
    ended = reread(database, check)
    assert (ended.state, ended.next_attempt_at) == (CheckState.FAILED, None)
    assert "interrupted 4 times" in str(ended.reason)


def test_a_released_check_is_claimable_at_once_and_the_attempt_does_not_count(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    check = taken(database)

    store(database, lambda session: release_check(session, check))

    assert reread(database, check).state is CheckState.QUEUED
    assert taken(database, "next").attempts == 1


def test_a_waiting_check_is_cancelled_at_once(database: Database) -> None:
    (deployment,) = add_deployments(database)
    with database.transaction() as session:
        check = request_cancel(session, ask(session, deployment))

    assert check.state is CheckState.CANCELLED
    assert take(database) is None
    with pytest.raises(Conflict):
        store(database, lambda session: request_cancel(session, check))


def test_a_failed_hour_that_waits_for_its_retry_can_be_cancelled(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    check = taken(database)
    break_down(database, check)

    store(database, lambda session: request_cancel(session, check))

    assert reread(database, check).state is CheckState.CANCELLED
    let_pass(database, max(POLICY.retry_delays))
    assert take(database) is None


def test_the_worker_of_a_running_check_hears_of_its_cancelling_at_the_next_renewal(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    check = taken(database)

    store(database, lambda session: request_cancel(session, check))

    assert reread(database, check).state is CheckState.RUNNING
    with database.transaction() as session:
        assert renew_lease(session, check, lease=POLICY.lease) is True


@pytest.mark.parametrize("worker_ends", ["releases", "dies"])
def test_a_check_cancelled_while_its_worker_ends_is_not_run_again(database: Database, worker_ends: str) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    check = taken(database)
    store(database, lambda session: request_cancel(session, check))

    if worker_ends == "releases":
        store(database, lambda session: release_check(session, check))
    else:
        let_pass(database, POLICY.lease)

    assert take(database) is None
    assert reread(database, check).state is CheckState.CANCELLED


@pytest.mark.nightly
def test_of_a_backlog_the_oldest_hour_of_every_deployment_is_claimed_first(database: Database) -> None:
    nos = add_deployments(database, 40)
    with database.transaction() as session:
        now = session.scalars(select(text("date_trunc('hour', now(), 'UTC')"))).one()
        queue_scheduled(session, earliest=now - timedelta(hours=72), latest=now - timedelta(hours=1), grace=timedelta(0))

    claimed = [taken(database, str(no)) for no in range(len(nos))]

    assert {check.span.start for check in claimed} == {now - timedelta(hours=72)}
    assert take(database) is None


def test_a_check_left_by_a_dead_worker_is_taken_over_even_behind_an_older_one_that_waits_for_it(database: Database) -> None:
    (no,) = add_deployments(database)
    add_hours(database, no, 3)
    break_down(database, taken(database))
    second = taken(database, "dies")
    let_pass(database, timedelta(minutes=10))  # meanwhile no worker lived: the first waits to be tried again, the second is abandoned

    assert taken(database, "heir").no == second.no


def news(database: Database) -> list[tuple[bool, str | None]]:
    with database.transaction() as session:
        return [tuple(row) for row in session.execute(text("SELECT alerts_due, failure FROM checks ORDER BY no"))]


def test_the_end_of_a_check_is_news_for_alerts_but_not_that_of_a_range_or_a_cancelled_one(database: Database) -> None:
    nos = add_deployments(database, 4)
    with database.transaction() as session:
        for no, trigger in zip(nos, [Trigger.REQUEST, Trigger.REQUEST, Trigger.REQUEST, Trigger.RANGE], strict=True):
            ask(session, no, trigger)
    before = news(database)

    succeed(database, taken(database))
    break_down(database, taken(database))
    cancelled = taken(database)
    store(
        database,
        lambda session: finish_check(
            session,
            cancelled,
            state=CheckState.CANCELLED,
            window=None,
            alerts_due=POLICY.alerts_follow(cancelled, CheckState.CANCELLED),
        ),
    )
    break_down(database, taken(database))

    assert before == [(False, None)] * 4
    assert news(database) == [(True, None), (True, "scoring-failed"), (False, None), (False, "scoring-failed")]


def test_each_failed_attempt_is_news_and_the_next_one_forgets_its_failure(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    break_down(database, taken(database))
    failed = news(database)
    let_pass(database, POLICY.retry_delays[0])
    again = taken(database)
    running = news(database)
    succeed(database, again)

    assert (failed, running, news(database)) == ([(True, "scoring-failed")], [(True, None)], [(True, None)])


def test_a_check_that_was_interrupted_too_often_is_news(database: Database) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    for _ in range(POLICY.max_attempts):
        taken(database)
        let_pass(database, POLICY.lease)
    take(database)

    assert news(database) == [(True, "interrupted")]


def test_what_waits_for_a_clock_that_was_ahead_goes_on(database: Database) -> None:
    held, _, _ = add_deployments(database, 3)
    add_hours(database, held, 2)
    taken(database, "dead")
    with database.transaction() as session:
        session.execute(text("UPDATE checks SET claimable_at = now() + interval '3 days', span_end = now() + interval '1 minute'"))
        user = "INSERT INTO users (name, password_hash, role) VALUES ('a', 'x', 'viewer') RETURNING no"
        session.execute(
            text("INSERT INTO sessions (token_hash, user_no, expires_at) VALUES ('h', :no, now() + interval '3 days')"),
            {"no": session.scalar(text(user))},
        )
        shorten_waits(session)
        lasts = session.scalar(text("SELECT expires_at - now() FROM sessions"))

    again = taken(database)
    assert (again.attempts, again.deployment_no, lasts) == (2, held, timedelta(hours=12))
    with database.transaction() as session:
        assert session.scalars(select(CheckRow.no)).all() == [again.no], "an hour that has not ended is queued at its end"
