import os
import signal
import time
from collections import Counter

import pytest
from sqlalchemy import text

from app.database.engine import Database, current_time
from app.domain.check import CheckState
from app.worker.looks import queue_due_checks
from tests.builders.counted_checks import make_side_tables, rows, worker_process
from tests.builders.queued_checks import add_deployments, add_hours, ask, end_leases, reread
from tests.progress import wait_until

DUE = 200


@pytest.mark.nightly
def test_two_workers_do_two_hundred_due_checks_once_each(database: Database, database_url: str) -> None:
    add_deployments(database, DUE)
    make_side_tables(database)
    with database.transaction() as session:
        hour = current_time(session).replace(minute=0, second=0, microsecond=0)
        session.execute(text("UPDATE monitors SET scheduled_since = :hour - interval '1 hour'"), {"hour": hour})
        assert queue_due_checks(session, hour.replace(minute=1)) == DUE
        session.execute(text("UPDATE checks SET claimable_at = now()"))  # however few seconds old this hour may be

    with worker_process(database_url), worker_process(database_url):
        wait_until(lambda: len(rows(database, "ends")) >= DUE)

    done = Counter(no for no, _ in rows(database, "ends"))
    assert len(done) == DUE
    assert set(done.values()) == {1}
    assert Counter(no for no, _ in rows(database, "starts")) == done
    assert len({pid for _, pid in rows(database, "ends")}) == 2
    with database.transaction() as session:
        assert session.execute(text("SELECT DISTINCT state, attempts FROM checks")).all() == [("succeeded", 1)]


def test_a_killed_workers_checks_are_taken_over_and_stored_once(database: Database, database_url: str) -> None:
    deployments = add_deployments(database, 2)
    make_side_tables(database)
    with database.transaction() as session:
        checks = [ask(session, no) for no in deployments]

    with worker_process(database_url, pages=1000, page_seconds=0.1) as doomed:
        wait_until(lambda: all(reread(database, check).progress is not None for check in checks))
        doomed.kill()
    states = {reread(database, check).state for check in checks}
    end_leases(database)
    with worker_process(database_url):
        wait_until(lambda: all(reread(database, check).state is CheckState.SUCCEEDED for check in checks))

    assert states == {CheckState.RUNNING}
    assert sorted(no for no, _ in rows(database, "ends")) == sorted(check.no for check in checks)
    assert {reread(database, check).attempts for check in checks} == {2}


def freeze(pid: int, database: Database) -> None:
    """Stops the process between two transactions; inside one, its lock would stay until Postgres ends the idle transaction."""
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
    )
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        with database.transaction() as session:
            if not session.scalar(others):
                return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.05)
    pytest.fail("the process is always inside a transaction")


@pytest.mark.nightly
def test_a_worker_that_froze_beyond_its_lease_stores_nothing_when_it_wakes(database: Database, database_url: str) -> None:
    (deployment,) = add_deployments(database)
    add_hours(database, deployment, 1)
    make_side_tables(database)

    with worker_process(database_url, pages=1, page_seconds=1.0) as frozen:
        wait_until(lambda: len(rows(database, "starts")) == 1)
        freeze(frozen.pid or 0, database)
        end_leases(database)
        with worker_process(database_url) as awake:
            wait_until(lambda: len(rows(database, "ends")) == 1)
            os.kill(frozen.pid or 0, signal.SIGCONT)
            frozen.terminate()
            frozen.join()

            assert frozen.exitcode == 0
            assert [pid for _, pid in rows(database, "ends")] == [awake.pid]


def test_a_worker_that_is_asked_to_stop_leaves_its_check_to_the_next(database: Database, database_url: str) -> None:
    (deployment,) = add_deployments(database)
    make_side_tables(database)
    with database.transaction() as session:
        check = ask(session, deployment)

    with worker_process(database_url, pages=1000, page_seconds=0.1) as leaving:
        wait_until(lambda: reread(database, check).state is CheckState.RUNNING)
        leaving.terminate()
        leaving.join()
        exit_code = leaving.exitcode

    left = reread(database, check)
    assert exit_code == 0
    assert (left.state, left.attempts) == (CheckState.QUEUED, 0)
