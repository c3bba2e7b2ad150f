"""Times a check of 500 records in a small and in a large hour, and posts of records while large checks run.

1. An hour of each size is loaded at once by plain SQL, and checked without a look at the statistics in between. Goal: at most 1.5 times the
processor time (Postgres included) of the small hour's check. Run this in the first 45 minutes of an hour: records of an older span than two
hours are counted one by one.
2. One process of the service takes posts of one record at a fixed rate: alone, and while a worker checks windows of `running` records, in
`turns`, because single ones differ by a third and more. The client has the processors first. Goal, of the median turn: a p99 of at most 1.5
times that alone.
"""

import argparse
import contextlib
import itertools
import multiprocessing
import os
import statistics
import sys
from collections.abc import Iterator
from datetime import datetime
from multiprocessing.synchronize import Event
from pathlib import Path

import psycopg

from app.base.clock import floor_to_hour, utc_now
from app.cli.database import lower_priority
from app.database.engine import Database
from app.database.partitions import ensure_months
from app.deployments.queries import Deployments
from app.domain.deployment import FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from scripts.arguments import make_parser
from scripts.benchmarks.ingest import make_request, make_rows, native_body, prepare_deployment
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import drive, percentile
from scripts.benchmarks.service import find_postgres, service, time_processors
from scripts.benchmarks.staging import columns_of, own_database
from tests.scenes import HOUR, PlainSealer, Scene, scene

GOAL_GROWTH = 1.5
GOAL_P99 = 1.5
CONNECTIONS = 64
WARM_UP_SECONDS = 1.0

_LOAD = """
INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at)
SELECT %(no)s, format('b-%%s', n), %(first)s + n, %(start)s + n * (interval '1 hour' / %(records)s)
FROM generate_series(0, %(records)s - 1) n;
INSERT INTO payload_records
  (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at, features, prediction)
SELECT %(no)s, %(start)s + n * (interval '1 hour' / %(records)s), %(first)s + n, format('b-%%s', n), 1, '1',
       %(start)s, CASE WHEN n %% 2 = 0 THEN '["female", 30]'::jsonb ELSE '["male", 40]'::jsonb END, to_jsonb(((n / 2) %% 2)::int)
FROM generate_series(0, %(records)s - 1) n;
INSERT INTO record_counts (minute, deployment_no, records)
SELECT date_trunc('minute', %(start)s + n * (interval '1 hour' / %(records)s)), %(no)s, count(*)
FROM generate_series(0, %(records)s - 1) n GROUP BY 1
"""


_deployments = itertools.count(1)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, nargs=2, default=[10_000, 2_000_000], help="records of the small and of the large hour")
    parser.add_argument("--window", type=int, default=500, help="max records of a check")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--running", type=int, default=1_000_000, help="records of the checks that run next to the posts; 0: no such part")
    parser.add_argument("--turns", type=int, default=3, help="of posts alone, and next to checks")
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of posts of each part of a turn")
    parser.add_argument("--rate", type=int, default=1500, help="posts a second")
    options = parser.parse_args()
    lines: list[Line] = []
    with own_database() as (database, folder):
        lines += _check_hours(database, options)
        if options.running:
            lines += _post_next_to_checks(database, folder, options)
    sys.exit(0 if show_lines(lines) else 1)


def _check_hours(database: Database, options: argparse.Namespace) -> list[Line]:
    postgres = find_postgres(database.url)
    firsts, checked = [], []
    for records in options.records:
        stage, start = _loaded(database, records, options.window)

        def check(times: int, stage: Scene = stage, start: datetime = start) -> float:
            return time_processors(postgres, lambda: [stage.check(start) for _ in range(times)]) * 1000 / times

        firsts.append(check(1))
        checked.append(check(options.rounds))
        print(f"a check of {options.window:,} records in an hour of {records:,}, ms of processors:", end=" ")
        print(f"first {firsts[-1]:,.0f}, then {checked[-1]:,.0f}", flush=True)
    return [
        Line("check of a window: large hour / small hour, processor time", checked[1] / checked[0], GOAL_GROWTH, is_most=True),
        Line("the first check after a bulk load: large hour / small hour", firsts[1] / firsts[0], 3, is_most=True),
    ]


def _loaded(database: Database, records: int, window: int) -> tuple[Scene, datetime]:
    stage = scene(
        database,
        columns_of({"sex": FieldType.STRING, "age": FieldType.INTEGER}),
        Monitor(
            outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
            attributes=(MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),),
            max_records=window,
            min_records=min(window, 100),
        ),
        endpoint=None,
        probability=None,
        deployment_id=f"hour-{next(_deployments)}",
    )
    start = floor_to_hour(utc_now()) - HOUR
    with database.transaction() as session:
        ensure_months(session, {(start.year, start.month)})
    values = {"no": stage.deployment.no, "first": 10**9 * stage.deployment.no, "start": start, "records": records}
    with psycopg.connect(database.url, autocommit=True) as connection:
        for statement in _LOAD.split(";"):
            connection.execute(statement, values)
    return stage, start


def _post_next_to_checks(database: Database, folder: Path, options: argparse.Namespace) -> list[Line]:
    stage, start = _loaded(database, options.running, options.running)
    with psycopg.connect(database.url, autocommit=True) as connection:
        # Else Postgres writes the load's pages in the middle of a measurement.
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")
    key, _ = prepare_deployment(database.url, folder)
    to_alone = list[float]()
    with service(database.url, folder) as port:
        _post(port, key, options.rate, WARM_UP_SECONDS)
        for turn in range(options.turns):
            alone = _post(port, key, options.rate, options.seconds)
            with _checking(database.url, stage.deployment.id, start) as process:
                before = stage.count("checks")
                next_to = _post(port, key, options.rate, options.seconds)
                while stage.count("checks") <= before + 1:
                    if not process.is_alive():
                        sys.exit("the process that checks has ended")
                    next_to += _post(port, key, options.rate, options.seconds)
                checks = stage.count("checks") - before
            (p50, p99), (p50_next_to, p99_next_to) = ([percentile(side, share) for share in (0.5, 0.99)] for side in (alone, next_to))
            to_alone.append(p99_next_to / p99)
            print(
                f"turn {turn + 1} of {options.turns}, {options.rate:,} posts/s alone: p50 {p50:.1f} ms, p99 {p99:.1f} ms;"
                f" while {checks} checks of {options.running:,} records began: p50 {p50_next_to:.1f} ms, p99 {p99_next_to:.1f} ms"
            )
    return [Line("p99 of posts: while checks run / alone", statistics.median(to_alone), GOAL_P99, is_most=True)]


def _post(port: int, key: str, rate: int, seconds: float) -> list[float]:
    requests = [make_request(key, native_body(make_rows(1))) for _ in range(max(CONNECTIONS, int(rate * seconds)))]
    with _first_on_the_processors():
        load = drive(port, requests, CONNECTIONS, rate)
    load.require(b'{"sent":1,"accepted":1,')
    return load.latencies_ms


@contextlib.contextmanager
def _first_on_the_processors() -> Iterator[None]:
    """Lets this process run before all others, where that is allowed (root): it is the programs that log records, on other machines.

    It stays on one processor: Linux would put it also on that of the service while only a check runs on the other.
    """
    allowed = os.sched_getaffinity(0)
    try:
        # What it starts in the meantime keeps the usual policy.
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (AttributeError, PermissionError):
        print("the client competes with the service and the checks for the processors: its waits count in the p99", flush=True)
        yield
        return
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def _checking(url: str, deployment_id: str, start: datetime) -> Iterator[multiprocessing.process.BaseProcess]:
    spawn = multiprocessing.get_context("spawn")
    is_over = spawn.Event()
    process = spawn.Process(target=_check_again, args=(url, deployment_id, start, is_over))
    process.start()
    try:
        yield process
    finally:
        # The check that runs is finished: a deployment has one running check at a time, and the next turn begins another.
        is_over.set()
        process.join()


def _check_again(url: str, deployment_id: str, start: datetime, is_over: Event) -> None:
    lower_priority()
    database = Database(url)
    with database.transaction() as session:
        stage = Scene(database, Deployments(session, PlainSealer()).get(deployment_id))
    while not is_over.is_set():
        stage.check(start)


if __name__ == "__main__":
    main()
