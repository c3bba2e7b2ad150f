"""Times the overview, the deployment page and the transactions, over HTTP and as functions, at the size they are designed for.

    scripts/bench pages [--deployments 200] [--days 30] [--rounds 50]

The service runs on its own Postgres with fsync on. The rows are written by plain SQL: `deployments` deployments with `days` days of
hourly checks of 72 measurements each, one of them with a whole year, and a month of payload records in that one. Printed are the
processor time of one round, in which all processes and Postgres are counted, and the median and the slowest of the rounds by the clock,
in milliseconds. Goal: under 200 ms of processor time each. Two more lines are about the panels over a year of hourly points: the
statements of one reading, and the processor time of this process and of Postgres. Goal: under 50 ms of both together.
"""

import argparse
import contextlib
import gc
import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
import psycopg
from bench_lines import Line, show_lines
from bench_service import processor_seconds, service
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.checks.rollups import Period
from app.clock import HOUR, hour_of, utc_now
from app.dashboard.over_time import ShownTimeline, show_timeline
from app.domain.checks import DataSet
from app.domain.group_words import GroupWords
from app.domain.time_ranges import Earlier, RangeChoice, RangePreset
from app.embedded import embedded_postgres
from app.security.keys import create_key
from app.security.principals import Role
from app.store.checks.figure_days import join_day
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from app.store.database.partitions import ensure_months
from app.views.series import SeriesWanted, series_of, volume_of
from app.views.timeline import TimelineWanted, choose_range, read_timeline

GOAL_MILLISECONDS = 200
GOAL_OF_A_YEAR = 50
"""Max milliseconds of processor time in which a year of hourly points is read and drawn."""
YEAR = 365

_DEPLOYMENTS = """
INSERT INTO deployments (id, name, problem_type, outputs, schema_version, model_revision)
SELECT format('model-%%s', n), format('Model %%s', n), 'binary',
       '{"prediction": "prediction", "probability": "probability", "label": null}', 1, '1'
FROM generate_series(1, %(deployments)s) n;
INSERT INTO deployment_schemas (deployment_no, version, features, meta)
SELECT no, 1, '[{"name": "sex", "type": "string", "kind": "categorical"}, {"name": "age", "type": "integer", "kind": "numeric"}]', '[]'
FROM deployments;
INSERT INTO monitors (deployment_no, version, schedule, config)
SELECT no, 1, 'hourly', '{"favourable": [1], "unfavourable": [0], "intersections": [], "min_records": 100, "max_records": 10000,
    "draws": 2, "seed": 0, "attributes": [
    {"feature": "sex", "monitored": ["female"], "reference": ["male"], "threshold": 0.8, "upper_threshold": null, "metric_limits": {}},
    {"feature": "age", "monitored": [[18, 25], [60, 99]], "reference": [[26, 59]], "threshold": 0.8, "upper_threshold": null,
     "metric_limits": {}}]}'
FROM deployments
"""

_CHECKS = """
INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, "window", monitor_version,
                    model_revision, created_by, finished_at)
SELECT gen_random_uuid(), d.no, 'schedule', CASE WHEN random() < 0.98 THEN 'succeeded' ELSE 'insufficient_data' END,
       hour, hour + interval '1 hour', 1, false,
       jsonb_build_object('records', 400, 'additional_records', 0, 'logged_in_span', 400, 'min_records', 100, 'max_records', 10000,
                          'schema_version', 1, 'oldest_record_at', hour, 'newest_record_at', hour + interval '59 minutes',
                          'favourable', jsonb_build_array('1'), 'unfavourable', jsonb_build_array('0')),
       1, '1', 'schedule', hour + interval '61 minutes'
FROM generate_series(%(first)s::timestamptz, %(last)s::timestamptz, interval '1 hour') hour
CROSS JOIN deployments d
WHERE d.no = 1 OR hour >= %(since)s
"""

_MEASUREMENTS = """
INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, attribute, "group", value, lower, upper, interval_method, n,
                          verdict, lower_limit, carried_forward, details)
SELECT c.no, c.deployment_no, c.span_end, m.metric, m.data, w.scope, w.attribute, w.label, v.value, v.value - 0.1, v.value + 0.1,
       'log_ratio', 400, CASE WHEN v.value < 0.7 THEN 'unfair' WHEN v.value < 0.8 THEN 'suspected' ELSE 'fair' END, 0.8, false,
       '{"formula": "favourable_rate(monitored) / favourable_rate(reference)", "monitored": "female", "reference": "male",
         "monitored_favourable": 120, "monitored_n": 200, "reference_favourable": 160, "reference_n": 200}'
FROM checks c
CROSS JOIN (VALUES ('disparate_impact', 'payload'), ('disparate_impact', 'balanced'), ('favourable_rate', 'payload'),
                   ('favourable_rate', 'balanced'), ('statistical_parity_difference', 'payload'), ('flip_rate', 'balanced')) m(metric, data)
CROSS JOIN (VALUES ('group', 'sex', 'female'), ('pooled', 'sex', NULL), ('worst', 'sex', NULL), ('worst_pair', 'sex', NULL),
                   ('group', 'age', '18-25'), ('group', 'age', '60-99'), ('pooled', 'age', NULL), ('worst', 'age', NULL),
                   ('worst_pair', 'age', NULL), ('overall', NULL, NULL), ('group', 'sex', 'male'), ('group', 'age', '26-59'),
                   ('reference', 'sex', NULL), ('reference', 'age', NULL)) w(scope, attribute, label)
CROSS JOIN LATERAL (SELECT 0.6 + 0.5 * random() + c.no * 0 AS value) v
WHERE c.state = 'succeeded'
  -- Reference groups have rates, which a report needs, and are compared with nobody.
  AND (m.metric IN ('favourable_rate', 'flip_rate') OR w.scope <> 'reference' AND coalesce(w.label, '') NOT IN ('male', '26-59'))
ORDER BY c.no
"""


_TABLES = """
INSERT INTO check_tables (check_no, data, attribute, part, cells)
SELECT c.no, 'payload', t.attribute, 'span',
       jsonb_build_object('groups', t.groups, 'counts', t.counts, 'unclassified', t.unclassified, 'other', 0)
FROM checks c
CROSS JOIN (VALUES
    ('sex', '[["female", "monitored"], ["male", "reference"]]'::jsonb, '[[80, 120], [50, 150]]'::jsonb, '[0, 0]'::jsonb),
    ('age', '[["18-25", "monitored"], ["60-99", "monitored"], ["26-59", "reference"]]', '[[40, 60], [40, 60], [50, 150]]', '[0, 0, 0]')
) t(attribute, groups, counts, unclassified)
WHERE c.state = 'succeeded' AND c.deployment_no = 1
"""

_RECORDS = """
INSERT INTO payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at, features,
                             prediction, probability)
SELECT d.no, %(now)s - n * interval '9 seconds', 300000 - n, format('r-%%s', n), 1, '1', %(now)s,
       jsonb_build_array(CASE n %% 2 WHEN 0 THEN 'female' ELSE 'male' END, 18 + n %% 60), to_jsonb(n %% 3 %% 2), to_jsonb(0.5)
FROM deployments d CROSS JOIN generate_series(1, 288000) n
WHERE d.no = 1 OR n <= 400;
INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at)
SELECT deployment_no, record_id, record_no, logged_at FROM payload_records WHERE deployment_no = 1;
INSERT INTO copy_targets (deployment_no, model_revision, schema_version, feature, target, draws, seed)
SELECT 1, '1', 1, feature, target, draws, 0
FROM (VALUES ('sex', 'male', 1), ('sex', 'female', 1), ('age', '[18.0, 25.0]', 2), ('age', '[60.0, 99.0]', 2), ('age', '[26.0, 59.0]', 2))
     t(feature, target, draws);
INSERT INTO counterfactuals (target_no, record_no, draw, prediction, probability)
SELECT t.no, r.record_no, draw, to_jsonb((r.record_no / 7 + t.no) %% 2), to_jsonb(0.5)
FROM copy_targets t CROSS JOIN payload_records r CROSS JOIN generate_series(0, t.draws - 1) draw
WHERE r.deployment_no = 1 AND r.record_no > 270000
"""


def fill(database: Database, *, deployments: int, days: int) -> None:
    """Migrates the database and writes the deployments with their checks and measurements, in the order that checks would use."""
    last = hour_of(utc_now()) - HOUR
    times = {"last": last, "first": last - timedelta(days=YEAR), "since": last - timedelta(days=days), "now": utc_now()}
    upgrade(database)
    with database.transaction() as session:
        ensure_months(session, {(day.year, day.month) for day in (times["now"] - timedelta(days=ago) for ago in range(YEAR))})
    with psycopg.connect(database.url, autocommit=True) as connection:
        for statement in _DEPLOYMENTS.split(";"):
            connection.execute(statement, {"deployments": deployments})
        connection.execute(_CHECKS, times)
        for statement in (_MEASUREMENTS, _TABLES, *_RECORDS.split(";")):
            connection.execute(statement, times)
    with database.transaction() as session:
        for no in range(1, deployments + 1):
            for day in range((YEAR if no == 1 else days) + 2):
                join_day(session, no, last - timedelta(days=day) + HOUR)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@dataclass(frozen=True)
class Question:
    """One request of a page, and the function that makes it here."""

    name: str
    ask: Callable[[], object]


@dataclass(frozen=True)
class Spent:
    """Milliseconds of one question: of processors, and by the clock."""

    name: str
    processor: float
    median: float
    slowest: float


def main() -> None:
    """Fills the database, times every request in turns, and prints the table; the exit status says whether the goals were met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=200)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    with _filled(options.deployments, options.days) as (database, folder), service(database.url, folder) as port:
        gc.freeze()  # as the service does
        lines = [_time_panels(database, options.rounds, earlier) for earlier in (None, Earlier.PERIOD)]
        rows = [_measure(database, question, options.rounds) for question in (*_requests(database, port), *_views(database))]
    print(f"{'':62}{'processor ms':>13}{'median ms':>10}{'slowest':>10}")
    for row in rows:
        print(f"{row.name:62}{row.processor:13.1f}{row.median:10.1f}{row.slowest:10.1f}")
    slowest = max(rows, key=lambda row: row.processor)
    lines.append(Line(f"pages: ms of processors, slowest: {slowest.name}", slowest.processor, GOAL_MILLISECONDS, is_most=True))
    sys.exit(0 if show_lines(lines) else 1)


@contextlib.contextmanager
def _filled(deployments: int, days: int) -> Iterator[tuple[Database, Path]]:
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with embedded_postgres(folder / "data") as url:
            database = Database(url)
            fill(database, deployments=deployments, days=days)
            yield database, folder
            database.close()


def _requests(database: Database, port: int) -> Iterator[Question]:
    """Yields the requests sent over one kept connection."""
    with database.transaction() as session:
        key = create_key(session, role=Role.READ, name="bench")
        newest = session.scalar(text("SELECT id FROM checks WHERE deployment_no = 1 AND state = 'succeeded' ORDER BY no DESC LIMIT 1"))
    connection = http.client.HTTPConnection("127.0.0.1", port)
    records = "/v1/deployments/model-1/payload-records"

    def question(name: str, path: str) -> Question:
        def ask() -> None:
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != http.HTTPStatus.OK or not body:
                raise RuntimeError(f"GET {path} was answered {answer.status}: {body[:500]!r}")

        return Question(f"GET {name}", ask)

    yield question("page: overview, all deployments", "/")
    yield question("page: a deployment with a year of hours", "/deployments/model-1?range=year")
    yield question("page: its checks", "/deployments/model-1/checks")
    yield question("page: its newest transactions", "/deployments/model-1/transactions")
    yield question("page: its alerts", "/deployments/model-1/alerts")
    chart = "/v1/deployments/model-1/charts/series.vl.json?metric=disparate_impact&attribute=age"
    yield question("chart of the last week", f"{chart}&since={(utc_now() - timedelta(days=7)):%Y-%m-%dT%H:00:00Z}")
    yield question("chart of a year of hours", chart)
    yield question("report of its newest check, HTML", f"/v1/deployments/model-1/checks/{newest}/report.html")
    yield question("report of its newest check, PDF", f"/v1/deployments/model-1/checks/{newest}/report.pdf")
    yield question("overview, all deployments", "/v1/overview?limit=1000")
    yield question("payload records, newest 100", records)
    yield question("payload records of an empty group", f"{records}?attribute=age&group=18-25&outcome=unclassified")
    yield question("payload records, outcome changed", f"{records}?changed=any")
    yield question("payload records, never flagged", f"{records}?debiased=changed")
    yield question("payload record with counterfactuals", f"{records}/r-77")


def _views(database: Database) -> Iterator[Question]:
    """Yields the views that a page reads through functions, of the deployment with a year of hours."""

    def question(name: str, view: Callable[[Session], object]) -> Question:
        def ask() -> None:
            with database.transaction() as session:
                view(session)

        return Question(name, ask)

    wanted = SeriesWanted(metric="disparate_impact", data=DataSet.PAYLOAD, attribute="age")
    month = replace(wanted, since=utc_now() - timedelta(days=30))
    yield question("series of a year of hours, 2 groups", lambda session: series_of(session, 1, wanted))
    yield question("series of a month of hours, 2 groups", lambda session: series_of(session, 1, month))
    yield question("series of a month, by day", lambda session: series_of(session, 1, replace(month, rollup=Period.DAY)))
    yield question("series of a year, by day", lambda session: series_of(session, 1, replace(wanted, rollup=Period.DAY)))
    yield question("series of a year, by month", lambda session: series_of(session, 1, replace(wanted, rollup=Period.MONTH)))
    yield question("volume of a year of hours", lambda session: volume_of(session, 1, None, None, None))


def _time_panels(database: Database, rounds: int, earlier: Earlier | None) -> Line:
    """Prints what the panels over a year cost, and returns its line. Walls mean nothing on a busy machine."""
    choice = RangeChoice(preset=RangePreset.YEAR, earlier=earlier)
    wanted = TimelineWanted(metric="disparate_impact", data=DataSet.PAYLOAD, choice=choice, words=GroupWords())
    now, sent = utc_now(), [0]
    execute = psycopg.Cursor.execute

    def count(cursor: psycopg.Cursor[Any], *arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is called
        sent[0] += 1
        return execute(cursor, *arguments, **more)

    with database.transaction() as session, patch.object(psycopg.Cursor, "execute", count):
        server = psutil.Process(session.scalar(text("SELECT pg_backend_pid()")))

        def draw() -> ShownTimeline:
            span = choose_range(session, 1, choice, now=now).span
            return show_timeline(read_timeline(session, 1, span, wanted), "model-1", choice)

        draw()
        sent[0] = 0
        shown = draw()
        statements, here, there = sent[0], time.process_time(), sum(server.cpu_times()[:2])
        for _ in range(rounds):
            draw()
        spent = [1000 * one / rounds for one in (time.process_time() - here, sum(server.cpu_times()[:2]) - there)]
    steps = max(len(one.panel.steps) for one in shown.panels)
    figures = sum(one.panel.figures for one in shown.panels)
    compared = "" if earlier is None else ", compared with the year before"
    print(
        f"panels over a year{compared}: {figures:,} figures of {len(shown.panels)} groups, at most {steps} steps of each;"
        f" {statements} statements, {spent[0]:.1f} ms of processor time here and {spent[1]:.1f} ms in Postgres"
    )
    return Line(f"pages: panels over a year{compared}, ms of processors", sum(spent), GOAL_OF_A_YEAR, is_most=True)


def _measure(database: Database, question: Question, rounds: int) -> Spent:
    question.ask()
    milliseconds = []
    before = processor_seconds(database)
    for _ in range(rounds):
        began = time.perf_counter()
        question.ask()
        milliseconds.append((time.perf_counter() - began) * 1000)
    processor = (processor_seconds(database) - before) * 1000 / rounds
    return Spent(question.name, processor, statistics.median(milliseconds), max(milliseconds))


if __name__ == "__main__":
    main()
