"""Times the report that a regulator keeps, over a year of records.

Rows are written by plain SQL, and one check is repeated over the year. Printed are the seconds of each form with all sheets and three
attributes. Goal: under 5 s of the processor in each form, Postgres included.
"""

import argparse
import sys
import time
from datetime import UTC, datetime, timedelta

import psycopg

from app.base.values import Range
from app.database.partitions import ensure_months
from app.domain.check import Span
from app.domain.deployment import FieldType
from app.domain.monitor import MonitoredAttribute
from app.reports.document import Made
from app.reports.regulator.presets import SheetsWanted
from app.reports.regulator.regulator_report import ReportForm, make_regulator_report
from app.reports.regulator.sheets import PeriodSheet
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import find_postgres, postgres_seconds
from scripts.benchmarks.staging import columns_of, own_database
from tests.builders.applicants import monitor_of
from tests.scenes import scene

GOAL_SECONDS = 5.0
_START = datetime(2026, 1, 1, tzinfo=UTC)
_END = _START + timedelta(days=365)

_RECORDS = """
INSERT INTO payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at, features,
                             prediction, probability)
SELECT 1, at, 1000000 + n, format('r%%s', n), 1, CASE WHEN n %% 2 = 0 THEN 'v1' ELSE 'v2' END, at,
       jsonb_build_array(CASE WHEN r[1] < 0.5 THEN 'female' ELSE 'male' END,
                         CASE WHEN r[2] < 0.3 THEN 'Black' WHEN r[2] < 0.4 THEN 'Asian' ELSE 'White' END,
                         format('job %%s', (r[3] * 8)::int), 18 + (r[4] * 50)::int),
       to_jsonb((r[5] > 0.5)::int), jsonb_build_array(1 - r[5], r[5])
FROM (SELECT n, timestamptz '2026-01-01Z' + random() * interval '364 days' AS at,
             ARRAY[random(), random(), random(), random(), random()] AS r
      FROM generate_series(1, %(records)s) n) drawn;
"""
_CHECKS = """
INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, "window", monitor_version,
                    model_revision, created_by, finished_at)
SELECT gen_random_uuid()::text, 1, 'range', 'succeeded', c.span_start + n * interval '1 day', c.span_end + n * interval '1 day', 1, false,
       c."window", 1, 'v1', 'bench', now()
FROM checks c, generate_series(1, %(checks)s) n WHERE c.no = 1;
INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, attribute, "group", value, reason, lower, upper,
                          interval_method, n, verdict, lower_limit, upper_limit, carried_forward, definition, details)
SELECT c.no, 1, c.span_end, m.metric, m.data, m.scope, m.attribute, m."group", m.value, m.reason, m.lower, m.upper, m.interval_method, m.n,
       m.verdict, m.lower_limit, m.upper_limit, m.carried_forward, m.definition, m.details
FROM checks c, measurements m WHERE c.no > 1 AND m.check_no = 1
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--checks", type=int, default=365)
    options = parser.parse_args()
    columns = columns_of({**dict.fromkeys(("sex", "race", "job"), FieldType.STRING), "age": FieldType.INTEGER})
    monitor = monitor_of(
        MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),
        MonitoredAttribute(feature="race", monitored=("Black", "Asian"), reference=("White",)),
        MonitoredAttribute(feature="age", monitored=(Range(18, 39),), reference=(Range(40, 70),)),
    )
    wanted = SheetsWanted(sheets=tuple(PeriodSheet), controls=("job",))
    seconds = {}
    with own_database() as (database, _):
        with database.transaction() as session:
            ensure_months(session, [(2026, month) for month in range(1, 13)])
        stage = scene(database, columns, monitor, endpoint=None)
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(_RECORDS, {"records": options.records})
            connection.execute("VACUUM ANALYZE payload_records")
        stage.check(_START, _START + timedelta(days=1))
        with psycopg.connect(database.url, autocommit=True) as connection:
            for statement in _CHECKS.split(";"):
                connection.execute(statement, {"checks": options.checks - 1})
            connection.execute("VACUUM ANALYZE checks, measurements")
        made = Made(at=_END, by="bench")
        server = find_postgres(database.url)
        for form in ReportForm:
            started, own, there = time.perf_counter(), time.process_time(), postgres_seconds(server)
            size = len(make_regulator_report(database, stage.deployment, Span(start=_START, end=_END), wanted, made, form))
            wall, own = time.perf_counter() - started, time.process_time() - own
            seconds[form] = own + postgres_seconds(server) - there
            print(
                f"{form.value}: {seconds[form]:.2f} s of the processor ({own:.2f} s here, {seconds[form] - own:.2f} s in Postgres),"
                f" {wall:.2f} s by the clock, {size / 1e6:.1f} MB"
            )
    slowest = Line("regulator: slowest form of a report, s of processors", max(seconds.values()), GOAL_SECONDS, is_most=True)
    sys.exit(0 if show_lines([slowest]) else 1)


if __name__ == "__main__":
    main()
