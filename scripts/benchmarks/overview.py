"""Times the overview with few and with many deployments, one of which has millions of records in this hour.

The rows are written by plain SQL: every deployment has two days of hourly checks, and records in each of the last 30 minutes; the first has
`records` of them. Printed are the statements of one overview and, in milliseconds, the processor time of all processes and Postgres and the
median by the clock. Goal: under 100 ms of processor time for the page.
"""

import argparse
import sys
from pathlib import Path

import psycopg

from app.access.keys.key_text import create_key
from app.access.principals import Role
from app.base.clock import utc_now
from app.database.engine import Database
from app.overview.fleet import OverviewWanted, overview
from app.pages.overview_page import CHECKS, SHOWN
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import Caller, count_statements, measure_calls, service
from scripts.benchmarks.staging import own_database
from tests.builders.fleets import fill_fleet

GOAL_MILLISECONDS = 100

_BIG_HOUR = """
INSERT INTO payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at, features,
                             prediction, probability)
SELECT CASE WHEN n <= %(records)s THEN 1 ELSE 1 + (n - %(records)s) %% %(deployments)s END,
       now() - (n %% 1800) * interval '1 second', 1000000 + n, format('big-%%s', n), 1, '1', now(), '["female", 30]', '1', '0.5'
FROM generate_series(1, %(records)s + 60 * %(deployments)s) n;
INSERT INTO record_counts (minute, deployment_no, records)
SELECT date_trunc('minute', logged_at), deployment_no, count(*) FROM payload_records WHERE logged_at >= now() - interval '2 hours'
GROUP BY 1, 2;
VACUUM ANALYZE payload_records, record_counts
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, nargs="+", default=[15, 500])
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    lines: list[Line] = []
    for deployments in options.deployments:
        with own_database() as (database, folder):
            lines.append(_measure(database, folder, deployments, options.records, options.rounds))
    sys.exit(0 if show_lines(lines) else 1)


def _measure(database: Database, folder: Path, deployments: int, records: int, rounds: int) -> Line:
    fill_fleet(database, deployments=deployments, days=2)
    with psycopg.connect(database.url, autocommit=True) as connection:
        for statement in _BIG_HOUR.split(";"):
            connection.execute(statement, {"records": records, "deployments": deployments} if "%(" in statement else None)
    with database.transaction() as session:
        key = create_key(session, role=Role.READ, name="bench")
        (first,) = overview(session, OverviewWanted(only_no=1), now=utc_now()).deployments
    if first.records < records:
        raise RuntimeError(f"the overview has {first.records:,} of {records:,} records of this hour")

    def view() -> None:
        with database.transaction() as session:
            overview(session, OverviewWanted(limit=SHOWN + 1, points=CHECKS), now=utc_now())

    print(f"{deployments} deployments, {records:,} records of one in this hour, {count_statements(view)} statements")
    spent = measure_calls(database, view, rounds)
    print(f"  the view: {spent.processor:.1f} ms of processor time, {spent.median:.1f} ms by the clock")
    with service(database.url, folder) as port:
        caller = Caller(port, key)
        spent = measure_calls(database, lambda: caller.read("/"), rounds)
        print(f"  the page over HTTP: {spent.processor:.1f} ms of processor time, {spent.median:.1f} ms by the clock")
    return Line(f"overview: page of {deployments} deployments, ms of processors", spent.processor, GOAL_MILLISECONDS, is_most=True)


if __name__ == "__main__":
    main()
