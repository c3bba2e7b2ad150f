"""The next check after an outage, when Postgres knows nothing of the checks that were queued a moment ago."""

from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import text

from app.base.clock import floor_to_hour, utc_now
from app.checks.lease_queries import CHECK_POLICY, claim_check
from app.checks.queries import queue_scheduled
from app.database.engine import Database
from tests.builders.queued_checks import add_deployments
from tests.databases import libpq

ENDED = """
    INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, created_by)
    SELECT gen_random_uuid(), (SELECT min(no) FROM deployments), 'request', 'succeeded', now(), now(), 0, false, ''
    FROM generate_series(1, 20000)
"""
WORKER = "one"
READ = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'checks'"


@pytest.mark.nightly
def test_a_claim_reads_each_queued_check_a_few_times_whatever_the_statistics_say(database: Database) -> None:
    hours = 72
    expected = hours * len(add_deployments(database, 40))
    _queue(database, hours)
    with psycopg.connect(libpq(database.url), autocommit=True) as connection:
        # As after the deletion of a deployment: many pages, and statistics that expect hardly a row on them.
        connection.execute("DELETE FROM checks")
        connection.execute(ENDED)
        connection.execute("DELETE FROM checks WHERE no < (SELECT max(no) FROM checks)")
        connection.execute("VACUUM (ANALYZE, TRUNCATE false) checks")
        connection.execute("DELETE FROM checks")
    queued = _queue(database, hours)
    with database.transaction() as session:
        claimed = claim_check(session, token=WORKER, policy=CHECK_POLICY)
        read = session.scalar(text(READ))

    assert claimed is not None
    assert queued == expected
    assert read is not None
    assert queued < read < 6 * queued


def _queue(database: Database, hours: int) -> int:
    now = floor_to_hour(utc_now())
    with database.transaction() as session:
        return queue_scheduled(session, earliest=now - timedelta(hours=hours), latest=now - timedelta(hours=1), grace=timedelta(0))
