"""The overview of all deployments, in a fixed number of statements."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from ..base.values import frozen
from ..checks.advice.deployment_facts import OverviewEntry
from ..checks.schedule.worker_queries import SILENT_AFTER, WorkersSeen
from ..database.binary_rows import read_named_rows, read_row, read_rows, write_array_text
from ..domain.check import DataSet
from ..statistics.intervals.verdicts import GRAVEST, ON_FAIRNESS

LAST_HOUR = timedelta(hours=1)


# Checks of longer ranges are no part of the hourly series; one hour fills in history.
OF_SERIES = (
    "(c.trigger <> 'range' OR c.span_end <= c.span_start + interval '1 hour') AND c.span_start <= now()"
)


def _build_counts(window: str) -> str:
    return f"""jsonb_build_object(
        'records', ({window}->>'records')::int + coalesce(({window}->>'additional_records')::int, 0),
        'unclassified', ({window}->>'unclassified_records')::int,
        'needed', ({window}->>'min_records')::int)"""


_ENTRIES = f"""
    SELECT w.answering, w.last_seen_at,
           d.no, d.id, d.name, d.owner, m.version AS monitor_version, m.schedule,
           m.config->'metrics' AS metrics, coalesce(m.config->'names', '{{}}') AS names,
           CASE WHEN l.no IS NOT NULL THEN jsonb_build_object(
               'id', l.id, 'state', l.state, 'at', l.span_end, 'finished_at', l.finished_at,
               'reason', l.reason, 'failure', l.failure,
               'next_attempt_at', CASE WHEN l.state = 'failed' THEN l.claimable_at END,
               'counts', {_build_counts('l."window"')}) END AS last_check,
           CASE WHEN s.no IS NOT NULL THEN jsonb_build_object(
               'no', s.no, 'id', s.id, 'at', s.span_end, 'measured_at', coalesce(o.span_end, s.span_end),
               'carried_forward', s."window" ? 'carried_from', 'monitor_version', s.monitor_version,
               'counts', {_build_counts('coalesce(o."window", s."window")')},
               'notes', coalesce(coalesce(o."window", s."window")->'near_twins', '[]')) END AS success,
           u.state AS under_way, coalesce(n.logged_at, f.newest) AS newest_record_at,
           coalesce(a.open_alerts, 0) AS open_alerts, a.unacknowledged,
           CASE WHEN %(only_no)s::int IS NOT NULL
               THEN (SELECT min(c.span_start) FROM checks c WHERE c.deployment_no = d.no) END AS first_start
    FROM (
        SELECT count(*) FILTER (WHERE beat_at > now() - %(silent_after)s) AS answering,
               max(beat_at) AS last_seen_at FROM workers
    ) w
    LEFT JOIN deployments d ON d.no = coalesce(%(only_no)s::int, d.no)
    LEFT JOIN monitors m ON m.deployment_no = d.no
    LEFT JOIN LATERAL (
        SELECT * FROM checks c
        WHERE c.deployment_no = d.no AND c.state IN ('succeeded', 'insufficient_data', 'failed')
            AND {OF_SERIES}
        ORDER BY c.span_end DESC, c.no DESC LIMIT 1
    ) l ON true
    LEFT JOIN LATERAL (
        SELECT * FROM checks c
        WHERE c.deployment_no = d.no AND c.state = 'succeeded' AND {OF_SERIES}
        ORDER BY c.span_end DESC, c.no DESC LIMIT 1
    ) s ON true
    LEFT JOIN checks o ON o.id = s."window"->>'carried_from'
    LEFT JOIN LATERAL (
        (SELECT c.state FROM checks c
         WHERE c.deployment_no = d.no AND c.state = 'running' AND {OF_SERIES}
         LIMIT 1)
        UNION ALL
        (SELECT c.state FROM checks c
         WHERE c.deployment_no = d.no AND c.state = 'queued' AND c.claimable_at IS NOT NULL AND {OF_SERIES}
         LIMIT 1)
        LIMIT 1
    ) u ON true
    LEFT JOIN LATERAL (
        SELECT p.logged_at FROM payload_records p WHERE p.deployment_no = d.no
        ORDER BY p.logged_at DESC LIMIT 1
    ) n ON true
    LEFT JOIN LATERAL (
        SELECT max(f.newest) AS newest FROM listed_files f WHERE f.deployment_no = d.no AND f.side = 'payload'
    ) f ON d.record_tables IS NOT NULL
    LEFT JOIN (
        SELECT w.deployment_no, count(*) AS open_alerts,
               CASE WHEN min(w.opened_at) FILTER (WHERE w.acknowledged_at IS NULL) IS NOT NULL
                   THEN jsonb_build_object(
                       'alerts', count(*) FILTER (WHERE w.acknowledged_at IS NULL),
                       'since', min(w.opened_at) FILTER (WHERE w.acknowledged_at IS NULL),
                       'alert_id', (array_agg(w.id ORDER BY w.opened_at, w.no)
                           FILTER (WHERE w.acknowledged_at IS NULL))[1],
                       'unassigned', count(*) FILTER (WHERE w.acknowledged_at IS NULL AND w.assignee IS NULL))
                   END AS unacknowledged
        FROM alerts w WHERE w.resolved_at IS NULL GROUP BY w.deployment_no
    ) a ON a.deployment_no = d.no
    ORDER BY d.no
"""  # noqa: S608 - of constants only


@frozen
class Entries:
    entries: Sequence[OverviewEntry]
    workers: WorkersSeen


def read_overview_entries(session: Session, *, only_no: int | None) -> Entries:
    """Only `only_no`, where it is given, gets its `first_start`."""
    rows = read_named_rows(session, _ENTRIES, {"only_no": only_no, "silent_after": SILENT_AFTER})
    entries = [read_row(OverviewEntry, row) for row in rows if row.no is not None]
    return Entries(entries, read_row(WorkersSeen, rows[0]))


class JudgedKey(NamedTuple):
    """A check whose span ends `at`, and the metric that it is judged by, of labels or of other records."""

    deployment_no: int
    check_no: int
    at: datetime
    metric: str
    is_of_label: bool


class GroupKey(NamedTuple):
    deployment_no: int
    metric: str
    data: DataSet
    attribute: str
    group: str


class TrendPoint(NamedTuple):
    """A point with its limits; `value` None is a hole."""

    at: datetime
    value: float | None
    verdict: str | None
    lower_limit: float | None
    upper_limit: float | None
    lower: float | None = None
    upper: float | None = None


# The index of series: by check_no every other metric would be read, too. Distance grows to both sides of a
# point between the limits, so that only the lowest or highest value under them can be furthest out.
_GRAVEST = """
    SELECT check_no, groups, judged, metric, data, attribute, "group", value, lower, upper, n, verdict,
           reason, lower_limit, upper_limit, details->>'reference' AS reference,
           CAST(coalesce(details->'monitored_own_n', details->'monitored_original_n', details->'monitored_n')
               AS int) AS monitored_records,
           CAST(coalesce(details->'reference_own_n', details->'reference_original_n', details->'reference_n')
               AS int) AS reference_records,
           CAST(details->'reference_favourable' AS float) AS reference_favourable
    FROM (
        SELECT no, groups, judged, value IS NULL OR 1 IN (
                   row_number() OVER (alike ORDER BY value, no),
                   row_number() OVER (alike ORDER BY value DESC, no)
               ) AS is_end
        FROM (
            SELECT m.no, m.check_no, m.value, m.lower_limit, m.upper_limit,
                   array_position(%(gravest)s::text[], m.verdict) AS gravity,
                   min(array_position(%(gravest)s::text[], m.verdict)) OVER of_check AS gravest,
                   count(*) OVER of_check AS groups,
                   count(*) FILTER (WHERE m.verdict = ANY(%(on_fairness)s::text[])) OVER of_check AS judged
            FROM unnest(%(deployment_nos)s::int[], %(check_nos)s::bigint[], %(ats)s::timestamptz[],
                %(metrics)s::text[], %(is_of_labels)s::bool[])
                AS judged_by(deployment_no, check_no, at, metric, is_of_labels)
            JOIN measurements m ON m.deployment_no = judged_by.deployment_no AND m.metric = judged_by.metric
                AND m.at = judged_by.at AND m.check_no = judged_by.check_no
            WHERE m.scope = 'group' AND m.attribute IS NOT NULL AND m."group" IS NOT NULL
                AND CASE m.data WHEN 'labelled' THEN is_of_labels
                    WHEN 'as_logged' THEN NOT is_of_labels WHEN 'counterfactual' THEN NOT is_of_labels END
            WINDOW of_check AS (PARTITION BY m.check_no)
        ) ranked
        WHERE gravity = gravest
        WINDOW alike AS (PARTITION BY check_no, lower_limit, upper_limit)
    ) candidates JOIN measurements USING (no)
    WHERE is_end
    ORDER BY check_no, no
"""

_RECORDS = """
    SELECT deployment_no, sum(records)::bigint FROM record_counts
    WHERE minute >= date_trunc('minute', %(since)s::timestamptz) AND minute <= %(now)s
        AND deployment_no = ANY (%(deployment_nos)s::int[])
    GROUP BY deployment_no
"""

_TRENDS = f"""
    SELECT deployment_no, at, value, verdict, lower_limit, upper_limit, lower, upper
    FROM (
        SELECT newest_points.*, series.deployment_no,
               first_value(definition) OVER (PARTITION BY position ORDER BY at DESC) AS newest
        FROM unnest(%(deployment_nos)s::int[], %(metrics)s::text[], %(datas)s::text[],
                    %(attributes)s::text[], %(groups)s::text[])
            WITH ORDINALITY AS series(deployment_no, metric, data, attribute, "group", position)
        CROSS JOIN LATERAL (
            SELECT DISTINCT ON (m.at) m.at, m.value, m.verdict, m.lower_limit, m.upper_limit, m.lower,
                   m.upper, m.definition
            FROM measurements m
            JOIN checks c ON c.no = m.check_no
            WHERE m.deployment_no = series.deployment_no
                AND m.metric = series.metric AND m.data = series.data
                AND m.attribute = series.attribute AND m."group" = series."group"
                AND m.scope = 'group' AND {OF_SERIES}
            ORDER BY m.at DESC, m.no DESC LIMIT %(points)s
        ) newest_points
    ) points
    WHERE definition = newest
    ORDER BY at
"""  # noqa: S608 - as above


def read_gravest_figures(session: Session, keys: Sequence[JudgedKey]) -> list[Any]:
    """Reads figures of groups with the check's gravest verdict that may be furthest out; `groups` counts all
    that it is judged by, `judged` those with a verdict on fairness.
    """
    verdicts = {"gravest": write_array_text(GRAVEST), "on_fairness": write_array_text(ON_FAIRNESS)}
    return read_named_rows(session, _GRAVEST, _list_members(JudgedKey, keys) | verdicts)


def _list_members(kind: type[JudgedKey | GroupKey], keys: Sequence[JudgedKey | GroupKey]) -> dict[str, Any]:
    return {f"{name}s": write_array_text(getattr(key, name) for key in keys) for name in kind._fields}


def count_records(session: Session, deployment_nos: Sequence[int], *, now: datetime) -> dict[int, int]:
    """Records of this minute and the 60 before it; a deployment without any has no entry."""
    values = {"deployment_nos": write_array_text(deployment_nos), "now": now, "since": now - LAST_HOUR}
    return dict(read_rows(session, _RECORDS, values))


def read_trends(session: Session, keys: Sequence[GroupKey], *, points: int) -> dict[int, list[TrendPoint]]:
    """The newest `points`, oldest first, of the newest definition."""
    series: dict[int, list[TrendPoint]] = {}
    rows = read_rows(session, _TRENDS, _list_members(GroupKey, keys) | {"points": points})
    for deployment_no, *point in rows:
        series.setdefault(deployment_no, []).append(TrendPoint._make(point))
    return series
