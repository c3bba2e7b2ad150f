"""Fleets of deployments in plain SQL, for pictures and benchmarks: days of hourly checks of each, and a year of the first one."""

from datetime import timedelta
from typing import Final

import psycopg

from app.base.clock import HOUR, floor_to_hour, utc_now
from app.checks.days.day_queries import join_day
from app.database.engine import Database
from app.database.migrations import upgrade
from app.database.partitions import ensure_months
from tests.builders.days import keep_days

YEAR: Final = 365
"""Days of the first deployment, unless others are chosen."""

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
                          verdict, lower_limit, carried_forward, worst_of, details)
SELECT c.no, c.deployment_no, c.span_end, m.metric, m.data, w.scope, w.attribute, w.label, v.value, v.value / i.factor, v.value * i.factor,
       'log_ratio', 400, CASE WHEN v.value * i.factor < 0.8 THEN 'unfair' WHEN v.value < 0.8 THEN 'suspected' ELSE 'fair' END, 0.8, false,
       CASE WHEN m.metric NOT IN ('favourable_rate', 'flip_rate') THEN w.worst_of END,
       jsonb_build_object('formula', 'favourable_rate(monitored) / favourable_rate(reference)', 'monitored', 'female', 'reference', 'male',
                          'monitored_favourable', a.favourable, 'monitored_n', 200, 'reference_favourable', 100, 'reference_n', 200)
FROM checks c
CROSS JOIN (VALUES ('disparate_impact', 'as_logged'), ('disparate_impact', 'counterfactual'), ('favourable_rate', 'as_logged'),
                   ('favourable_rate', 'counterfactual'), ('statistical_parity_difference', 'as_logged'),
                   ('flip_rate', 'counterfactual')) m(metric, data)
CROSS JOIN (VALUES ('group', 'sex', 'female', 1), ('group', 'age', '18-25', 2), ('group', 'age', '60-99', NULL),
                   ('pooled', 'age', NULL, NULL), ('worst_pair', 'age', NULL, NULL), ('overall', NULL, NULL, NULL),
                   ('group', 'sex', 'male', NULL), ('group', 'age', '26-59', NULL)) w(scope, attribute, label, worst_of)
CROSS JOIN LATERAL (SELECT round(45 + 65 * random() + c.no * 0)::int AS favourable) a
-- Value and interval are those of the counts: a wider interval, computed from them, must hold the value in its middle.
CROSS JOIN LATERAL (SELECT a.favourable / 100.0 AS value) v
CROSS JOIN LATERAL (SELECT exp(1.96 * sqrt(1.0 / a.favourable - 1 / 200.0 + 1 / 100.0 - 1 / 200.0))::float AS factor) i
WHERE c.state = 'succeeded'
  -- Reference groups have rates, which a report needs, and are compared with nobody.
  AND (m.metric IN ('favourable_rate', 'flip_rate') OR coalesce(w.label, '') NOT IN ('male', '26-59'))
ORDER BY c.no
"""


_TABLES = """
INSERT INTO check_tables (check_no, data, attribute, part, cells)
SELECT c.no, 'as_logged', t.attribute, 'span',
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


def fill_fleet(database: Database, *, deployments: int, days: int, days_of_first: int = YEAR) -> None:
    """Migrates the database and writes the deployments with their checks and measurements, in the order that checks would use."""
    last = floor_to_hour(utc_now()) - HOUR
    times = {"last": last, "first": last - timedelta(days=days_of_first), "since": last - timedelta(days=days), "now": utc_now()}
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
            for day in range((days_of_first if no == 1 else days) + 2):
                join_day(session, no, last - timedelta(days=day) + HOUR)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    keep_days(database, utc_now())
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
