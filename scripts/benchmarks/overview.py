"""Times the overview with few and with many deployments, one of which has millions of records in this hour.

The rows are written by plain SQL: every deployment has two days of hourly checks, and records in each of the last 30 minutes; the first has
`records` of them. Printed are the statements of one overview and, in milliseconds, the processor time of all processes and Postgres and the
median by the clock. Goal: under 100 ms of processor time for the page.
"""

import argparse
import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg

from app.clock import utc_now
from app.dashboard.overview import CHECKS, SHOWN
from app.embedded import embedded_postgres
from app.security.keys import create_key
from app.security.principals import Role
from app.store.database.engine import Database
from app.views.overview import OverviewWanted, overview
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import processor_seconds, service
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
        with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
            folder = Path(name)
            folder.chmod(0o711)
            with embedded_postgres(folder / "data") as url:
                lines.append(_measure(url, folder, deployments, options.records, options.rounds))
    sys.exit(0 if show_lines(lines) else 1)


def _measure(url: str, folder: Path, deployments: int, records: int, rounds: int) -> Line:
    database = Database(url)
    fill_fleet(database, deployments=deployments, days=2)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _BIG_HOUR.split(";"):
            connection.execute(statement, {"records": records, "deployments": deployments} if "%(" in statement else None)
    with database.transaction() as session:
        key = create_key(session, role=Role.READ, name="bench")
        (first,) = overview(session, OverviewWanted(only_no=1), now=utc_now()).deployments
    if first.records < records:
        raise RuntimeError(f"the overview has {first.records:,} of {records:,} records of this hour")
    sent = 0
    execute = psycopg.Cursor.execute

    def count(cursor: psycopg.Cursor[Any], *arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is called
        nonlocal sent
        sent += 1
        return execute(cursor, *arguments, **more)

    def view() -> None:
        with database.transaction() as session:
            overview(session, OverviewWanted(limit=SHOWN + 1, points=CHECKS), now=utc_now())

    with patch.object(psycopg.Cursor, "execute", count):  # most statements go past SQLAlchemy
        view()
    print(f"{deployments} deployments, {records:,} records of one in this hour, {sent} statements")
    processor, wall = _times(database, view, rounds)
    print(f"  the view: {processor:.1f} ms of processor time, {wall:.1f} ms by the clock")
    with service(url, folder) as port:
        asked = http.client.HTTPConnection("127.0.0.1", port)

        def page() -> None:
            asked.request("GET", "/", headers={"Authorization": f"Bearer {key}"})
            answer = asked.getresponse()
            body = answer.read()
            if answer.status != http.HTTPStatus.OK:
                raise RuntimeError(f"the page was answered {answer.status}: {body[:500]!r}")

        page()
        processor, wall = _times(database, page, rounds)
        print(f"  the page over HTTP: {processor:.1f} ms of processor time, {wall:.1f} ms by the clock")
    database.close()
    return Line(f"overview: page of {deployments} deployments, ms of processors", processor, GOAL_MILLISECONDS, is_most=True)


def _times(database: Database, work: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Returns the mean of the milliseconds of processors, and the median of those of the clock."""
    wall = []
    before = processor_seconds(database)
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        wall.append((time.perf_counter() - began) * 1000)
    return (processor_seconds(database) - before) * 1000 / rounds, statistics.median(wall)


if __name__ == "__main__":
    main()
